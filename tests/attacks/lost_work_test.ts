/** Odd states of a repository in which work could be lost: each must be refused, or end up under a name. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { rounds, seededRandom } from "../support/rounds.ts";
import { Server, withServer } from "../support/server.ts";

interface Scene {
  server: Server;
  repo: Repo;
  /** The worktree of session `x1`. */
  tree: Repo;
  dir: string;
}

function scene(work: (scene: Scene) => Promise<void>, files?: Record<string, string>) {
  return () =>
    withTemp(async (dir) => {
      const repo = makeRepo(join(dir, "repo"), files);
      await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (server) => {
        const { worktreePath } = await server.payload("create_worktree", { sessionId: "x1" });
        await work({ server, repo, tree: repo.at(worktreePath), dir });
      });
    });
}

const remove = (server: Server, force = false) =>
  server.payload("remove_session", { sessionId: "x1", force });
const present = (file: string) => Deno.lstat(file).then(() => true, () => false);

/** Refused without force; kept under a name with it. */
async function keeps({ server, repo }: Scene, commit: string): Promise<void> {
  assert.equal((await remove(server)).hasUnmergedChanges, true, "refused without force");
  await remove(server, true);
  assert.notEqual(repo.git("for-each-ref", "--contains", commit), "", "named after force");
}

Deno.test(
  "a session branch that points to another branch takes nothing with it",
  scene(async ({ server, repo, tree }) => {
    const tip = repo.git("rev-parse", "main");
    tree.git("checkout", "--quiet", "--detach");
    repo.git("checkout", "--quiet", "-b", "dev");
    repo.git("symbolic-ref", "refs/heads/session-x1", "refs/heads/main");
    await remove(server, true);
    assert.equal(repo.git("rev-parse", "main"), tip);
  }),
);

Deno.test(
  "commits of a rebase that is under way are work",
  scene(async (it) => {
    it.tree.git("checkout", "--quiet", "--detach");
    const commit = it.tree.commit("Detached", { "d.txt": "d\n" });
    it.repo.commit("Main goes on", { "m.txt": "m\n" });
    it.tree.git("-c", "sequence.editor=sed -i 1ibreak", "rebase", "--quiet", "-i", "main");
    assert.equal(it.tree.git("status", "--porcelain"), "");
    await keeps(it, commit);
  }),
);

Deno.test(
  "edits that a rebase stashed by itself are work",
  scene(async (it) => {
    it.tree.commit("Work", { "w.txt": "w\n" });
    it.repo.git("merge", "--quiet", "session-x1");
    it.repo.commit("Main goes on", { "m.txt": "m\n" });
    it.tree.write("a.txt", "stashed edit\n");
    it.tree.git("-c", "sequence.editor=sed -i 1ibreak", "rebase", "--quiet", "-i", "--autostash", "main");
    const stash = await Deno.readTextFile(it.tree.git("rev-parse", "--git-path", "rebase-merge/autostash"));
    await keeps(it, stash.trim());
  }),
);

Deno.test(
  "commits that only a ref of the worktree's own names are work",
  scene(async (it) => {
    const commit = it.tree.git("commit-tree", "-p", "HEAD", "-m", "private", "HEAD^{tree}");
    it.tree.git("update-ref", "refs/worktree/mine", commit);
    const changed = it.tree.commit("Public", { "p.txt": "p" });
    it.tree.git("update-ref", "refs/worktree/mine", changed);
    it.tree.git("reset", "--quiet", "--hard", "main");
    await keeps(it, changed);
  }),
);

Deno.test(
  "a repository that was added like a submodule keeps its objects",
  scene(async ({ server, repo, tree }) => {
    const inner = makeRepo(join(tree.dir, "emb"));
    tree.git("-c", "advice.addEmbeddedRepo=false", "add", "emb");
    tree.git("commit", "--quiet", "-m", "Embedded");
    repo.git("merge", "--quiet", "session-x1");
    assert.equal((await remove(server)).hasUnmergedChanges, true);
    assert.match(
      await server.refusal("remove_session", { sessionId: "x1", force: true }),
      /emb[^]*\(nested_repository\)$/,
    );
    assert.equal(inner.git("log", "--format=%s"), "First");
  }),
);

