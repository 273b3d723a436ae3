/** How many git children each tool of the git family starts: more of them is a regression in speed. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { App } from "../../src/app.ts";
import { parseInput } from "../../src/tools/input.ts";
import { TOOLS } from "../../src/tools/registry.ts";
import { makeRepo, type Repo, testEnv, withTemp } from "../support/repo.ts";

/** Runs a tool in this process and tells which git commands it took, in alphabetical order. */
async function counting(repo: Repo, work: (count: Counter) => Promise<void>): Promise<void> {
  const commands: string[] = [];
  const app = new App(
    {
      repo: repo.dir,
      repoGiven: true,
      database: repo.dir,
      roots: [],
      readOnly: true,
      trustRepoConfig: false,
      hooks: true,
      allowFileRemotes: false,
      allowAgentConfig: false,
    },
    testEnv(),
    (args) => {
      let at = 0;
      while (args[at] === "-c") at += 2;
      commands.push(args[at]);
    },
  );
  const { signal } = new AbortController();
  await work(async (name, args = {}) => {
    const tool = TOOLS.find((one) => one.name === name)!;
    const workspace = app.workspace({ signal, clientRoots: () => Promise.resolve([]) });
    commands.length = 0;
    const payload = await tool.run(parseInput(tool, args), { app, workspace, signal, progress: () => {} });
    tool.output.parse(payload);
    return commands.toSorted();
  });
}

type Counter = (name: string, args?: Record<string, unknown>) => Promise<string[]>;

Deno.test("git children of every tool, with the repository known", () =>
  withTemp((dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const nested = ["n1", "n2", "n3"].map((name) => makeRepo(join(repo.dir, name)));
    repo.git("checkout", "--quiet", "-b", "topic");
    repo.commit("One", { "t1.txt": "1\n" });
    repo.commit("Two", { "t2.txt": "2\n" });
    repo.git("checkout", "--quiet", "main");
    repo.commit("Main goes on", { "m.txt": "m\n", ".gitignore": "n*\nx*\n" });
    for (const one of nested) one.write("dirty.txt", "d\n");
    return counting(repo, async (count) => {
      const nestedRoots = ["n1", "n2", "n3"];
      await count("git_inventory", { nestedRoots: [".", ...nestedRoots] });
      assert.deepEqual(await count("git_status"), ["status"]);
      assert.deepEqual(await count("git_inventory"), ["status"]);
      assert.deepEqual(await count("git_inventory", { nestedRoots }), ["status-of-each"]);
      assert.deepEqual(await count("git_inventory", { remote: "origin", branch: "main" }), [
        "rev-list",
        "status",
      ]);
      assert.deepEqual(await count("git_parity", { pairs: [{ left: "n1", right: "n2" }] }), [
        "rev-parse",
        "rev-parse",
      ]);
      assert.deepEqual(await count("list_presets"), []);
      assert.deepEqual(await count("git_log"), ["log", "symbolic-ref"]);
      assert.deepEqual(await count("git_log", { branch: "topic" }), ["cat-file", "log"]);
      assert.deepEqual(await count("git_log", { maxCommits: 1 }), ["log", "rev-list", "symbolic-ref"]);
      assert.deepEqual(await count("git_diff_summary"), ["diff"]);
      assert.deepEqual(await count("git_diff_summary", { range: "staged" }), ["diff"]);
      assert.deepEqual(await count("git_diff_summary", { range: "HEAD" }), ["cat-file", "diff"]);
      assert.deepEqual(await count("git_diff_summary", { range: "main..topic" }), ["cat-file", "diff"]);

      repo.write("c1.txt", "1\n");
      repo.write("c2.txt", "2\n");
      const commits = ["c1", "c2"].map((name) => ({ message: name, files: [`${name}.txt`] }));
      assert.deepEqual(await count("batch_commit", { commits }), [
        ...["add", "add", "cat-file", "commit", "commit", "diff-index", "log", "ls-files"],
      ]);
      const looks = ["cat-file", "cat-file", "merge-base", "status", "symbolic-ref", "worktree"];
      const applied = ["commit-tree", "hash-object", "merge-tree"];
      const picks = ["config", "var", ...applied, ...applied];
      const rebase = [...looks, ...picks, "cat-file", "rev-list"];
      assert.deepEqual(
        await count("git_merge", { sources: ["topic"], dryRun: true }),
        rebase.toSorted(),
      );
      const one = ["cat-file", "cat-file", "cat-file", "rev-list", "rev-list", "status", "worktree"];
      assert.deepEqual(
        await count("git_cherry_pick", { sources: ["topic"], dryRun: true }),
        [...one, ...picks].toSorted(),
      );
      const landing = ["merge", "status", "update-ref", "update-ref", "update-ref"];
      assert.deepEqual(await count("git_merge", { sources: ["topic"] }), [...rebase, ...landing].toSorted());
    });
  }));
