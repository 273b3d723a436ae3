/** Browsing and searching, beside git grep and ripgrep on the same tree. */
import { join } from "node:path";
import { makeRepo, Repo, testEnv, withTemp } from "../../tests/support/repo.ts";
import { Server, serverCommand } from "../../tests/support/server.ts";
import { git, inTurns, median, rows, section, time } from "./harness.ts";
import { importTree, sample, type SourceFile, sourceFiles } from "./tree.ts";

const MB = 1e6;
const INDEX = ".orchestragent-mcp.index.db";
const QUERIES = 60;

/** What indexing a repository from nothing costs. */
interface Built {
  seconds: number;
  /** Of the index, bytes. */
  size: number;
  /** Highest resident memory, MiB. */
  memory: number;
}

async function build(repo: string, db: string): Promise<Built> {
  await Deno.remove(join(db, INDEX)).catch(() => {});
  const { file, args } = serverCommand(["-repo", repo, "-db", db, "index"]);
  const started = performance.now();
  const child = new Deno.Command(file, { args, cwd: db, env: testEnv(), clearEnv: true, stdout: "null" })
    .spawn();
  let memory = 0;
  const timer = setInterval(() => memory = Math.max(memory, peakOf(child.pid)), 20);
  const { code } = await child.status;
  clearInterval(timer);
  if (code !== 0) throw new Error("index failed");
  return {
    seconds: (performance.now() - started) / 1000,
    size: (await Deno.stat(join(db, INDEX))).size,
    memory,
  };
}

/** MiB; 0 where the system does not tell. */
function peakOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** A generator that gives the same numbers each time. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Words, phrases of two and three words, and parts of words, from random lines. */
function queriesOf(files: readonly SourceFile[]): Record<"words" | "phrases" | "substrings", string[]> {
  const next = random(7);
  const pick = <T>(list: readonly T[]) => list[Math.floor(next() * list.length)];
  const found = { words: new Set<string>(), phrases: new Set<string>(), substrings: new Set<string>() };
  while (found.phrases.size < QUERIES || found.words.size < QUERIES || found.substrings.size < QUERIES) {
    const line = pick(Deno.readTextFileSync(pick(files).file).split("\n"));
    const words = line.match(/[A-Za-z_][A-Za-z0-9_]{3,}/g) ?? [];
    if (words.length === 0) continue;
    if (found.words.size < QUERIES) found.words.add(pick(words));
    const [phrase] = /[A-Za-z_]\w{2,}[^\w"\\]{1,2}[A-Za-z_]\w{2,}(?: \w+)?/.exec(line) ?? [];
    if (phrase && found.phrases.size < QUERIES) found.phrases.add(`"${phrase}"`);
    const long = pick(words);
    if (long.length > 6 && found.substrings.size < QUERIES) {
      found.substrings.add(long.slice(1, 2 + Math.floor(long.length * 0.7)));
    }
  }
  return { words: [...found.words], phrases: [...found.phrases], substrings: [...found.substrings] };
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)];
}

async function timesOf(server: Server, queries: readonly string[]): Promise<number[]> {
  const times: number[] = [];
  for (const query of queries) {
    const runs: number[] = [];
    for (let run = 0; run < 4; run++) {
      runs.push(await time(() => server.payload("gb_file_search", { query })));
    }
    times.push(median(runs.slice(1)));
  }
  return times;
}

async function run(program: string, args: string[], cwd: string): Promise<void> {
  await new Deno.Command(program, {
    args,
    cwd,
    env: testEnv(),
    clearEnv: true,
    stdin: "null",
    stdout: "null",
  }).output();
}

const hasRipgrep = await new Deno.Command("rg", { args: ["--version"] }).output().then(
  () => true,
  () => false,
);