Deno.test(
  "repositories and worktrees in ignored directories are not build output",
  scene(async ({ server, repo, tree }) => {
    const inner = makeRepo(join(tree.dir, "vendor", "inner"));
    assert.equal(tree.git("status", "--porcelain"), "");
    assert.equal((await remove(server)).hasUnmergedChanges, true);
    assert.match(await server.refusal("remove_session", { sessionId: "x1", force: true }), /vendor\/inner/);
    await Deno.remove(inner.dir, { recursive: true });
    repo.git("worktree", "add", "--quiet", join(tree.dir, "vendor", "wt"));
    assert.match(await server.refusal("remove_session", { sessionId: "x1", force: true }), /vendor\/wt/);
    assert.ok(await present(join(tree.dir, "vendor/wt/a.txt")));
  }, { "a.txt": "a\n", ".gitignore": "vendor/\n" }),
);

Deno.test("submodules that ask to be ignored are looked into, and clones outlive a deleted worktree", () =>
  withTemp(async (dir) => {
    const library = makeRepo(join(dir, "library"));
    const repo = makeRepo(join(dir, "repo"));
    repo.git("submodule", "--quiet", "add", library.dir, "my lib");
    repo.git("config", "--file", ".gitmodules", "submodule.my lib.ignore", "all");
    repo.commit("With a submodule");
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (server) => {
      const tree = repo.at((await server.payload("create_worktree", { sessionId: "x1" })).worktreePath);
      tree.git("submodule", "--quiet", "update", "--init");
      const inner = tree.at(join(tree.dir, "my lib"));
      inner.write("a.txt", "only here\n");
      assert.equal((await remove(server)).uncommittedFiles, 1);
      const commit = inner.commit("In the clone");
      await Deno.remove(tree.dir, { recursive: true });
      assert.equal((await remove(server)).hasUnmergedChanges, true);
      const { keptSubmodules } = await remove(server, true);
      assert.equal(
        repo.git("-C", "/", `--git-dir=${keptSubmodules}/my lib`, "--work-tree=/", "cat-file", "-t", commit),
        "commit",
      );
    });
  }));

Deno.test(
  "a base that follows the session's own branch makes nothing safe",
  scene(async (it) => {
    it.repo.git("branch", "--quiet", "--set-upstream-to=session-x1", "main");
    await keeps(it, it.tree.commit("Work", { "w.txt": "w" }));
  }),
);

Deno.test("what is written while a session is being removed is not lost", () =>
  withTemp(async (dir) => {
    const random = seededRandom("late writes");
    const files = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`d${n % 9}/f${n}`, `${n}\n`]));
    const repo = makeRepo(join(dir, "repo"), files);
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (server) => {
      for (let round = 0; round < rounds(25, 150); round++) {
        const sessionId = `late-${round}`;
        const { worktreePath } = await server.payload("create_worktree", { sessionId });
        const force = round % 2 === 0;
        const removal = server.payload("remove_session", { sessionId, force });
        await new Promise((resolve) => setTimeout(resolve, random() * 60));
        const wrote = await Deno.writeTextFile(join(worktreePath, "late.txt"), "late").then(() => true, () =>
          false);
        const { removedAt, backupRefs } = await removal;
        if (!wrote) {
          continue;
        }
        const kept = removedAt
          ? (backupRefs ?? []).some((ref: string) =>
            repo.try("show", `${ref}:late.txt`).out === "late"
          )
          : await Deno.readTextFile(join(worktreePath, "late.txt")) === "late";
        assert.ok(kept, `round ${round}, force ${force}`);
      }
    });
  }));

Deno.test("work in a worktree whose making was cut short just before its end is kept", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const bin = join(dir, "bin");
    await Deno.mkdir(bin);
    // A git that takes long over the last step of a creation.
    await Deno.writeTextFile(
      join(bin, "git"),
      '#!/bin/sh\ncase "$*" in *"worktree repair"*) sleep 20;; esac\nexec /usr/bin/git "$@"\n',
    );
    await Deno.chmod(join(bin, "git"), 0o755);
    const flags = ["-repo", repo.dir, "-db", dir];
    const worktree = join(repo.dir, ".worktrees/session-cut");
    const slow = await Server.connect({ cwd: dir, flags, env: { PATH: `${bin}:${Deno.env.get("PATH")}` } });
    slow.call("create_worktree", { sessionId: "cut" }).catch(() => {});
    for (let n = 0; n < 200 && !await present(worktree); n++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await slow.kill();
    await Deno.writeTextFile(join(worktree, "mine.txt"), "mine");
    await withServer({ cwd: dir, flags }, async (server) => {
      const { sessions } = await server.payload("get_sessions");
      assert.deepEqual([sessions[0].sessionId, sessions[0].uncommittedFiles], ["cut", 1]);
      assert.equal(await Deno.readTextFile(join(worktree, "mine.txt")), "mine");
    });
  }));

