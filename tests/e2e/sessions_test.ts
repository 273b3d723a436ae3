/** The sessions toolset over the real transport: every row of its contract, in both protocol eras. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { LEGACY, MODERN, Server, withServer } from "../support/server.ts";

async function exists(file: string): Promise<boolean> {
  return await Deno.lstat(file).then(() => true, () => false);
}

function scene(
  work: (server: Server, repo: Repo, dir: string) => Promise<void>,
  flags: string[] = [],
  era = LEGACY,
) {
  return () =>
    withTemp(async (dir) => {
      const repo = makeRepo(join(dir, "repo"));
      const options = { cwd: dir, flags: ["-repo", repo.dir, "-db", dir, ...flags] };
      await withServer({ ...options, era: era as typeof LEGACY }, (server) => work(server, repo, dir));
    });
}

for (const era of [LEGACY, MODERN]) {
  Deno.test(
    `create_worktree makes a branch, a worktree and a record (${era})`,
    scene(
      async (server, repo) => {
        const result = await server.call("create_worktree", { sessionId: "abc-123" });
        const worktree = join(repo.dir, ".worktrees", "session-abc-123");
        assert.deepEqual(result.structuredContent, {
          sessionId: "abc-123",
          worktreePath: worktree,
          branchName: "session-abc-123",
          status: "open",
          baseBranch: "main",
          startCommit: repo.git("rev-parse", "main"),
        });
        assert.match(
          result.content[0].text,
          new RegExp(
            `^Successfully created worktree for session 'abc-123' at '${worktree}' on branch 'session-abc-123'\\.`,
          ),
        );
        assert.equal(result.isError, undefined);
        assert.equal(repo.at(worktree).git("rev-parse", "--abbrev-ref", "HEAD"), "session-abc-123");
        assert.equal(await Deno.readTextFile(join(worktree, "a.txt")), "one\ntwo\nthree\n");
        assert.equal(repo.git("status", "--porcelain"), "");
        const { sessions, totalCount } = await server.payload("get_sessions");
        assert.equal(totalCount, 1);
        assert.equal(sessions[0].status, "open");
      },
      [],
      era,
    ),
  );

  Deno.test(
    `remove_session takes a clean session away without a trace (${era})`,
    scene(
      async (server, repo) => {
        const { worktreePath } = await server.payload("create_worktree", { sessionId: "gone" });
        const result = await server.call("remove_session", { sessionId: "gone" });
        const { removedAt, ...rest } = result.structuredContent;
        assert.deepEqual(rest, {
          sessionId: "gone",
          hasUnmergedChanges: false,
          unmergedCommits: 0,
          uncommittedFiles: 0,
        });
        assert.match(removedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
        assert.match(result.content[0].text, /^Successfully removed worktree for session 'gone'/);
        assert.equal(await exists(worktreePath), false);
        assert.equal(await exists(join(repo.dir, ".worktrees")), false);
        assert.equal(repo.git("branch", "--format=%(refname:short)"), "main");
        assert.equal(repo.git("worktree", "list").split("\n").length, 1);
        assert.equal(repo.git("worktree", "prune", "--dry-run"), "");
        assert.equal((await server.payload("get_sessions")).totalCount, 0);
      },
      [],
      era,
    ),
  );
}

Deno.test(
  "create_worktree normalises ids and refuses bad ones",
  scene(async (server) => {
    for (
      const [given, id] of [
        ["test-session", "test-session"],
        ["Copilot-X", "copilot-x"],
        ["  pad-1  ", "pad-1"],
        ["a1", "a1"],
        ["a--b", "a--b"],
      ]
    ) {
      assert.equal((await server.payload("create_worktree", { sessionId: given })).sessionId, id);
    }
    for (const given of ["", "a", " a ", "x".repeat(51)]) {
      assert.match(
        await server.refusal("create_worktree", { sessionId: given }),
        /^invalid session ID: session ID must be 2-50 characters\n/,
      );
    }
    for (
      const given of [
        "Test_Session",
        "test session",
        "-test",
        "test-",
        "té-st",
        "a/b",
        "../x",
        "a\nb",
        "--",
        "a.b",
      ]
    ) {
      const text = await server.refusal("create_worktree", { sessionId: given });
      assert.match(
        text,
        /^invalid session ID: session ID must contain only lowercase letters, numbers, and hyphens\n/,
        given,
      );
      assert.match(text, /\(invalid_session_id\)$/);
      assert.match(await server.refusal("remove_session", { sessionId: given }), /^invalid session ID: /);
    }
  }),
);

Deno.test(
  "create_worktree refuses what is taken and leaves it alone",
  scene(async (server, repo) => {
    await server.payload("create_worktree", { sessionId: "dup" });
    assert.match(
      await server.refusal("create_worktree", { sessionId: "DUP" }),
      /^session already exists: dup\n.*\(session_exists\)$/,
    );

    repo.git("branch", "session-taken");
    const tip = repo.git("rev-parse", "session-taken");
    assert.match(
      await server.refusal("create_worktree", { sessionId: "taken" }),
      /^branch already exists: session-taken\n.*\(branch_exists\)$/,
    );
    assert.equal(repo.git("rev-parse", "session-taken"), tip);

    repo.write(".worktrees/session-full/mine.txt", "keep me");
    assert.match(await server.refusal("create_worktree", { sessionId: "full" }), /\(worktree_path_exists\)$/);
    assert.equal(await Deno.readTextFile(join(repo.dir, ".worktrees/session-full/mine.txt")), "keep me");
    assert.equal((await server.payload("get_sessions")).totalCount, 1);
  }),
);

Deno.test(
  "create_worktree says git's words when git fails, and leaves nothing",
  scene(async (server, repo) => {
    // A branch below the name makes the ref impossible.
    repo.git("branch", "session-blocked/deeper");
    const text = await server.refusal("create_worktree", { sessionId: "blocked" });
    assert.match(text, /session-blocked/);
    assert.equal((await server.payload("get_sessions")).totalCount, 0);
    assert.equal(await exists(join(repo.dir, ".worktrees", "session-blocked")), false);
    assert.equal(repo.git("worktree", "list").split("\n").length, 1);
  }),
);

Deno.test(
  "create_worktree starts at baseRef, and a base that is not there is an error",
  scene(async (server, repo) => {
    const first = repo.git("rev-parse", "HEAD");
    repo.git("tag", "v1");
    repo.commit("Second", { "b.txt": "b" });
    repo.git("branch", "release");
    repo.commit("Third", { "c.txt": "c" });

    const tag = await server.payload("create_worktree", { sessionId: "from-tag", baseRef: "v1" });
    assert.deepEqual([tag.startCommit, tag.baseBranch], [first, "main"]);
    const branch = await server.payload("create_worktree", { sessionId: "from-branch", baseRef: "release" });
    assert.deepEqual([branch.startCommit, branch.baseBranch], [repo.git("rev-parse", "release"), "release"]);
    const back = await server.payload("create_worktree", { sessionId: "from-back", baseRef: "HEAD~1" });
    assert.equal(back.startCommit, repo.git("rev-parse", "HEAD~1"));

    assert.match(
      await server.refusal("create_worktree", { sessionId: "xx", baseRef: "nowhere" }),
      /\(base_not_found\)$/,
    );
    for (
      const baseRef of [
        "--orphan",
        "-b",
        "a..b",
        "HEAD@{1}",
        "x.lock",
        "a b",
        "$(id)",
        "a\nb",
        "re\u202elease",
        ":/x",
        "*",
      ]
    ) {
      const text = await server.refusal("create_worktree", { sessionId: "xx", baseRef });
      assert.match(text, /\((unsafe_ref_token|base_not_found)\)$/, baseRef);
    }
    assert.equal((await server.payload("get_sessions")).totalCount, 3);
  }),
);

Deno.test(
  "remove_session of an unknown id is an error",
  scene(async (server) => {
    assert.match(
      await server.refusal("remove_session", { sessionId: "nobody" }),
      /^session not found: nobody\n.*\(session_not_found\)$/,
    );
  }),
);

Deno.test(
  "remove_session keeps untracked files and commits, and says how many",
  scene(async (server, repo) => {
    const { worktreePath } = await server.payload("create_worktree", { sessionId: "busy" });
    const tree = repo.at(worktreePath);
    tree.write("new.txt", "x");
    let result = await server.call("remove_session", { sessionId: "busy" });
    assert.equal(result.isError, undefined);
    assert.deepEqual(result.structuredContent, {
      sessionId: "busy",
      hasUnmergedChanges: true,
      unmergedCommits: 0,
      uncommittedFiles: 1,
      warning:
        "Session has 0 unpushed commits and 1 uncommitted files. Call with force=true to remove anyway.",
    });
    assert.equal(
      result.content[0].text,
      "WARNING: Session 'busy' has unmerged changes\n\nUncommitted files: 1\nUnpushed commits: 0\n\n" +
        "Session has 0 unpushed commits and 1 uncommitted files. Call with force=true to remove anyway.",
    );
    tree.commit("One");
    tree.commit("Two", { "two.txt": "2" });
    tree.write("dir/x", "1");
    tree.write("dir/y", "2");
    result = await server.call("remove_session", { sessionId: "busy", force: false });
    assert.equal(result.structuredContent.unmergedCommits, 2);
    assert.equal(result.structuredContent.uncommittedFiles, 1, "an untracked directory counts once");
    assert.equal(await Deno.readTextFile(join(worktreePath, "dir/y")), "2");
    assert.equal((await server.payload("get_sessions")).totalCount, 1);
  }),
);

Deno.test(
  "remove_session with force keeps everything under backup refs",
  scene(async (server, repo) => {
    const { worktreePath } = await server.payload("create_worktree", { sessionId: "forced" });
    const tree = repo.at(worktreePath);
    tree.commit("Committed", { "done.txt": "done" });
    const tip = tree.git("rev-parse", "HEAD");
    tree.write("a.txt", "staged\n");
    tree.git("add", "a.txt");
    tree.write("a.txt", "and edited again\n");
    tree.write("untracked é.txt", "new");
    const removal = await server.payload("remove_session", { sessionId: "forced", force: true });
    assert.equal(removal.hasUnmergedChanges, false);
    assert.deepEqual([removal.unmergedCommits, removal.uncommittedFiles], [1, 2]);
    const [work, kept] = removal.backupRefs;
    assert.match(work, /^refs\/orchestragent\/backup\/session-forced\/.+\/work$/);
    assert.match(kept, /\/tip$/);
    assert.equal(repo.git("rev-parse", kept), tip);
    assert.equal(repo.git("rev-parse", `${work}^1`), tip);
    assert.equal(repo.git("show", `${work}:a.txt`), "and edited again");
    assert.equal(repo.git("show", `${work}^2:a.txt`), "staged");
    assert.equal(repo.git("show", `${work}:untracked é.txt`), "new");
    assert.equal(repo.git("show", `${work}:done.txt`), "done");
    assert.equal(await exists(worktreePath), false);
    assert.equal(repo.try("rev-parse", "--verify", "session-forced").code, 128);

    const again = await server.payload("create_worktree", { sessionId: "forced", baseRef: work });
    assert.equal(await Deno.readTextFile(join(again.worktreePath, "untracked é.txt")), "new");
  }),
);

Deno.test(
  "remove_session with force keeps conflicted files, a detached HEAD and a cut rebase",
  scene(async (server, repo) => {
    const { worktreePath } = await server.payload("create_worktree", { sessionId: "mess" });
    const tree = repo.at(worktreePath);
    tree.commit("Ours", { "a.txt": "ours\n" });
    repo.commit("Theirs", { "a.txt": "theirs\n" });
    assert.notEqual(tree.try("rebase", "main").code, 0);
    const removal = await server.payload("remove_session", { sessionId: "mess", force: true });
    const [work] = removal.backupRefs;
    assert.match(repo.git("show", `${work}:a.txt`), /<<<<<<<[^]*ours[^]*>>>>>>>/);

    const second = repo.at((await server.payload("create_worktree", { sessionId: "loose" })).worktreePath);
    second.git("checkout", "--quiet", "--detach");
    const lone = second.commit("On no branch", { "lone.txt": "l" });
    const refused = await server.payload("remove_session", { sessionId: "loose" });
    assert.deepEqual([refused.hasUnmergedChanges, refused.unmergedCommits], [true, 1]);
    const forced = await server.payload("remove_session", { sessionId: "loose", force: true });
    assert.equal(repo.git("rev-parse", forced.backupRefs[0]), lone);
  }),
);

Deno.test(
  "edits that git was told not to look at are counted and kept",
  scene(async (server, repo) => {
    repo.commit("More", { "config.ini": "default\n", "sparse/in.txt": "in\n", "out/side.txt": "out\n" });
    const { worktreePath } = await server.payload("create_worktree", { sessionId: "hidden" });
    const tree = repo.at(worktreePath);
    tree.git("update-index", "--assume-unchanged", "a.txt");
    tree.git("update-index", "--skip-worktree", "config.ini");
    assert.equal(tree.git("status", "--porcelain"), "");
    tree.write("a.txt", "assumed\n");
    tree.write("config.ini", "mine\n");
    assert.equal(tree.git("status", "--porcelain"), "");
    const refused = await server.payload("remove_session", { sessionId: "hidden" });
    assert.deepEqual([refused.hasUnmergedChanges, refused.uncommittedFiles], [true, 2]);
    const { backupRefs: [work] } = await server.payload("remove_session", {
      sessionId: "hidden",
      force: true,
    });
    assert.equal(repo.git("show", `${work}:a.txt`), "assumed");
    assert.equal(repo.git("show", `${work}:config.ini`), "mine");

    const sparse = repo.at((await server.payload("create_worktree", { sessionId: "sparse" })).worktreePath);
    sparse.git("sparse-checkout", "set", "sparse");
    sparse.write("out/side.txt", "written outside the sparse part\n");
    assert.equal((await server.payload("remove_session", { sessionId: "sparse" })).hasUnmergedChanges, true);
    const forced = await server.payload("remove_session", { sessionId: "sparse", force: true });
    assert.equal(repo.git("show", `${forced.backupRefs[0]}:out/side.txt`), "written outside the sparse part");
    assert.equal(
      repo.git("show", `${forced.backupRefs[0]}:config.ini`),
      "default",
      "what is not there is not deleted",
    );
  }),
);

Deno.test(
  "remove_session leaves a branch of another name that the worktree is on",
  scene(async (server, repo) => {
    const tree = repo.at((await server.payload("create_worktree", { sessionId: "renamed" })).worktreePath);
    tree.git("branch", "--move", "feature/mine");
    const tip = tree.commit("Work", { "w.txt": "w" });
    const removal = await server.payload("remove_session", { sessionId: "renamed" });
    assert.equal(removal.keptBranch, "feature/mine");
    assert.equal(repo.git("rev-parse", "feature/mine"), tip);
  }),
);

const MERGES: Record<string, (repo: Repo, branch: string) => void> = {
  "fast-forward": (repo, branch) => repo.git("merge", "--quiet", "--ff-only", branch),
  "merge commit": (repo, branch) => {
    repo.commit("Elsewhere", { "other.txt": "o" });
    repo.git("merge", "--quiet", "--no-edit", branch);
  },
  "rebase": (repo, branch) => {
    repo.commit("Elsewhere", { "other.txt": "o" });
    repo.git("cherry-pick", `main..${branch}`);
  },
  "squash": (repo, branch) => {
    repo.commit("Elsewhere", { "other.txt": "o" });
    repo.git("merge", "--quiet", "--squash", branch);
    repo.commit("Squashed");
  },
  "squash, then the same lines changed again": (repo, branch) => {
    repo.git("merge", "--quiet", "--squash", branch);
    repo.commit("Squashed");
    repo.commit("On top", { "a.txt": "rewritten\n", "s.txt": "rewritten too\n" });
  },
  "rebase, then the same lines changed again": (repo, branch) => {
    repo.commit("Elsewhere", { "other.txt": "o" });
    repo.git("cherry-pick", `main..${branch}`);
    repo.commit("On top", { "a.txt": "rewritten\n", "s.txt": "rewritten too\n" });
  },
};
for (const [how, merge] of Object.entries(MERGES)) {
  Deno.test(
    `a session merged by ${how} is 'merged' and can be removed without force`,
    scene(async (server, repo) => {
      const tree = repo.at((await server.payload("create_worktree", { sessionId: "feature" })).worktreePath);
      tree.commit("Part one", { "a.txt": "one\n2\nthree\n" });
      tree.commit("Part two", { "s.txt": "s\n" });
      assert.equal((await server.payload("get_sessions")).sessions[0].status, "open");
      assert.equal((await server.payload("remove_session", { sessionId: "feature" })).unmergedCommits, 2);
      merge(repo, "session-feature");
      const tip = tree.git("rev-parse", "HEAD");
      const [row] = (await server.payload("get_sessions")).sessions;
      assert.equal(row.status, "merged");
      assert.equal(row.uncommittedFiles, 0);
      const removal = await server.payload("remove_session", { sessionId: "feature" });
      assert.ok(removal.removedAt);
      // Commits that live on under another name only are kept under their own.
      if (removal.backupRefs) assert.equal(repo.git("rev-parse", removal.backupRefs[0]), tip);
      else assert.equal(repo.try("merge-base", "--is-ancestor", tip, "main").code, 0);
    }),
  );
}

Deno.test(
  "a session that only looks merged is not",
  scene(async (server, repo) => {
    const tree = repo.at((await server.payload("create_worktree", { sessionId: "half" })).worktreePath);
    tree.commit("One", { "x.txt": "x\n" });
    tree.commit("Two", { "y.txt": "y\n" });
    repo.commit("Elsewhere", { "other.txt": "o" });
    repo.git("cherry-pick", "session-half~1");
    assert.equal((await server.payload("get_sessions")).sessions[0].status, "open");
    // git counts the picked commit too: by name it is not in the base.
    assert.equal((await server.payload("remove_session", { sessionId: "half" })).unmergedCommits, 2);
    repo.git("cherry-pick", "session-half");
    assert.equal((await server.payload("get_sessions")).sessions[0].status, "merged");
    tree.write("late.txt", "not yet committed");
    assert.equal((await server.payload("get_sessions")).sessions[0].status, "open");
  }),
);

Deno.test(
  "commits that the base's upstream has are safe although the local base is stale",
  scene(async (server, repo, dir) => {
    repo.git("clone", "--quiet", "--bare", repo.dir, join(dir, "origin.git"));
    repo.git("remote", "add", "origin", join(dir, "origin.git"));
    repo.git("fetch", "--quiet", "origin");
    repo.git("branch", "--quiet", "--set-upstream-to=origin/main", "main");
    const tree = repo.at((await server.payload("create_worktree", { sessionId: "pr" })).worktreePath);
    tree.commit("Work", { "w.txt": "w" });
    tree.git("push", "--quiet", "origin", "HEAD:main");
    assert.ok((await server.payload("remove_session", { sessionId: "pr" })).removedAt);
  }),
);

Deno.test(
  "get_sessions measures against the merge base",
  scene(async (server, repo) => {
    const one = repo.at((await server.payload("create_worktree", { sessionId: "one" })).worktreePath);
    const two = repo.at((await server.payload("create_worktree", { sessionId: "two" })).worktreePath);
    await server.payload("create_worktree", { sessionId: "three" });
    one.commit("Add", { "n.txt": "1\n2\n3\n" });
    two.write("a.txt", "one\n2\n");
    two.write("untracked.txt", "does not count");
    await Deno.writeFile(join(one.dir, "bin.dat"), new Uint8Array([0, 1, 2, 0]));
    one.commit("Binary");
    repo.commit("Main goes on", { "main.txt": "m\n" });
    repo.commit("Main goes on", { "main.txt": "m\nm\n" });
    const { sessions } = await server.payload("get_sessions");
    const row = (id: string) => sessions.find((session: { sessionId: string }) => session.sessionId === id);
    assert.deepEqual(sessions.map((session: { sessionId: string }) => session.sessionId), [
      "one",
      "two",
      "three",
    ]);
    assert.deepEqual([row("one").linesAdded, row("one").linesRemoved, row("one").ahead, row("one").behind], [
      3,
      0,
      2,
      2,
    ]);
    assert.deepEqual([row("two").linesAdded, row("two").linesRemoved, row("two").uncommittedFiles], [
      1,
      2,
      2,
    ]);
    assert.deepEqual([row("three").linesAdded, row("three").ahead, row("three").behind], [0, 0, 2]);
    assert.equal(row("one").statsAvailable, undefined);
    for (const field of ["baseBranch", "createdAt", "updatedAt", "branchName", "worktreePath"]) {
      assert.ok(row("one")[field]);
    }
  }),
);

Deno.test(
  "get_sessions reports a broken worktree and still measures the others",
  scene(async (server, repo) => {
    const broken = await server.payload("create_worktree", { sessionId: "broken" });
    const gone = await server.payload("create_worktree", { sessionId: "gone" });
    const fine = await server.payload("create_worktree", { sessionId: "fine" });
    repo.at(fine.worktreePath).commit("Work", { "w.txt": "1\n2\n" });
    await Deno.remove(join(broken.worktreePath, ".git"));
    await Deno.remove(gone.worktreePath, { recursive: true });
    const { sessions } = await server.payload("get_sessions");
    assert.deepEqual([sessions[0].statsAvailable, sessions[0].linesAdded, sessions[0].missing], [
      false,
      0,
      undefined,
    ]);
    assert.match(sessions[0].statsError, /no longer a worktree/);
    assert.deepEqual([sessions[1].statsAvailable, sessions[1].missing], [false, true]);
    assert.match(sessions[1].statsError, /is gone/);
    assert.deepEqual([sessions[2].linesAdded, sessions[2].ahead], [2, 1]);

    assert.ok((await server.payload("remove_session", { sessionId: "gone" })).removedAt);
    assert.equal(repo.try("rev-parse", "--verify", "session-gone").code, 128);
    assert.match(
      await server.refusal("remove_session", { sessionId: "broken", force: true }),
      /\(worktree_path_exists\)$/,
    );
    assert.ok(await exists(join(broken.worktreePath, "a.txt")));
  }),
);

Deno.test(
  "a worktree deleted by hand does not take its commits with it",
  scene(async (server, repo) => {
    const tree = repo.at((await server.payload("create_worktree", { sessionId: "lost" })).worktreePath);
    const tip = tree.commit("Only here", { "x.txt": "x" });
    await Deno.remove(tree.dir, { recursive: true });
    repo.git("worktree", "prune");
    assert.equal((await server.payload("remove_session", { sessionId: "lost" })).unmergedCommits, 1);
    const { backupRefs } = await server.payload("remove_session", { sessionId: "lost", force: true });
    assert.equal(repo.git("rev-parse", backupRefs[0]), tip);
    assert.equal((await server.payload("get_sessions")).totalCount, 0);
  }),
);

Deno.test(
  "a locked worktree is not removed, forced or not",
  scene(async (server, repo) => {
    const { worktreePath } = await server.payload("create_worktree", { sessionId: "held" });
    repo.git("worktree", "lock", "--reason", "on a stick", worktreePath);
    for (const force of [false, true]) {
      assert.match(
        await server.refusal("remove_session", { sessionId: "held", force }),
        /on a stick[^]*\(worktree_locked\)$/,
      );
    }
    repo.git("worktree", "unlock", worktreePath);
    assert.ok((await server.payload("remove_session", { sessionId: "held" })).removedAt);
  }),
);

Deno.test(
  "a repository inside the worktree is never deleted",
  scene(async (server) => {
    const { worktreePath } = await server.payload("create_worktree", { sessionId: "nest" });
    const inner = makeRepo(join(worktreePath, "vendor", "inner"));
    const text = await server.refusal("remove_session", { sessionId: "nest", force: true });
    assert.match(text, /vendor\/inner[^]*\(nested_repository\)$/);
    assert.equal(inner.git("log", "--format=%s"), "First");
  }),
);

Deno.test(
  "commits made in a submodule of the worktree are counted and kept",
  scene(async (server, repo, dir) => {
    const library = makeRepo(join(dir, "library"));
    repo.git("submodule", "--quiet", "add", library.dir, "lib");
    repo.commit("With a submodule");
    const { worktreePath } = await server.payload("create_worktree", { sessionId: "sub" });
    const tree = repo.at(worktreePath);
    tree.git("submodule", "--quiet", "update", "--init");
    const inner = tree.at(join(worktreePath, "lib"));
    inner.git("checkout", "--quiet", "-b", "inner-work");
    const tip = inner.commit("In the submodule", { "in.txt": "in" });
    tree.commit("Point at it");
    repo.git("merge", "--quiet", "session-sub");
    // A stash is in no branch.
    inner.write("in.txt", "stashed");
    inner.git("stash", "--quiet");
    const refused = await server.payload("remove_session", { sessionId: "sub" });
    assert.equal(refused.hasUnmergedChanges, true);
    const { keptSubmodules } = await server.payload("remove_session", { sessionId: "sub", force: true });
    const kept = (...args: string[]) =>
      repo.git("-C", "/", `--git-dir=${keptSubmodules}/lib`, "--work-tree=/", ...args);
    assert.equal(kept("log", "-1", "--format=%H", "inner-work"), tip);
    assert.equal(kept("rev-list", "--count", "--walk-reflogs", "refs/stash"), "1");
  }),
);

Deno.test(
  "uncommitted files in a submodule keep a session from being removed, forced or not",
  scene(async (server, repo, dir) => {
    const library = makeRepo(join(dir, "library"));
    repo.git("submodule", "--quiet", "add", library.dir, "lib");
    repo.commit("With a submodule");
    const { worktreePath } = await server.payload("create_worktree", { sessionId: "subdirty" });
    const tree = repo.at(worktreePath);
    tree.git("submodule", "--quiet", "update", "--init");
    for (const file of ["a.txt", "new.txt"]) {
      await Deno.writeTextFile(join(worktreePath, "lib", file), "only here\n");
      assert.equal((await server.payload("remove_session", { sessionId: "subdirty" })).uncommittedFiles, 1);
      const text = await server.refusal("remove_session", { sessionId: "subdirty", force: true });
      assert.match(text, /submodules with uncommitted files: lib\n.*\(nested_repository\)$/);
      assert.equal(await Deno.readTextFile(join(worktreePath, "lib", file)), "only here\n");
      tree.at(join(worktreePath, "lib")).git("reset", "--quiet", "--hard");
    }
  }),
);

Deno.test(
  ".worktreeinclude brings ignored files along, and their changes count as work",
  scene(async (server, repo) => {
    repo.commit("Ignore", {
      ".gitignore": ".env*\nbuild/\nlocal/\n",
      ".worktreeinclude": ".env\nlocal/**\n!local/skip.txt\na.txt\nuntracked.txt\n",
    });
    repo.write(".env", "SECRET=1\n");
    repo.write(".env.other", "not listed\n");
    repo.write("local/settings.json", "{}");
    repo.write("local/skip.txt", "skip");
    repo.write("untracked.txt", "listed, but not ignored");
    repo.write("build/big.bin", "ignored, not listed");
    await Deno.chmod(join(repo.dir, ".env"), 0o600);
    await Deno.symlink("/etc/hostname", join(repo.dir, "local/link"));
    const made = await server.payload("create_worktree", { sessionId: "inc" });
    const at = (file: string) => join(made.worktreePath, file);
    assert.equal(made.copiedFiles, 2);
    assert.deepEqual(made.skippedFiles, ["local/link"]);
    assert.equal(await Deno.readTextFile(at(".env")), "SECRET=1\n");
    assert.equal((await Deno.stat(at(".env"))).mode! & 0o777, 0o600);
    assert.equal(await Deno.readTextFile(at("local/settings.json")), "{}");
    for (const file of [".env.other", "local/skip.txt", "untracked.txt", "build", "local/link"]) {
      assert.equal(await exists(at(file)), false, file);
    }
    assert.equal(repo.at(made.worktreePath).git("status", "--porcelain"), "");

    await Deno.writeTextFile(at(".env"), "SECRET=2\n");
    assert.equal((await server.payload("remove_session", { sessionId: "inc" })).uncommittedFiles, 1);
    const { backupRefs } = await server.payload("remove_session", { sessionId: "inc", force: true });
    assert.equal(repo.git("show", `${backupRefs[0]}:.env`), "SECRET=2");
  }),
);

Deno.test(
  "own files go into info/exclude, never into .gitignore",
  () =>
    withTemp(async (dir) => {
      const repo = makeRepo(join(dir, "repo"));
      await Deno.writeTextFile(join(repo.dir, ".git/info/exclude"), "# mine\n*.mine");
      await withServer({ cwd: repo.dir }, async (server) => {
        await server.payload("create_worktree", { sessionId: "s1" });
        await server.payload("create_worktree", { sessionId: "s2" });
        assert.equal(repo.git("status", "--porcelain"), "");
        assert.equal(await exists(join(repo.dir, ".gitignore")), false);
        assert.equal(
          await Deno.readTextFile(join(repo.dir, ".git/info/exclude")),
          "# mine\n*.mine\n/.worktrees/\n/.orchestragent-mcp.db*\n",
        );
      });
    }),
);

Deno.test("sessions survive a restart, and one database serves many repositories", () =>
  withTemp(async (dir) => {
    const one = makeRepo(join(dir, "one"));
    const two = makeRepo(join(dir, "two"));
    const flags = (repo: Repo) => ["-repo", repo.dir, "-db", join(dir, "made", "on", "demand")];
    await withServer({ cwd: dir, flags: flags(one) }, async (server) => {
      await server.payload("create_worktree", { sessionId: "same" });
    });
    await withServer({ cwd: dir, flags: flags(two) }, async (server) => {
      assert.equal((await server.payload("get_sessions")).totalCount, 0);
      await server.payload("create_worktree", { sessionId: "same" });
    });
    await withServer({ cwd: dir, flags: flags(one) }, async (server) => {
      const { sessions } = await server.payload("get_sessions");
      assert.deepEqual(sessions.map((row: { worktreePath: string }) => row.worktreePath), [
        join(one.dir, ".worktrees/session-same"),
      ]);
    });
    const mode = (await Deno.stat(join(dir, "made/on/demand/.orchestragent-mcp.db"))).mode!;
    assert.equal(mode & 0o777, 0o600);
  }));

Deno.test("sessions made with another database are taken up", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", join(dir, "db1")] }, async (first) => {
      await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", join(dir, "db2")] }, async (second) => {
        assert.equal((await second.payload("get_sessions")).totalCount, 0);
        const tree = repo.at((await first.payload("create_worktree", { sessionId: "shared" })).worktreePath);
        tree.commit("Work", { "w.txt": "w\n" });
        assert.match(
          await second.refusal("create_worktree", { sessionId: "shared" }),
          /session already exists: shared/,
        );
        const [row] = (await second.payload("get_sessions")).sessions;
        assert.deepEqual([row.sessionId, row.ahead, row.status], ["shared", 1, "open"]);
        assert.equal(
          (await second.payload("remove_session", { sessionId: "shared" })).hasUnmergedChanges,
          true,
        );
        await second.payload("remove_session", { sessionId: "shared", force: true });
        assert.equal((await first.payload("get_sessions")).sessions[0].missing, true);
        assert.ok((await first.payload("remove_session", { sessionId: "shared" })).removedAt);
      });
    });
  }));

Deno.test("the base branch is found in the documented order", async (t) => {
  const cases: [string, (repo: Repo) => void, string[], string][] = [
    ["main", () => {}, [], "main"],
    ["-base", (repo) => repo.git("branch", "develop"), ["-base", "develop"], "develop"],
    [
      "origin/HEAD before master",
      (repo) => {
        repo.git("branch", "--move", "trunk");
        repo.git("branch", "master");
        repo.git("update-ref", "refs/remotes/origin/trunk", "HEAD");
        repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk");
      },
      [],
      "trunk",
    ],
    [
      "origin's branch when there is no local one",
      (repo) => {
        repo.git("branch", "--move", "feature");
        repo.git("update-ref", "refs/remotes/origin/release/1", "HEAD");
        repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/release/1");
      },
      [],
      "origin/release/1",
    ],
    [
      "master",
      (repo) => {
        repo.git("branch", "--move", "feature");
        repo.git("branch", "master");
      },
      [],
      "master",
    ],
    ["the current branch", (repo) => repo.git("branch", "--move", "only/one"), [], "only/one"],
  ];
  for (const [name, prepare, flags, base] of cases) {
    await t.step(name, () =>
      withTemp(async (dir) => {
        const repo = makeRepo(join(dir, "repo"));
        prepare(repo);
        await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir, ...flags] }, async (server) => {
          const made = await server.payload("create_worktree", { sessionId: "based" });
          assert.equal(made.baseBranch, base);
          const tree = repo.at(made.worktreePath);
          assert.equal(tree.try("config", "branch.session-based.remote").code, 1, "no upstream is set");
          tree.commit("Work", { "w.txt": "w" });
          assert.equal((await server.payload("remove_session", { sessionId: "based" })).unmergedCommits, 1);
        });
      }));
  }
  await t.step("none: an empty repository", () =>
    withTemp(async (dir) => {
      await Deno.mkdir(join(dir, "repo"));
      const repo = makeRepo(join(dir, "other")).at(join(dir, "repo"));
      repo.git("init", "--quiet");
      await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (server) => {
        assert.match(await server.refusal("create_worktree", { sessionId: "xx" }), /\(base_not_found\)$/);
      });
    }));
});

Deno.test("a session may be started from inside a session, and from a subdirectory", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), { "src/deep/x.txt": "x" });
    let inner = "";
    await withServer({ cwd: join(repo.dir, "src/deep"), flags: ["-db", dir] }, async (server) => {
      inner = (await server.payload("create_worktree", { sessionId: "outer" })).worktreePath;
      assert.equal(inner, join(repo.dir, ".worktrees/session-outer"));
    });
    await withServer({ cwd: inner, flags: ["-db", dir] }, async (server) => {
      const { worktreePath } = await server.payload("create_worktree", { sessionId: "second" });
      assert.equal(worktreePath, join(repo.dir, ".worktrees/session-second"));
      assert.equal((await server.payload("get_sessions")).totalCount, 2);
    });
  }));

Deno.test("a bare repository has sessions too", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const bare = repo.at(join(dir, "bare.git"));
    repo.git("clone", "--quiet", "--bare", repo.dir, bare.dir);
    await withServer({ cwd: dir, flags: ["-repo", bare.dir, "-db", dir] }, async (server) => {
      const made = await server.payload("create_worktree", { sessionId: "b1" });
      assert.equal(made.worktreePath, join(bare.dir, ".worktrees/session-b1"));
      repo.at(made.worktreePath).commit("Work", { "w.txt": "w\n" });
      const [row] = (await server.payload("get_sessions")).sessions;
      assert.deepEqual([row.ahead, row.linesAdded], [1, 1]);
      await server.payload("remove_session", { sessionId: "b1", force: true });
      assert.equal((await server.payload("get_sessions")).totalCount, 0);
    });
  }));

Deno.test(
  "get_sessions pages, and counts what it leaves out",
  scene(async (server) => {
    const ids = Array.from({ length: 30 }, (_, at) => `s-${String(at).padStart(2, "0")}`);
    for (const sessionId of ids) await server.payload("create_worktree", { sessionId });
    const result = await server.call("get_sessions");
    const page = result.structuredContent;
    assert.equal(page.sessions.length + page.omittedCount, 30);
    assert.ok(JSON.stringify(page).length < 12_000, `${JSON.stringify(page).length} characters`);
    assert.ok(result.content[0].text.length < 10_000);
    assert.match(
      result.content[0].text,
      new RegExp(`${page.omittedCount} not shown; call again with offset=${page.nextOffset}`),
    );
    const rest = await server.payload("get_sessions", { offset: page.nextOffset });
    assert.deepEqual([...page.sessions, ...rest.sessions].map((row) => row.sessionId), ids);
    assert.equal(rest.nextOffset, undefined);
    assert.equal((await server.payload("get_sessions", { offset: 99 })).sessions.length, 0);
  }),
);

Deno.test("--read-only lists sessions and neither serves writers nor writes", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const flags = ["-repo", repo.dir, "-db", dir];
    await withServer({ cwd: dir, flags }, async (server) => {
      const tree = repo.at((await server.payload("create_worktree", { sessionId: "ro" })).worktreePath);
      tree.commit("Work", { "w.txt": "w" });
      repo.git("merge", "--quiet", "--squash", "session-ro");
      repo.commit("Squashed");
    });
    const before = repo.git("count-objects", "-v");
    await withServer({ cwd: dir, flags: [...flags, "--read-only"] }, async (server) => {
      const { result } = await server.request("tools/list");
      const names = result.tools.map((tool: { name: string }) => tool.name);
      assert.ok(names.includes("get_sessions") && names.includes("git_status"), names.join());
      for (
        const name of ["create_worktree", "remove_session", "batch_commit", "git_merge", "git_cherry_pick"]
      ) {
        assert.ok(!names.includes(name), name);
      }
      assert.equal((await server.payload("get_sessions")).sessions[0].sessionId, "ro");
      await assert.rejects(server.call("create_worktree", { sessionId: "xx" }), /create_worktree/);
    });
    assert.equal(repo.git("count-objects", "-v"), before);
  }));

Deno.test(
  "a branch that cannot be deleted does not keep a session from being removed",
  scene(async (server, repo) => {
    await server.payload("create_worktree", { sessionId: "stuck" });
    await Deno.writeTextFile(join(repo.dir, ".git/refs/heads/session-stuck.lock"), "");
    const removal = await server.payload("remove_session", { sessionId: "stuck" });
    assert.deepEqual([removal.hasUnmergedChanges, removal.keptBranch], [false, "session-stuck"]);
    assert.equal((await server.payload("get_sessions")).totalCount, 0);
    await Deno.remove(join(repo.dir, ".git/refs/heads/session-stuck.lock"));
    assert.match(await server.refusal("create_worktree", { sessionId: "stuck" }), /^branch already exists/);
  }),
);

Deno.test(
  "a repository that cannot be written is a clear error, and is listed all the same",
  scene(async (server, repo) => {
    await server.payload("create_worktree", { sessionId: "there" });
    await Deno.remove(join(repo.dir, ".git/orchestragent-mcp.lock"));
    await Deno.mkdir(join(repo.dir, ".git/orchestragent-mcp.lock"));
    assert.match(await server.refusal("create_worktree", { sessionId: "more" }), /\(repo_not_writable\)$/);
    await Deno.mkdir(join(repo.dir, ".worktrees/aside-session-left-over"));
    assert.equal((await server.payload("get_sessions")).totalCount, 1);
  }),
);

Deno.test(
  "a failed removal leaves the session whole",
  scene(async (server, repo) => {
    const { worktreePath } = await server.payload("create_worktree", { sessionId: "stay" });
    repo.at(worktreePath).commit("Work", { "w.txt": "w" });
    // The backup cannot be written.
    repo.git("update-ref", "refs/orchestragent/backup", "HEAD");
    const text = await server.refusal("remove_session", { sessionId: "stay", force: true });
    assert.match(text, /\(git_failed\)$/);
    assert.ok(await exists(join(worktreePath, "w.txt")));
    assert.equal((await server.payload("get_sessions")).sessions[0].ahead, 1);
    repo.git("update-ref", "-d", "refs/orchestragent/backup");
    assert.ok((await server.payload("remove_session", { sessionId: "stay", force: true })).removedAt);
  }),
);

Deno.test(
  "the settings of a removed branch go with it",
  scene(async (server, repo) => {
    await server.payload("create_worktree", { sessionId: "tracked" });
    repo.git("config", "branch.session-tracked.remote", "origin");
    await server.payload("remove_session", { sessionId: "tracked" });
    assert.equal(repo.try("config", "--get-regexp", "^branch\\.session-tracked").code, 1);
  }),
);
