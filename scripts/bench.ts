/**
 * Measures the server beside bare git and an empty Deno script, in turns and in one run, prints the table and
 * writes it to docs/benchmarks.md. `--only=<part of a name>` runs some of it and writes nothing. The files lie
 * in TMPDIR: a memory file system there leaves the disk, which is the same for both sides, out of it.
 */
import { join } from "node:path";
import { ROOT } from "../tests/support/paths.ts";
import { makeRepo, type Repo, testEnv, withTemp } from "../tests/support/repo.ts";
import { Server } from "../tests/support/server.ts";

interface Row {
  what: string;
  ours: number;
  floor: number;
  /** Largest ratio, or largest value of ours when there is nothing to compare with. */
  limit: number;
  unit: "×" | "ms" | "MiB";
  note: string;
}

const rows: Row[] = [];
const only = Deno.args.find((arg) => arg.startsWith("--only="))?.slice("--only=".length);

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

async function time(work: () => Promise<unknown> | unknown): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/**
 * Runs the sides in turns and gives the median of each. `restMs` passes before each: files of the same second
 * as the index are read again by git at every look, which is not how a session is met that was worked in.
 */
async function inTurns(
  rounds: number,
  sides: ((round: number) => Promise<unknown> | unknown)[],
  restMs = 0,
): Promise<number[]> {
  const times: number[][] = sides.map(() => []);
  for (let round = -1; round < rounds; round++) {
    for (const [at, side] of sides.entries()) {
      if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
      const spent = await time(() => side(round));
      if (round >= 0) times[at].push(spent);
    }
  }
  return times.map(median);
}

async function section(name: string, work: () => Promise<void>): Promise<void> {
  if (only && !name.includes(only)) return;
  // deno-lint-ignore no-console -- a script's progress
  console.error(`measuring: ${name}`);
  await work();
}