Deno.test(
  "directories of the user's own beside the worktrees stay",
  scene(async ({ server, repo }) => {
    repo.write(".worktrees/aside-session-notes/n.txt", "notes");
    repo.write(".worktrees/mine/n.txt", "mine");
    await server.payload("get_sessions");
    await remove(server);
    assert.ok(await present(join(repo.dir, ".worktrees/aside-session-notes/n.txt")));
    assert.ok(await present(join(repo.dir, ".worktrees/mine/n.txt")));
  }),
);

Deno.test(
  "a session of the same id through a linked .worktrees is neither taken up nor removed",
  () =>
    withTemp(async (dir) => {
      const repo = makeRepo(join(dir, "repo"));
      await Deno.mkdir(join(dir, "out"));
      await Deno.symlink(join(dir, "out"), join(repo.dir, ".worktrees"));
      repo.git("worktree", "add", "--quiet", "-b", "session-x1", join(dir, "out/session-x1"));
      await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (server) => {
        assert.match(
          await server.refusal("remove_session", { sessionId: "x1", force: true }),
          /session not found/,
        );
      });
      assert.ok(await present(join(dir, "out/session-x1/a.txt")));
    }),
);

Deno.test(
  "a session that only followed its base has no work to be merged",
  scene(async ({ server, repo, tree }) => {
    repo.commit("Main goes on", { "m.txt": "m" });
    tree.git("merge", "--quiet", "--ff-only", "main");
    assert.equal((await server.payload("get_sessions")).sessions[0].status, "open");
    tree.commit("Work", { "w.txt": "w" });
    repo.git("merge", "--quiet", "--ff-only", "session-x1");
    assert.equal((await server.payload("get_sessions")).sessions[0].status, "merged");
  }),
);

Deno.test(
  "an unborn branch is named as the reason for missing figures, and its files are kept",
  scene(async ({ server, repo, tree }) => {
    tree.git("checkout", "--quiet", "--orphan", "fresh");
    const [row] = (await server.payload("get_sessions")).sessions;
    assert.deepEqual([row.statsAvailable, row.statsError], [false, "its branch has no commit yet"]);
    const removal = await remove(server, true);
    assert.equal(removal.keptBranch, undefined);
    assert.equal(repo.git("show", `${removal.backupRefs[0]}:a.txt`), "one\ntwo\nthree");
  }),
);

Deno.test("the database is copied into no worktree, and info/exclude keeps its bytes", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), { ".gitignore": ".*\n!.git*\n", ".worktreeinclude": ".*\n" });
    repo.write(".env", "x");
    const exclude = join(repo.dir, ".git/info/exclude");
    await Deno.writeFile(exclude, new Uint8Array([0x63, 0x61, 0x66, 0xe9, 10]));
    await withServer({ cwd: repo.dir }, async (server) => {
      const { worktreePath, copiedFiles } = await server.payload("create_worktree", { sessionId: "x1" });
      assert.ok(await present(join(worktreePath, ".env")));
      assert.equal(await present(join(worktreePath, ".orchestragent-mcp.db")), false);
      // The list is ignored itself here, so it is the second one.
      assert.equal(copiedFiles, 2);
    });
    assert.deepEqual(
      (await Deno.readFile(exclude)).slice(0, 5),
      new Uint8Array([0x63, 0x61, 0x66, 0xe9, 10]),
    );
  }));

Deno.test("a listing does not wait for a writer", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    repo.git("worktree", "add", "--quiet", "-b", "session-unknown", ".worktrees/session-unknown");
    repo.write(".worktrees/aside-session-x-01234567/f", "left over");
    const lock = await Deno.open(join(repo.dir, ".git/orchestragent-mcp.lock"), {
      write: true,
      create: true,
    });
    await lock.lock(true);
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (server) => {
      const started = performance.now();
      assert.equal((await server.payload("get_sessions")).totalCount, 0);
      assert.ok(performance.now() - started < 5_000);
      lock.close();
      assert.equal((await server.payload("get_sessions")).sessions[0].sessionId, "unknown");
      assert.equal(await present(join(repo.dir, ".worktrees/aside-session-x-01234567")), false);
    });
  }));
