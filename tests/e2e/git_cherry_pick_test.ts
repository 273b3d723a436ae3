/** git_cherry_pick over the real transport: what its contract says, row by row. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Repo } from "../support/repo.ts";
import { LEGACY, MODERN } from "../support/server.ts";
import { refused, scene, stateOf } from "../support/scene.ts";

/** A branch with a commit per file; the working tree is on `main` again afterwards. */
function branch(repo: Repo, name: string, files: string[], from = "main"): string[] {
  repo.git("checkout", "--quiet", "-b", name, from);
  const oids = files.map((file) => repo.commit(`Add ${file}`, { [file]: `${name}: ${file}\n` }));
  repo.git("checkout", "--quiet", "main");
  return oids;
}

const subjects = (repo: Repo, count: number) =>
  repo.git("log", `-${count}`, "--format=%s", "--reverse").split("\n");

for (const era of [LEGACY, MODERN] as const) {
  Deno.test(
    `git_cherry_pick: a branch oldest first and a commit, as the contract shows (${era})`,
    scene(async (server, repo) => {
      branch(repo, "feature/a", ["one.txt", "two.txt"]);
      const [single] = branch(repo, "other", ["three.txt", "unwanted.txt"]);
      const start = repo.commit("Main goes on", { "m.txt": "m\n" });
      const short = single.slice(0, 7);
      const { backupRefs, ...payload } = await server.payload("git_cherry_pick", {
        sources: ["feature/a", short],
      });
      assert.deepEqual(payload, {
        ok: true,
        onto: "main",
        headSha: repo.git("rev-parse", "main"),
        picked: 3,
        applied: 3,
        results: [
          { source: "feature/a", kind: "branch", resolvedCommits: 2, keptCommits: 2 },
          { source: short, kind: "sha", resolvedCommits: 1, keptCommits: 1 },
        ],
      });
      assert.deepEqual(subjects(repo, 3), ["Add one.txt", "Add two.txt", "Add three.txt"]);
      assert.equal(repo.git("rev-parse", backupRefs[0]), start);
      assert.equal(repo.git("status", "--porcelain"), "");
      assert.equal(repo.git("fsck", "--no-dangling"), "");
    }, { era }),
  );
}

Deno.test(
  "git_cherry_pick: ranges, overlaps once, commits that are there already add nothing",
  scene(async (server, repo) => {
    const [one, two, three] = branch(repo, "topic", ["1.txt", "2.txt", "3.txt"]);
    repo.commit("Main goes on", { "m.txt": "m\n" });
    const { picked, applied, results } = await server.payload("git_cherry_pick", {
      sources: [`${one}..${two}`, "topic", three, "topic", "main"],
    });
    assert.deepEqual([picked, applied], [3, 3]);
    assert.deepEqual(
      results.map((row: Record<string, unknown>) => [row.kind, row.resolvedCommits, row.keptCommits]),
      [
        ["range", 1, 1],
        ["branch", 3, 2],
        ["sha", 1, 0],
        ["branch", 3, 0],
        ["branch", 0, 0],
      ],
    );
    assert.deepEqual(subjects(repo, 3), ["Add 2.txt", "Add 1.txt", "Add 3.txt"]);
    const head = repo.git("rev-parse", "main");
    const again = await server.payload("git_cherry_pick", { sources: ["topic"] });
    assert.deepEqual([again.ok, again.picked, again.applied, again.headSha], [true, 3, 0, head]);
    assert.equal(again.backupRefs, undefined);
    const there = await server.payload("git_cherry_pick", { sources: ["main~1"] });
    assert.deepEqual([there.picked, there.results[0].keptCommits], [0, 0]);
    const both = await server.payload("git_cherry_pick", { sources: [`${one}...${two}`], dryRun: true });
    assert.equal(both.results[0].resolvedCommits, 1);
  }),
);

