// deno-lint-ignore-file no-sync-fn-in-async-fn -- a scene is set for one reader, who waits
/** git_merge over the real transport: what its contract says, row by row. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Repo } from "../support/repo.ts";
import { LEGACY, MODERN } from "../support/server.ts";
import { refused, scene, stateOf } from "../support/scene.ts";

/** A branch off `main` with one commit; the working tree is on `main` again afterwards. */
function branch(repo: Repo, name: string, files: Record<string, string>, from = "main"): string {
  repo.git("checkout", "--quiet", "-b", name, from);
  const oid = repo.commit(`Work on ${name}`, files);
  repo.git("checkout", "--quiet", "main");
  return oid;
}

function backupOf(repo: Repo, refs: string[], name: string): string {
  const ref = refs.find((one) => one.startsWith(`refs/orchestragent/backup/${name}/`));
  assert.ok(ref, `no backup of ${name} in ${refs}`);
  return repo.git("rev-parse", ref);
}

for (const era of [LEGACY, MODERN] as const) {
  Deno.test(
    `git_merge: fast forward, then rebase, as the contract shows (${era})`,
    scene(async (server, repo, dir) => {
      const start = repo.git("rev-parse", "main");
      const a = branch(repo, "feature/a", { "a2.txt": "a\n" });
      const b = branch(repo, "feature/b", { "b.txt": "b\n" });
      repo.git("worktree", "add", "--quiet", join(dir, "agent-a"), "feature/a");
      const { backupRefs, ...payload } = await server.payload("git_merge", {
        sources: ["feature/a", "feature/b"],
        deleteMergedBranches: true,
        deleteMergedWorktrees: true,
      });
      const head = repo.git("rev-parse", "main");
      assert.deepEqual(payload, {
        ok: true,
        into: "main",
        strategy: "auto",
        headSha: head,
        applied: 2,
        total: 2,
        results: [
          {
            source: "feature/a",
            ok: true,
            outcome: "fast_forward",
            mergedSha: a,
            branchDeleted: true,
            worktreeRemoved: join(dir, "agent-a"),
          },
          { source: "feature/b", ok: true, outcome: "rebase_then_ff", mergedSha: head, branchDeleted: true },
        ],
      });
      assert.equal(repo.git("rev-parse", "main~1"), a);
      assert.equal(repo.git("branch", "--format=%(refname:short)"), "main");
      assert.equal(repo.git("status", "--porcelain"), "");
      assert.equal(backupOf(repo, backupRefs, "main"), start);
      assert.equal(backupOf(repo, backupRefs, "feature/b"), b);
      assert.equal(repo.git("fsck", "--no-dangling"), "");
    }, { era }),
  );
}

Deno.test(
  "git_merge rebase keeps author, dates, message and empty commits, and moves the source branch",
  scene(async (server, repo) => {
    repo.git("checkout", "--quiet", "-b", "topic");
    repo.write("t.txt", "t\n");
    repo.git("add", ".");
    const message = "Sübject\n\n# not a comment\nbody  \n\n\nTrailer: x";
    repo.git(
      ...["-c", "user.name=x", "commit", "-q", "--cleanup=verbatim", "-m", message],
      ...["--author=Zoë O'Neil <z@example.com>", "--date=2001-02-03T04:05:06+0700"],
    );
    repo.git("commit", "-q", "--allow-empty", "-m", "Trigger CI");
    const old = repo.git("rev-parse", "topic");
    repo.git("checkout", "--quiet", "main");
    const base = repo.commit("Main goes on", { "m.txt": "m\n" });
    const { results, backupRefs } = await server.payload("git_merge", {
      sources: ["topic"],
      strategy: "rebase",
    });
    assert.equal(results[0].outcome, "rebase_then_ff");
    const what = "--format=%an|%ae|%aI|%B";
    assert.equal(repo.git("log", "-1", what, "main~1"), repo.git("log", "-1", what, `${old}~1`));
    assert.equal(repo.git("log", "-1", "--format=%s", "main"), "Trigger CI");
    assert.equal(repo.git("rev-parse", "main~2"), base);
    assert.equal(repo.git("rev-parse", "topic"), repo.git("rev-parse", "main"));
    assert.equal(backupOf(repo, backupRefs, "topic"), old);
  }),
);