await section("search", () =>
  withTemp(async (dir) => {
    const files = sample(sourceFiles(), 90 * MB, 18_000);
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    const tree = `${files.length} files, ${(bytes / MB).toFixed(0)} MB`;
    const repo = join(dir, "repo");
    await importTree(repo, files, true);
    const built = await build(repo, dir);
    const one = (what: string, ours: number, limit: number, unit: "MB/s" | "MiB" | "ms", note = tree) =>
      rows.push({ what, ours, floor: NaN, limit, unit, note, atLeast: unit === "MB/s" });
    one("first index, start and end of the program included", bytes / MB / built.seconds, 12, "MB/s");
    rows.push({
      what: "size of the index / size of the source",
      ours: built.size / MB,
      floor: bytes / MB,
      limit: 0.5,
      unit: "× MB",
      note: tree,
    });
    if (built.memory > 0) one("highest memory while indexing", built.memory, 350, "MiB");

    const server = await Server.connect({ cwd: dir, flags: ["-repo", repo, "-db", dir] });
    await server.payload("gb_file_search", { query: "warm" });
    const queries = queriesOf(files);
    const all: number[] = [];
    for (const [kind, list] of Object.entries(queries)) {
      const times = await timesOf(server, list);
      all.push(...times);
      one(`search, ${list.length} random ${kind}: median`, median(times), 5, "ms");
    }
    one("search, all of them: 95th percentile", percentile(all, 0.95), 50, "ms");

    const rare = queries.words.find((word) => word.length > 8)!;
    const [ours, grep, ripgrep] = await inTurns(15, [
      () => server.payload("gb_file_search", { query: rare }),
      () => run("git", ["grep", "-i", "-l", "-F", "-e", rare, "HEAD"], repo),
      ...(hasRipgrep
        ? [() => run("rg", ["--no-ignore", "--hidden", "-i", "-l", "-F", "-e", rare, "."], repo)]
        : []),
    ]);
    const against = (name: string, floor: number, limit: number) =>
      rows.push({ what: `search for a rare word / ${name}`, ours, floor, limit, unit: "×", note: tree });
    against("`git grep` of HEAD", grep, 1 / 15);
    if (ripgrep) against("`rg` of the working tree", ripgrep, Infinity);

    const [found] = await inTurns(15, [
      () => server.payload("gb_find_files", { pathPattern: "**/*a*.[ch]" }),
    ]);
    one("`gb_find_files`", found, 20, "ms");
    const paths = files.slice(0, 200).map(({ path }) => path);
    const reads: number[] = [];
    for (const path of paths) {
      reads.push(
        await time(() => server.call("gb_read_file", { repo: "repo", path, startLine: 1, endLine: 200 })),
      );
    }
    one("`gb_read_file`: median", median(reads), 1, "ms");

    const worktree = new Repo(repo);
    const changed: number[] = [];
    for (let round = 0; round < 9; round++) {
      for (let n = 0; n < 10; n++) worktree.write(`changed/${n}.c`, `int changed${round}_${n};\n`.repeat(50));
      await git(repo, "add", "--force", "changed");
      await git(repo, "commit", "-q", "-m", "Ten files");
      changed.push(
        await time(async () => {
          const { totalCount } = await server.payload("gb_file_search", { query: `changed${round}_9` });
          if (totalCount !== 1) throw new Error("stale");
        }),
      );
    }
    one("search after a commit of 10 files, indexed by it", median(changed), 100, "ms");
    await server.close();
  }));

await section("gb_list_repos", () =>
  withTemp(async (dir) => {
    for (let n = 0; n < 100; n++) makeRepo(join(dir, "git", `group-${n % 7}`, `repository-${n}`));
    const server = await Server.connect({ cwd: dir, flags: ["-repos", join(dir, "git"), "-db", dir] });
    // Refs of the last two seconds are read again each time.
    await server.payload("gb_list_repos", { limit: 100 });
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await server.payload("gb_list_repos", { limit: 100 });
    const [ours] = await inTurns(15, [() => server.payload("gb_list_repos", { limit: 100 })]);
    await server.close();
    rows.push({
      what: "`gb_list_repos`, warm",
      ours,
      floor: NaN,
      limit: 50,
      unit: "ms",
      note: "100 repositories",
    });
  }));

await section("growth", async () => {
  const files = sourceFiles(2 * 1024 * 1024);
  const there = files.reduce((sum, { size }) => sum + size, 0);
  for (const megabytes of [10, 100, 1_000]) {
    if (there < megabytes * 0.8 * MB) continue;
    await withTemp(async (dir) => {
      const some = sample(files, megabytes * MB);
      const bytes = some.reduce((sum, { size }) => sum + size, 0);
      const note = `${some.length} files, ${(bytes / MB).toFixed(0)} MB`;
      const repo = join(dir, "repo");
      await importTree(repo, some, false);
      const built = await build(repo, dir);
      const server = await Server.connect({ cwd: dir, flags: ["-repo", repo, "-db", dir] });
      await server.payload("gb_file_search", { query: "warm" });
      const words = await timesOf(server, queriesOf(some).words.slice(0, 30));
      await server.close();
      const add = (what: string, ours: number, limit: number, unit: "ms" | "MiB" | "MB/s") =>
        rows.push({ what, ours, floor: NaN, limit, unit, note, atLeast: unit === "MB/s" });
      add(`growth, ${megabytes} MB: index`, bytes / MB / built.seconds, 0, "MB/s");
      if (built.memory > 0) add(`growth, ${megabytes} MB: memory while indexing`, built.memory, 350, "MiB");
      add(`growth, ${megabytes} MB: search for a word, median`, median(words), Infinity, "ms");
    });
  }
});
