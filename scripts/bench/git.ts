/** The git family beside the same git commands, run by hand one after the other. */
import { join } from "node:path";
import { makeRepo, testEnv, withTemp } from "../../tests/support/repo.ts";
import { Server } from "../../tests/support/server.ts";
import { git, inTurns, manyFiles, rows, section } from "./harness.ts";

/** The same git command in each directory, one after the other. */
async function shellLoop(dir: string, command: string, names: readonly string[]): Promise<void> {
  const script = `for name in "$@"; do git -C "$name" ${command} > /dev/null || exit 1; done`;
  const { success } = await new Deno.Command("/bin/sh", {
    args: ["-c", script, "loop", ...names],
    cwd: dir,
    env: testEnv(),
    clearEnv: true,
    stdin: "null",
  }).output();
  if (!success) throw new Error("the loop failed");
}

await section("git_status", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), manyFiles(20_000));
    repo.write("src/part-0/d0/file-1.ts", "changed\n");
    repo.git("status");
    const server = await Server.connect({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] });
    const [ours, floor] = await inTurns(25, [
      () => server.payload("git_status"),
      () => git(repo.dir, "status", "--porcelain=v2", "-b", "-z"),
    ]);
    await server.close();
    rows.push({
      what: "`git_status` / `git status --porcelain=v2 -b -z`",
      ours,
      floor,
      limit: 1.1,
      unit: "×",
      note: "20,000 files",
    });
  }));

await section("git_log and git_diff_summary", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), manyFiles(20_000));
    for (let n = 0; n < 60; n++) {
      repo.commit(`Commit ${n}`, { [`src/part-0/d${n % 20}/file-${n}.ts`]: `changed ${n}\n`.repeat(20) });
    }
    for (let n = 100; n < 130; n++) {
      const file = `src/part-${Math.floor(n / 200)}/d${Math.floor(n / 20)}/file-${n}.ts`;
      repo.write(file, `edited ${n}\n`.repeat(15));
    }
    const server = await Server.connect({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] });
    const format = "--format=%H%x00%h%x00%aN%x00%aE%x00%aI%x00%at%x00%s";
    const [log, logFloor, diff, diffFloor] = await inTurns(41, [
      () => server.payload("git_log", { maxCommits: 50 }),
      async () => {
        await git(repo.dir, "symbolic-ref", "--short", "HEAD");
        await git(repo.dir, "log", "--since=7.days", "--shortstat", "-n", "51", format);
        await git(repo.dir, "rev-list", "--count", "--since=7.days", "HEAD");
      },
      () => server.payload("git_diff_summary"),
      () => git(repo.dir, "diff", "--raw", "--numstat", "--patch", "-z", "-M"),
    ]);
    await server.close();
    rows.push({
      what: "`git_log` / `symbolic-ref`, `log --shortstat -n 51`, `rev-list --count`",
      ours: log,
      floor: logFloor,
      limit: 1.15,
      unit: "×",
      note: "50 of 61 commits, 20,000 files",
    }, {
      what: "`git_diff_summary` / `git diff --raw --numstat --patch`",
      ours: diff,
      floor: diffFloor,
      limit: 1.15,
      unit: "×",
      note: "30 of 20,000 files",
    });
  }));

await section("git_inventory", () =>
  withTemp(async (dir) => {
    const host = makeRepo(join(dir, "host"));
    const names = Array.from({ length: 50 }, (_, n) => `repository-${n}`);
    for (const name of names) {
      const nested = makeRepo(join(host.dir, name), manyFiles(20));
      nested.write("src/part-0/d0/file-1.ts", "changed\n");
    }
    const server = await Server.connect({ cwd: dir, flags: ["-repo", host.dir, "-db", dir] });
    const [ours, floor] = await inTurns(25, [
      () => server.payload("git_inventory", { nestedRoots: names }),
      () => shellLoop(host.dir, "status --porcelain=v2 -b -z", names),
    ]);
    await server.close();
    rows.push({
      what: "`git_inventory` / a shell loop with `git status`",
      ours,
      floor,
      limit: 0.65,
      unit: "×",
      note: "50 small repositories",
    });
  }));

await section("batch_commit", () =>
  withTemp(async (dir) => {
    const [one, two] = ["one", "two"].map((name) => makeRepo(join(dir, name), manyFiles(200)));
    const server = await Server.connect({ cwd: dir, flags: ["-repo", one.dir, "-db", dir] });
    const names = Array.from({ length: 10 }, (_, n) => `new/file-${n}.ts`);
    const [ours, floor] = await inTurns(15, [
      async (round) => {
        for (const name of names) one.write(name, `${round}\n`);
        await server.payload("batch_commit", {
          commits: names.map((name) => ({ message: `${name} ${round}`, files: [name] })),
        });
      },
      async (round) => {
        for (const name of names) two.write(name, `${round}\n`);
        for (const name of names) {
          await git(two.dir, "add", "--", name);
          await git(two.dir, "commit", "-q", "-m", `${name} ${round}`);
        }
      },
    ]);
    await server.close();
    rows.push({
      what: "`batch_commit` / `git add` and `git commit` for each",
      ours,
      floor,
      limit: 1.2,
      unit: "×",
      note: "10 commits",
    });
  }));