Deno.test(
  "git_cherry_pick drops what became empty in the middle of a list, and goes on",
  scene(async (server, repo) => {
    branch(repo, "topic", ["1.txt", "2.txt", "3.txt"]);
    repo.commit("The same by hand", { "2.txt": "topic: 2.txt\n" });
    const { picked, applied } = await server.payload("git_cherry_pick", { sources: ["topic"] });
    assert.deepEqual([picked, applied], [3, 2]);
    assert.deepEqual(subjects(repo, 2), ["Add 1.txt", "Add 3.txt"]);
  }),
);

Deno.test(
  "git_cherry_pick: a conflict names commit, paths and hunks, and leaves no trace",
  scene(async (server, repo) => {
    branch(repo, "topic", ["ok.txt"]);
    repo.git("checkout", "--quiet", "topic");
    const bad = repo.commit("Change a", { "a.txt": "theirs\n" });
    repo.git("checkout", "--quiet", "main");
    repo.commit("Mine", { "a.txt": "mine\n" });
    const before = await stateOf(repo);
    const result = await server.call("git_cherry_pick", { sources: ["topic"], deleteMergedBranches: true });
    assert.equal(result.isError, undefined);
    const { ok, picked, applied, conflict, headSha } = result.structuredContent;
    assert.deepEqual([ok, picked, applied, headSha], [false, 2, 0, repo.git("rev-parse", "main")]);
    assert.deepEqual([conflict.stage, conflict.commit, conflict.paths], ["cherry-pick", bad, ["a.txt"]]);
    assert.match(conflict.detail, /could not apply .* Change a/);
    assert.equal(conflict.conflicts[0].kind, "both-modified");
    assert.deepEqual(conflict.conflicts[0].hunks[0].theirs, "theirs");
    assert.deepEqual(await stateOf(repo), before);
    assert.match(
      result.content[0].text,
      /^# Cherry-pick onto `main`: stopped on conflict after 0 commit\(s\)\n/,
    );
    assert.match(result.content[0].text, /conflict: a\.txt/);
  }),
);

Deno.test(
  "git_cherry_pick: a merge commit is no pick, a root commit is one",
  scene(async (server, repo) => {
    branch(repo, "side", ["s.txt"]);
    repo.git("checkout", "--quiet", "-b", "merged");
    repo.git("merge", "--quiet", "--no-ff", "-m", "A merge", "side");
    repo.git("checkout", "--quiet", "--orphan", "root");
    repo.git("rm", "-rfq", ".");
    const root = repo.commit("Root", { "root.txt": "r\n" });
    repo.git("checkout", "--quiet", "main");
    const before = await stateOf(repo);
    const { ok, applied, conflict } = await server.payload("git_cherry_pick", { sources: ["merged"] });
    assert.deepEqual([ok, applied, conflict.paths], [false, 0, []]);
    assert.match(conflict.detail, /merge commit/);
    assert.deepEqual(await stateOf(repo), before);
    const picked = await server.payload("git_cherry_pick", { sources: [root] });
    assert.deepEqual([picked.ok, picked.applied], [true, 1]);
    assert.equal(repo.git("ls-tree", "--name-only", "HEAD"), "a.txt\nroot.txt");
  }),
);

Deno.test(
  "git_cherry_pick onto another branch puts the working tree on it",
  scene(async (server, repo) => {
    branch(repo, "topic", ["t.txt"]);
    repo.git("branch", "stable");
    repo.commit("Main goes on", { "m.txt": "m\n" });
    const { ok, onto } = await server.payload("git_cherry_pick", { sources: ["topic"], onto: "stable" });
    assert.deepEqual([ok, onto], [true, "stable"]);
    assert.equal(repo.git("rev-parse", "--abbrev-ref", "HEAD"), "stable");
    assert.equal(repo.git("ls-tree", "--name-only", "stable"), "a.txt\nt.txt");
    assert.equal(repo.git("status", "--porcelain"), "");
  }),
);