Deno.test(
  "git_merge re-encodes a commit in another encoding",
  scene(async (server, repo) => {
    repo.git("checkout", "--quiet", "-b", "latin");
    repo.write("l.txt", "l\n");
    repo.git("add", ".");
    const file = join(repo.dir, "..", "message");
    Deno.writeFileSync(file, Uint8Array.from("caf\xe9\n", (character) => character.charCodeAt(0)));
    repo.git("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "-F", file);
    repo.git("checkout", "--quiet", "main");
    repo.commit("Main goes on", { "m.txt": "m\n" });
    await server.payload("git_merge", { sources: ["latin"] });
    assert.equal(repo.git("log", "-1", "--format=%s"), "café");
  }),
);

Deno.test(
  "git_merge: up to date, ff-only, merge commits and their messages",
  scene(async (server, repo) => {
    const first = repo.git("rev-parse", "main");
    branch(repo, "old", { "o.txt": "o\n" });
    repo.git("merge", "--quiet", "--no-edit", "old");
    const same = await server.payload("git_merge", {
      sources: ["old"],
      strategy: "merge",
      deleteMergedBranches: true,
    });
    assert.deepEqual(same.results, [
      { source: "old", ok: true, outcome: "up_to_date", mergedSha: repo.git("rev-parse", "main") },
    ]);
    assert.equal(same.backupRefs, undefined);
    assert.ok(repo.git("branch", "--list", "old"));

    branch(repo, "side", { "s.txt": "s\n" }, first);
    const before = await stateOf(repo);
    const result = await server.call("git_merge", { sources: ["side"], strategy: "ff-only" });
    assert.equal(result.isError, undefined);
    assert.deepEqual(result.structuredContent.results, [{
      source: "side",
      ok: false,
      error: "cannot_fast_forward",
      detail: "destination and source have diverged; retry with strategy: rebase, merge, or auto",
    }]);
    assert.deepEqual([result.structuredContent.ok, result.structuredContent.applied], [false, 0]);
    assert.deepEqual(await stateOf(repo), before);

    const merged = await server.payload("git_merge", { sources: ["side"], strategy: "merge", message: "  " });
    assert.equal(merged.results[0].outcome, "merge_commit");
    assert.equal(repo.git("log", "-1", "--format=%B"), "Merge branch 'side' into main");
    assert.equal(repo.git("log", "-1", "--format=%P").split(" ").length, 2);
    branch(repo, "ahead", { "h.txt": "h\n" });
    await server.payload("git_merge", { sources: ["ahead"], strategy: "merge", message: "-x custom" });
    assert.equal(repo.git("log", "-1", "--format=%s"), "-x custom");
    assert.equal(repo.git("log", "-1", "--format=%P").split(" ").length, 2);
    assert.equal(repo.git("status", "--porcelain"), "");
  }),
);

Deno.test(
  "git_merge: conflicts name the paths, their kinds and the hunks, and leave no trace",
  scene(async (server, repo) => {
    const text = Array.from({ length: 40 }, (_, n) => `line ${n}\n`).join("");
    repo.commit("Base", { "two.txt": text, "gone.txt": "g\n", "bin.dat": "a\0b\n", "ren.txt": text });
    branch(repo, "theirs", {
      "a.txt": "theirs\n",
      "two.txt": text.replace("line 5\n", "T5\n").replace("line 30\n", "T30\n"),
      "gone.txt": "changed\n",
      "new.txt": "theirs\n",
      "bin.dat": "a\0c\n",
    });
    repo.git("rm", "--quiet", "gone.txt");
    repo.commit("Mine", {
      "a.txt": "mine\n",
      "two.txt": text.replace("line 5\n", "M5\n").replace("line 30\n", "M30\n"),
      "new.txt": "mine\n",
      "bin.dat": "a\0d\n",
    });
    const before = await stateOf(repo);
    for (
      const [strategy, stage, error] of [["rebase", "rebase", "rebase_conflicts"], [
        "auto",
        "merge",
        "merge_conflicts",
      ]]
    ) {
      const { ok, applied, headSha, results } = await server.payload("git_merge", {
        sources: ["theirs", "main"],
        strategy,
      });
      assert.deepEqual([ok, applied, results.length, headSha], [false, 0, 1, repo.git("rev-parse", "main")]);
      const [row] = results;
      assert.deepEqual([row.outcome, row.conflictStage, row.error], ["conflicts", stage, error]);
      assert.deepEqual(row.conflictPaths.toSorted(), ["a.txt", "bin.dat", "gone.txt", "new.txt", "two.txt"]);
      // deno-lint-ignore no-explicit-any -- an answer
      const by = Object.fromEntries(row.conflicts.map((one: any) => [one.path, one]));
      assert.equal(by["new.txt"].kind, "both-added");
      assert.equal(by["gone.txt"].kind, "deleted-by-us");
      assert.equal(by["bin.dat"].kind, "both-modified");
      assert.equal(by["bin.dat"].hunks, undefined);
      assert.deepEqual(by["two.txt"].hunks, [
        { line: 6, ours: "M5", base: "line 5", theirs: "T5" },
        { line: 37, ours: "M30", base: "line 30", theirs: "T30" },
      ]);
      assert.equal(by["a.txt"].hunks[0].ours, "mine");
      assert.deepEqual(await stateOf(repo), before, strategy);
    }
    const { content } = await server.call("git_merge", { sources: ["theirs"] });
    assert.match(content[0].text, /^# Merge into `main`: 0\/1 sources applied \(stopped on conflict\)\n/);
    assert.match(content[0].text, /conflict: two\.txt \(both-modified\)/);
    assert.match(content[0].text, /M30/);
  }),
);

Deno.test(
  "git_merge and git_cherry_pick bear paths of every kind, also in conflicts",
  scene(async (server, repo) => {
    const names = [
      "with space.txt",
      'quo"te.txt',
      "new\nline.txt",
      "ünï.txt",
      "-dash.txt",
      "a b/c.txt",
      "tab\there",
    ];
    const all = (text: string) => Object.fromEntries(names.map((name) => [name, `${text}\n`]));
    repo.commit("Base", all("base"));
    branch(repo, "theirs", all("theirs"));
    branch(repo, "added", Object.fromEntries(names.map((name) => [`new/${name}`, "n\n"])));
    repo.commit("Mine", all("mine"));
    const { results } = await server.payload("git_merge", { sources: ["theirs"] });
    assert.deepEqual(results[0].conflictPaths.toSorted(), names.toSorted());
    const hunks = results[0].conflicts.filter((one: Record<string, unknown>) => one.hunks);
    // A name with a line break cannot be asked for in the listing that hunks are read from.
    assert.equal(hunks.length, names.length - 1);
    const picked = await server.payload("git_cherry_pick", { sources: ["theirs"] });
    assert.deepEqual(picked.conflict.paths.toSorted(), names.toSorted());
    assert.equal((await server.payload("git_cherry_pick", { sources: ["added"] })).applied, 1);
    for (const name of names) assert.equal(Deno.readTextFileSync(join(repo.dir, "new", name)), "n\n");
    assert.equal(repo.git("status", "--porcelain"), "");
  }),
);

Deno.test(
  "git_merge stops at a conflict: what was merged before it stays, the working tree is on its branch",
  scene(async (server, repo) => {
    branch(repo, "good", { "g.txt": "g\n" });
    branch(repo, "bad", { "a.txt": "bad\n" });
    branch(repo, "never", { "n.txt": "n\n" });
    repo.commit("Mine", { "a.txt": "mine\n" });
    const { ok, applied, total, results, headSha } = await server.payload("git_merge", {
      sources: ["good", "bad", "never"],
      deleteMergedBranches: true,
    });
    assert.deepEqual([ok, applied, total, results.length], [false, 1, 3, 2]);
    assert.equal(results[0].branchDeleted, undefined);
    assert.equal(headSha, repo.git("rev-parse", "main"));
    assert.equal(results[0].mergedSha, headSha);
    assert.equal(repo.git("rev-parse", "--abbrev-ref", "HEAD"), "main");
    assert.equal(repo.git("status", "--porcelain"), "");
    assert.ok(repo.git("branch", "--list", "good"));
  }),
);

Deno.test(
  "git_merge into another branch puts the working tree on it; a failure leaves it where it was",
  scene(async (server, repo) => {
    branch(repo, "topic", { "t.txt": "t\n" });
    repo.git("branch", "release");
    repo.git("checkout", "--quiet", "topic");
    const { ok, into } = await server.payload("git_merge", { sources: ["topic"], into: "release" });
    assert.deepEqual([ok, into], [true, "release"]);
    assert.equal(repo.git("rev-parse", "--abbrev-ref", "HEAD"), "release");
    assert.equal(repo.git("rev-parse", "release"), repo.git("rev-parse", "topic"));
    assert.equal(repo.git("status", "--porcelain"), "");
    branch(repo, "clash", { "a.txt": "clash\n" });
    repo.commit("Mine", { "a.txt": "mine\n" });
    repo.git("checkout", "--quiet", "topic");
    const before = await stateOf(repo);
    const failed = await server.payload("git_merge", { sources: ["clash"], into: "main" });
    assert.equal(failed.ok, false);
    assert.deepEqual(await stateOf(repo), before);
  }),
);

Deno.test(
  "git_merge rebases a source in its own clean worktree, and leaves one that is in use alone",
  scene(async (server, repo, dir) => {
    branch(repo, "clean", { "c.txt": "c\n" });
    branch(repo, "busy", { "b.txt": "b\n" });
    const clean = repo.at(join(dir, "clean"));
    const busy = repo.at(join(dir, "busy"));
    repo.git("worktree", "add", "--quiet", clean.dir, "clean");
    repo.git("worktree", "add", "--quiet", busy.dir, "busy");
    repo.commit("Main goes on", { "m.txt": "m\n" });
    busy.write("untracked.txt", "work\n");
    const busyState = await stateOf(busy);
    const first = await server.payload("git_merge", { sources: ["clean"] });
    assert.equal(first.results[0].outcome, "rebase_then_ff");
    assert.equal(clean.git("rev-parse", "HEAD"), repo.git("rev-parse", "main"));
    assert.equal(clean.git("rev-parse", "--abbrev-ref", "HEAD"), "clean");
    assert.equal(clean.git("status", "--porcelain"), "");
    assert.equal(Deno.readTextFileSync(join(clean.dir, "m.txt")), "m\n");
    const refusal = await server.payload("git_merge", { sources: ["busy"], strategy: "rebase" });
    assert.equal(refusal.results[0].error, "source_checked_out");
    assert.equal(refusal.results[0].worktree, busy.dir);
    const merged = await server.payload("git_merge", { sources: ["busy"], deleteMergedWorktrees: true });
    assert.equal(merged.results[0].outcome, "merge_commit");
    assert.equal(merged.results[0].worktreeRemoved, undefined);
    assert.match(merged.results[0].cleanupSkipped, /untracked|modified/);
    // Its own part of the repository; what is common has moved on.
    const own = ({ head, index, files }: Record<string, unknown>) => ({ head, index, files });
    assert.deepEqual(own(await stateOf(busy)), own(busyState));
  }),
);

Deno.test(
  "git_merge auto makes a merge commit for a source that holds merges itself",
  scene(async (server, repo) => {
    branch(repo, "side", { "s.txt": "s\n" });
    branch(repo, "topic", { "t.txt": "t\n" });
    repo.git("checkout", "--quiet", "topic");
    repo.git("merge", "--quiet", "--no-commit", "--no-ff", "side");
    repo.write("only-in-the-merge.txt", "x\n");
    repo.git("add", ".");
    repo.git("commit", "-qm", "Merge with an addition");
    repo.git("checkout", "--quiet", "main");
    repo.commit("Main goes on", { "m.txt": "m\n" });
    const { results } = await server.payload("git_merge", { sources: ["topic"] });
    assert.equal(results[0].outcome, "merge_commit");
    assert.equal(Deno.readTextFileSync(join(repo.dir, "only-in-the-merge.txt")), "x\n");
  }),
);

Deno.test(
  "git_merge dryRun tells the outcome of every source and touches nothing, also on a dirty tree",
  scene(async (server, repo) => {
    branch(repo, "ff", { "f.txt": "f\n" });
    branch(repo, "re", { "r.txt": "r\n" });
    branch(repo, "clash", { "a.txt": "clash\n" });
    repo.git("checkout", "--quiet", "ff");
    repo.commit("Changes a", { "a.txt": "mine\n" });
    repo.git("checkout", "--quiet", "main");
    repo.write("dirty.txt", "d\n");
    const before = await stateOf(repo);
    const objects = repo.git("count-objects", "-v");
    const { ok, dryRun, workingTreeDirty, headSha, results, backupRefs } = await server.payload("git_merge", {
      sources: ["ff", "re", "clash"],
      dryRun: true,
      deleteMergedBranches: true,
    });
    assert.deepEqual([ok, dryRun, workingTreeDirty, backupRefs], [false, true, true, undefined]);
    assert.equal(headSha, repo.git("rev-parse", "main"));
    assert.deepEqual(results.map(({ outcome }: { outcome: string }) => outcome), [
      "fast_forward",
      "rebase_then_ff",
      "conflicts",
    ]);
    assert.deepEqual(results[2].conflictPaths, ["a.txt"]);
    assert.deepEqual(await stateOf(repo), before);
    assert.equal(repo.git("count-objects", "-v"), objects);
  }),
);

Deno.test(
  "git_merge keeps protected branches, worktrees with protected names, and the working tree itself",
  scene(async (server, repo, dir) => {
    for (const name of ["dev", "release/1.0", "hotfix-2", "plain", "Develop"]) {
      branch(repo, name, { [`${name.replaceAll("/", "-")}.txt`]: "x\n" });
    }
    repo.git("worktree", "add", "--quiet", join(dir, "production"), "plain");
    const { results } = await server.payload("git_merge", {
      sources: ["dev", "release/1.0", "hotfix-2", "Develop", "plain"],
      strategy: "merge",
      deleteMergedBranches: true,
      deleteMergedWorktrees: true,
    });
    for (const row of results) {
      assert.equal(row.ok, true);
      assert.equal(row.branchDeleted, undefined);
      assert.match(row.cleanupSkipped, /protected/);
    }
    assert.equal(repo.git("branch", "--format=%(refname:short)").split("\n").length, 6);
  }),
);

Deno.test(
  "git_merge removes a merged session with its record, and one that holds more stays",
  scene(async (server, repo) => {
    for (const id of ["done", "more"]) {
      const { worktreePath } = await server.payload("create_worktree", { sessionId: id });
      repo.at(worktreePath).commit(`Work of ${id}`, { [`${id}.txt`]: "x\n" });
      if (id === "more") repo.at(worktreePath).write("uncommitted.txt", "u\n");
    }
    const { ok, results } = await server.payload("git_merge", {
      sources: ["session-done", "session-more"],
      deleteMergedBranches: true,
      deleteMergedWorktrees: true,
    });
    assert.equal(ok, true);
    assert.equal(results[0].branchDeleted, true);
    assert.match(results[0].worktreeRemoved, /session-done$/);
    assert.match(results[1].cleanupSkipped, /holds other work/);
    const { sessions } = await server.payload("get_sessions");
    assert.deepEqual(sessions.map(({ sessionId }: { sessionId: string }) => sessionId), ["more"]);
  }),
);

Deno.test(
  "git_merge refuses what it must, and changes nothing",
  scene(async (server, repo, dir) => {
    branch(repo, "topic", { "t.txt": "t\n" });
    branch(repo, "elsewhere", { "e.txt": "e\n" });
    repo.git("worktree", "add", "--quiet", join(dir, "elsewhere"), "elsewhere");
    repo.git("checkout", "--quiet", "--orphan", "unrelated");
    repo.commit("Unrelated", { "u.txt": "u\n" });
    repo.git("checkout", "--quiet", "main");
    const before = await stateOf(repo);
    for (
      const bad of [
        "a b",
        "a..b",
        "-x",
        "--output=x",
        "x.lock",
        "a//b",
        "@{u}",
        "@{-1}",
        "a;b:c",
        "a\nb",
        "HEAD:a.txt",
        "x".repeat(257),
        "",
        "a\u202eb",
        "refs/heads/.x",
      ]
    ) {
      const source = await refused(server, "git_merge", { sources: ["topic", bad] });
      assert.deepEqual(
        [source.error, source.ref],
        ["unsafe_ref_token", bad.slice(0, 256).replace("\u202e", "")],
        JSON.stringify(bad),
      );
      const into = await refused(server, "git_merge", { sources: ["topic"], into: bad });
      assert.equal(into.error, "unsafe_ref_token", JSON.stringify(bad));
    }
    assert.equal(
      (await refused(server, "git_merge", { sources: ["topic"], into: "nope" })).error,
      "destination_not_found",
    );
    const out = await refused(server, "git_merge", { sources: ["topic"], into: "elsewhere" });
    assert.equal(out.error, "checkout_failed");
    assert.match(out.detail as string, /checked out at/);
    const missing = await server.payload("git_merge", { sources: ["nope"] });
    assert.equal(missing.results[0].error, "source_not_found");
    const unrelated = await server.payload("git_merge", { sources: ["unrelated"] });
    assert.equal(unrelated.results[0].error, "merge_base_failed");
    assert.equal(
      (await refused(server, "git_merge", { sources: ["topic"], workspaceRoot: dir })).error,
      "not_a_git_repository",
    );
    assert.equal((await refused(server, "git_merge", { sources: [] })).error, "invalid_arguments");
    assert.deepEqual(await stateOf(repo), before);

    repo.git("checkout", "--quiet", "--detach");
    assert.equal((await refused(server, "git_merge", { sources: ["topic"] })).error, "into_detached_head");
    repo.git("checkout", "--quiet", "main");
    repo.write("untracked.txt", "u\n");
    const dirty = await refused(server, "git_merge", { sources: ["topic"] });
    assert.deepEqual([dirty.error, dirty.paths, dirty.changedFiles], [
      "working_tree_dirty",
      ["untracked.txt"],
      1,
    ]);
    Deno.removeSync(join(repo.dir, "untracked.txt"));
    for (
      const [file, code] of [["MERGE_HEAD", "merge_in_progress"], [
        "CHERRY_PICK_HEAD",
        "cherry_pick_in_progress",
      ], ["REVERT_HEAD", "revert_in_progress"]]
    ) {
      const mark = join(repo.dir, ".git", file);
      Deno.writeTextFileSync(mark, `${repo.git("rev-parse", "topic")}\n`);
      assert.equal((await refused(server, "git_merge", { sources: ["topic"] })).error, code);
      Deno.removeSync(mark);
    }
    const lock = join(repo.dir, ".git", "index.lock");
    Deno.writeTextFileSync(lock, "");
    for (const tool of ["git_merge", "git_cherry_pick"]) {
      const locked = await refused(server, tool, { sources: ["topic"] });
      assert.deepEqual([locked.error, locked.lock], ["repo_locked", lock], tool);
      assert.ok((locked.ageSeconds as number) >= 1);
    }
    Deno.removeSync(lock);
    Deno.mkdirSync(join(repo.dir, ".git", "rebase-merge"));
    assert.equal((await refused(server, "git_merge", { sources: ["topic"] })).error, "rebase_in_progress");
  }),
);

Deno.test(
  "git_merge never overwrites an ignored file, and gives everything back when one is in the way",
  scene(async (server, repo) => {
    branch(repo, "topic", { "secret.env": "from the branch\n" });
    branch(repo, "rebased", { "r.txt": "r\n", "secret.env": "from the other\n" });
    repo.commit("Ignore", { ".gitignore": "secret.env\n" });
    repo.write("secret.env", "the only copy\n");
    const before = await stateOf(repo);
    for (const source of ["topic", "rebased"]) {
      const { ok, results, backupRefs } = await server.payload("git_merge", { sources: [source] });
      assert.equal(ok, false);
      assert.equal(results[0].error, "merge_failed");
      assert.match(results[0].detail, /secret\.env/);
      assert.equal(backupRefs, undefined);
      assert.deepEqual(await stateOf(repo), before);
    }
    repo.git("branch", "into", "main~1");
    const again = await stateOf(repo);
    const failed = await refused(server, "git_merge", { sources: ["topic"], into: "into" });
    assert.equal(failed.error, "checkout_failed");
    assert.deepEqual(await stateOf(repo), again);
  }),
);

Deno.test(
  "git_merge takes tags, commits and remote branches as sources, and a branch before a tag of its name",
  scene(async (server, repo) => {
    const topic = branch(repo, "topic", { "t.txt": "t\n" });
    repo.git("tag", "v1", topic);
    repo.git("update-ref", "refs/remotes/origin/far", branch(repo, "far", { "far.txt": "f\n" }));
    repo.git("tag", "both", branch(repo, "wrong", { "wrong.txt": "w\n" }));
    branch(repo, "both", { "right.txt": "r\n" });
    repo.git("branch", "--quiet", "-D", "far");
    const { ok, results } = await server.payload("git_merge", {
      sources: ["v1", "origin/far", "both"],
      strategy: "merge",
      deleteMergedBranches: true,
    });
    assert.equal(ok, true, JSON.stringify(results));
    assert.deepEqual(results.map((row: Record<string, unknown>) => row.branchDeleted), [
      undefined,
      undefined,
      true,
    ]);
    assert.equal(repo.try("cat-file", "-e", "main:right.txt").code, 0);
    assert.notEqual(repo.try("cat-file", "-e", "main:wrong.txt").code, 0);
    assert.ok(repo.git("rev-parse", "refs/remotes/origin/far"));
  }),
);

Deno.test(
  "git_merge works in a bare repository",
  scene(async (server, repo, dir) => {
    branch(repo, "topic", { "t.txt": "t\n" });
    repo.commit("Main goes on", { "m.txt": "m\n" });
    const bare = repo.at(join(dir, "bare.git"));
    repo.git("clone", "--quiet", "--bare", repo.dir, bare.dir);
    const { ok, results } = await server.payload("git_merge", {
      sources: ["topic"],
      workspaceRoot: bare.dir,
    });
    assert.equal(ok, true, JSON.stringify(results));
    assert.equal(bare.git("ls-tree", "--name-only", "main"), "a.txt\nm.txt\nt.txt");
  }),
);

Deno.test(
  "git_merge signs what it makes when the user's config says so",
  scene(async (server, repo) => {
    branch(repo, "topic", { "t.txt": "t\n" });
    repo.commit("Main goes on", { "m.txt": "m\n" });
    const before = await stateOf(repo);
    // The program that signs is missing, so the wish shows as a failure.
    repo.git("config", "commit.gpgSign", "true");
    const { results } = await server.payload("git_merge", { sources: ["topic"], strategy: "merge" });
    assert.equal(results[0].error, "merge_failed");
    assert.match(results[0].detail, /gpg|sign/);
    assert.deepEqual(await stateOf(repo), before);
  }, { env: { GIT_CONFIG_GLOBAL: "/dev/null" } }),
);
