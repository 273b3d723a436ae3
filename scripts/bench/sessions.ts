/** Sessions beside the bare git commands. */
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../../tests/support/repo.ts";
import { Server } from "../../tests/support/server.ts";
import { git, inTurns, manyFiles, median, rows, section, time } from "./harness.ts";

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