Deno.test(
  "git_cherry_pick deletes a source only when the destination reaches it",
  scene(async (server, repo) => {
    branch(repo, "copied", ["c.txt"]);
    branch(repo, "reached", ["r.txt"]);
    repo.git("merge", "--quiet", "--no-ff", "-m", "Merge", "reached");
    repo.git("branch", "dev", "reached");
    const { results } = await server.payload("git_cherry_pick", {
      sources: ["copied", "reached", "dev"],
      deleteMergedBranches: true,
    });
    assert.deepEqual(results.map((row: Record<string, unknown>) => row.branchDeleted), [
      undefined,
      true,
      undefined,
    ]);
    assert.equal(repo.git("branch", "--format=%(refname:short)"), "copied\ndev\nmain");
  }),
);

Deno.test(
  "git_cherry_pick dryRun tells what would happen and touches nothing",
  scene(async (server, repo) => {
    branch(repo, "topic", ["1.txt", "2.txt"]);
    repo.commit("Main goes on", { "m.txt": "m\n" });
    repo.write("dirty.txt", "d\n");
    const before = await stateOf(repo);
    const objects = repo.git("count-objects", "-v");
    const { backupRefs, ...payload } = await server.payload("git_cherry_pick", {
      sources: ["topic"],
      dryRun: true,
    });
    assert.deepEqual(payload, {
      ok: true,
      onto: "main",
      headSha: repo.git("rev-parse", "main"),
      picked: 2,
      applied: 2,
      dryRun: true,
      workingTreeDirty: true,
      results: [{ source: "topic", kind: "branch", resolvedCommits: 2, keptCommits: 2 }],
    });
    assert.equal(backupRefs, undefined);
    assert.deepEqual(await stateOf(repo), before);
    assert.equal(repo.git("count-objects", "-v"), objects);
  }),
);

Deno.test(
  "git_cherry_pick refuses what it must, and changes nothing",
  scene(async (server, repo, dir) => {
    branch(repo, "topic", ["t.txt"]);
    const before = await stateOf(repo);
    const refuse = async (args: Record<string, unknown>) => await refused(server, "git_cherry_pick", args);
    for (const bad of ["--exec=x", "a..b..c", "-x..y", "a b", "@{u}", "a....b", "..", "a;b ..c", "x\0y"]) {
      const { error, ref } = await refuse({ sources: ["topic", bad] });
      assert.deepEqual([error, ref], ["unsafe_ref_token", bad], JSON.stringify(bad));
    }
    const missing = await refuse({ sources: ["topic", "nope"] });
    assert.deepEqual([missing.error, missing.source], ["source_not_found", "nope"]);
    const range = await refuse({ sources: ["nope..topic"] });
    assert.deepEqual([range.error, range.source], ["range_resolution_failed", "nope..topic"]);
    assert.equal((await refuse({ sources: ["topic"], onto: "nope" })).error, "destination_not_found");
    assert.equal((await refuse({ sources: ["topic"], workspaceRoot: dir })).error, "not_a_git_repository");
    assert.deepEqual(await stateOf(repo), before);
    repo.git("checkout", "--quiet", "--detach");
    assert.equal((await refuse({ sources: ["topic"] })).error, "onto_detached_head");
    repo.git("checkout", "--quiet", "main");
    repo.write("a.txt", "dirty\n");
    assert.equal((await refuse({ sources: ["topic"] })).error, "working_tree_dirty");
    repo.git("checkout", "--quiet", "a.txt");
    repo.git("branch", "held");
    repo.git("worktree", "add", "--quiet", join(dir, "held"), "held");
    assert.equal((await refuse({ sources: ["topic"], onto: "held" })).error, "checkout_failed");
    repo.commit("Ignore", { ".gitignore": "t.txt\n" });
    repo.write("t.txt", "the only copy\n");
    const ignored = await stateOf(repo);
    const failed = await refuse({ sources: ["topic"] });
    assert.equal(failed.error, "cherry_pick_failed");
    assert.match(failed.detail as string, /t\.txt/);
    assert.deepEqual(await stateOf(repo), ignored);
  }),
);