/** Bare git in a directory, as a shell loop would run it. */
async function git(dir: string, ...args: string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command("git", {
    args,
    cwd: dir,
    env: testEnv(),
    clearEnv: true,
    stdin: "null",
  }).output();
  if (code !== 0) throw new Error(`git ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

function manyFiles(count: number): Record<string, string> {
  const line = "const value = compute(index, options);\n";
  return Object.fromEntries(
    Array.from(
      { length: count },
      (
        _,
        n,
      ) => [
        `src/part-${Math.floor(n / 200)}/d${Math.floor(n / 20)}/file-${n}.ts`,
        line.repeat(20 + (n % 60)),
      ],
    ),
  );
}

await section("create and remove", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), manyFiles(20_000));
    const server = await Server.connect({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] });
    const bare = join(dir, "bare");
    const [create, add, remove, bareRemove] = await inTurns(9, [
      (round) => server.payload("create_worktree", { sessionId: `r-${round + 1}` }),
      (round) => git(repo.dir, "worktree", "add", "-b", `bare-${round + 1}`, `${bare}-${round + 1}`, "main"),
      (round) => server.payload("remove_session", { sessionId: `r-${round + 1}` }),
      async (round) => {
        const tree = `${bare}-${round + 1}`;
        await git(tree, "status", "--porcelain");
        await git(repo.dir, "rev-list", "--count", `main..bare-${round + 1}`);
        await git(repo.dir, "worktree", "remove", tree);
        await git(repo.dir, "branch", "-D", `bare-${round + 1}`);
      },
    ], 1100);
    await server.close();
    const note = "20,000 files";
    rows.push({
      what: "`create_worktree` / `git worktree add -b`",
      ours: create,
      floor: add,
      limit: 1.25,
      unit: "×",
      note,
    });
    rows.push({
      what: "`remove_session` / `git status`, `rev-list`, `worktree remove`, `branch -D`",
      ours: remove,
      floor: bareRemove,
      limit: 1.25,
      unit: "×",
      note,
    });
  }));

await section("get_sessions", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), manyFiles(1_000));
    const options = { cwd: dir, flags: ["-repo", repo.dir, "-db", dir] };
    let server = await Server.connect(options);
    const trees: Repo[] = [];
    for (let n = 0; n < 100; n++) {
      const { worktreePath } = await server.payload("create_worktree", { sessionId: `s-${n}` });
      const tree = repo.at(worktreePath);
      tree.commit(`Work ${n}`, { [`work-${n}.txt`]: "one\ntwo\n" });
      // Every second one has uncommitted changes as well.
      if (n % 2 === 0) tree.write("src/part-0/d0/file-1.ts", `changed ${n}\n`);
      trees.push(tree);
    }
    repo.commit("Main goes on", { "main.txt": "m\n" });
    const list = () => server.payload("get_sessions", { limit: 100 });
    const numstat = async () => {
      let next = 0;
      const worker = async () => {
        for (let at = next++; at < trees.length; at = next++) {
          await git(trees[at].dir, "diff", "--numstat", "main");
        }
      };
      await Promise.all(Array.from({ length: Math.max(2, navigator.hardwareConcurrency) }, worker));
    };
    const cold: number[] = [];
    for (let n = 0; n < 5; n++) {
      await server.close();
      server = await Server.connect(options);
      cold.push(await time(list));
    }
    const [ours, floor] = await inTurns(11, [list, numstat]);
    await server.close();
    const what = "`get_sessions` / `git diff --numstat` in each, equally parallel";
    rows.push({
      what,
      ours,
      floor,
      limit: 2,
      unit: "×",
      note: "100 sessions, half with uncommitted changes",
    });
    rows.push({
      what: `${what}: first call of a server`,
      ours: median(cold),
      floor,
      limit: 2,
      unit: "×",
      note: "opens the database and looks for interrupted work first",
    });
  }));

await section("call overhead", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const server = await Server.connect({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] });
    const [call] = await inTurns(500, [() => server.payload("get_sessions")]);
    await server.close();
    rows.push({
      what: "a warm call that needs no git (`get_sessions` without sessions)",
      ours: call,
      floor: NaN,
      limit: 1,
      unit: "ms",
      note: "client to client",
    });
  }));

await section("start and memory", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    await new Deno.Command(Deno.execPath(), { args: ["task", "bundle"], cwd: ROOT }).output();
    const bundle = join(ROOT, "dist", "orchestragent-mcp.js");
    const empty = join(dir, "empty.ts");
    await Deno.writeTextFile(empty, "");
    const resident: number[] = [];
    const start = (target: string) => async () => {
      Deno.env.set("OMCP_TARGET", target);
      const server = await Server.connect({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] });
      if (target === bundle) {
        const status = await Deno.readTextFile(`/proc/${server.child.pid}/status`).catch(() => "");
        resident.push(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? NaN) / 1024);
      }
      void server.kill();
    };
    const [floor, fromBundle, fromSource] = await inTurns(25, [
      () => new Deno.Command(Deno.execPath(), { args: ["run", "-A", empty], stdin: "null" }).output(),
      start(bundle),
      start(join(ROOT, "src", "main.ts")),
    ]);
    Deno.env.delete("OMCP_TARGET");
    const what = "spawn to the answer of `initialize` / an empty Deno script";
    rows.push({
      what: `${what}: bundle`,
      ours: fromBundle,
      floor,
      limit: 5,
      unit: "×",
      note: "`deno task bundle`",
    });
    rows.push({ what: `${what}: source`, ours: fromSource, floor, limit: 8, unit: "×", note: "" });
    rows.push({
      what: "resident memory after `initialize`",
      ours: median(resident),
      floor: NaN,
      limit: 70,
      unit: "MiB",
      note: "bundle",
    });
  }));

const table = [
  "| what | ours | beside it | ratio or value | at most | |",
  "|---|---|---|---|---|---|",
  ...rows.map(({ what, ours, floor, limit, unit, note }) => {
    const value = unit === "×" ? ours / floor : ours;
    const shown = (n: number) =>
      Number.isNaN(n) ? "" : `${n.toFixed(n < 10 ? 2 : 1)} ${unit === "MiB" ? "MiB" : "ms"}`;
    const verdict = value <= limit ? "" : " **over**";
    return `| ${what} | ${shown(ours)} | ${shown(floor)} | ${
      value.toFixed(2)
    } ${unit}${verdict} | ${limit} ${unit} | ${note} |`;
  }),
].join("\n");

// deno-lint-ignore no-console -- a script's result
console.log(table);
if (!only) {
  const version = new TextDecoder().decode(
    (await new Deno.Command("git", { args: ["--version"] }).output()).stdout,
  ).trim();
  await Deno.writeTextFile(
    join(ROOT, "docs", "benchmarks.md"),
    `# Benchmarks

Made by \`deno task bench\`: medians, both sides measured in turns in one run. Trust the ratios; milliseconds
are those of the machine (${navigator.hardwareConcurrency} cores, ${Deno.build.os}, files ${
      Deno.env.get("OMCP_BENCH_FILES") ?? "on disk"
    }, Deno ${Deno.version.deno}, ${version}).

${table}
`,
  );
}
if (!only) {
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", join(ROOT, "docs", "benchmarks.md")] })
    .output();
}
Deno.exit(rows.some(({ ours, floor, limit, unit }) => (unit === "×" ? ours / floor : ours) > limit) ? 1 : 0);
