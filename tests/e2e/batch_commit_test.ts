// deno-lint-ignore-file no-sync-fn-in-async-fn -- a scene is set for one reader, who waits
/** batch_commit over the real transport: what its contract says, row by row. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo } from "../support/repo.ts";
import { LEGACY, MODERN, type Server } from "../support/server.ts";
import { refused, scene, stateOf } from "../support/scene.ts";

const lines = (from: number, to: number, text = "line") =>
  Array.from({ length: to - from + 1 }, (_, at) => `${text} ${from + at}\n`).join("");
const inCommit = (repo: Repo, commit: string) =>
  repo.git("show", "--format=", "--name-only", "-z", commit).split("\0").filter(Boolean).sort();

for (const era of [LEGACY, MODERN] as const) {
  Deno.test(
    `batch_commit makes commits in order and answers as the contract shows (${era})`,
    scene(async (server, repo) => {
      repo.write("src/foo.ts", "foo\n");
      repo.write("config.json", "{}\n");
      const payload = await server.payload("batch_commit", {
        commits: [
          { message: "feat: add foo", files: ["src/foo.ts"] },
          { message: "chore: update config", files: ["config.json"] },
        ],
      });
      const [second, first] = repo.git("log", "--format=%h", "--abbrev=7", "-2").split("\n");
      assert.deepEqual(payload, {
        ok: true,
        committed: 2,
        total: 2,
        results: [
          { index: 0, ok: true, sha: first, message: "feat: add foo", files: ["src/foo.ts"] },
          { index: 1, ok: true, sha: second, message: "chore: update config", files: ["config.json"] },
        ],
      });
      assert.deepEqual(inCommit(repo, "HEAD~1"), ["src/foo.ts"]);
      assert.deepEqual(inCommit(repo, "HEAD"), ["config.json"]);
      assert.equal(repo.git("status", "--porcelain"), "");
      assert.equal(repo.git("fsck", "--no-dangling"), "");
    }, { era }),
  );
}

Deno.test(
  "batch_commit sees a change of the same size made in the second of the last commit",
  scene(async (server, repo) => {
    // Git goes by seconds, so the change has to come right behind the commit and the call in a later second.
    const wait = () => new Promise((resolve) => setTimeout(resolve, 1010 - Date.now() % 1000));
    await wait();
    repo.commit("One", { "racy.txt": "1\n" });
    repo.write("racy.txt", "2\n");
    await wait();
    const { ok } = await server.payload("batch_commit", {
      commits: [{ message: "two", files: ["racy.txt"] }],
    });
    assert.equal(ok, true);
    assert.equal(repo.git("show", "HEAD:racy.txt"), "2");
  }),
);

Deno.test(
  "batch_commit stops at the first failure: earlier commits stay, later ones are not tried",
  scene(async (server, repo) => {
    repo.write("one.txt", "1\n");
    repo.write("three.txt", "3\n");
    const result = await server.call("batch_commit", {
      commits: [
        { message: "one", files: ["one.txt"] },
        { message: "two", files: ["missing.txt"] },
        { message: "three", files: ["three.txt"] },
      ],
    });
    assert.equal(result.isError, undefined);
    const { ok, committed, total, results, push } = result.structuredContent;
    assert.deepEqual([ok, committed, total, results.length, push], [false, 1, 3, 2, undefined]);
    assert.equal(results[1].error, "stage_failed");
    assert.match(results[1].detail, /missing\.txt/);
    assert.equal(repo.git("log", "-1", "--format=%s"), "one");
    assert.equal(repo.git("status", "--porcelain"), "?? three.txt");
    assert.match(result.content[0].text, /^# Batch commit: 1\/3 committed \(stopped on error\)\n/);
    assert.match(result.content[0].text, /1 remaining commit\(s\) skipped\./);
  }),
);

Deno.test(
  "batch_commit gives the sha of a first commit, on a detached HEAD, and on an odd branch name",
  scene(async (server, repo, dir) => {
    const empty = repo.at(join(dir, "empty"));
    Deno.mkdirSync(empty.dir);
    empty.git("init", "--quiet", "--initial-branch=main");
    for (const odd of ["sha256", "sha1"]) {
      const fresh = repo.at(join(dir, odd));
      Deno.mkdirSync(fresh.dir);
      fresh.git("init", "--quiet", "--initial-branch=main", `--object-format=${odd}`);
      fresh.write("staged.txt", "s\n");
      fresh.git("add", "staged.txt");
      fresh.write("f.txt", "f\n");
      const { results } = await server.payload("batch_commit", {
        workspaceRoot: fresh.dir,
        commits: [{ message: "root", files: ["f.txt"] }],
      });
      assert.equal(results[0].sha, fresh.git("rev-parse", "--short=7", "HEAD"), odd);
      assert.deepEqual(inCommit(fresh, "HEAD"), ["f.txt"]);
      assert.equal(fresh.git("status", "--porcelain"), "A  staged.txt");
    }
    for (const place of [["checkout", "--quiet", "--detach"], ["checkout", "--quiet", "-b", "fix/#1+@ü"]]) {
      repo.git(...place);
      repo.write("x.txt", place.join(" "));
      const { results } = await server.payload("batch_commit", {
        commits: [{ message: "x", files: ["x.txt"] }],
      });
      assert.equal(results[0].sha, repo.git("rev-parse", "--short=7", "HEAD"));
    }
  }),
);

Deno.test(
  "batch_commit leaves what was staged before out of its commits, and staged",
  scene(async (server, repo) => {
    repo.commit("More", { "b.txt": "b\n", "gone.txt": "g\n", "c.txt": "c\n" });
    repo.write("b.txt", "staged b\n");
    repo.write("new.txt", "new\n");
    repo.git("add", "b.txt", "new.txt");
    repo.git("rm", "--quiet", "gone.txt");
    repo.write("b.txt", "staged b\nand more\n");
    repo.write("c.txt", "changed\n");
    const before = repo.git("diff", "--cached");
    const { ok } = await server.payload("batch_commit", { commits: [{ message: "c", files: ["c.txt"] }] });
    assert.equal(ok, true);
    assert.deepEqual(inCommit(repo, "HEAD"), ["c.txt"]);
    assert.equal(repo.git("diff", "--cached"), before);
    // What was staged and is listed goes in as it is on disk.
    await server.payload("batch_commit", { commits: [{ message: "b", files: ["b.txt", "gone.txt"] }] });
    assert.deepEqual(inCommit(repo, "HEAD"), ["b.txt", "gone.txt"]);
    assert.equal(repo.git("show", "HEAD:b.txt"), "staged b\nand more");
    assert.equal(repo.git("status", "--porcelain"), "A  new.txt");
  }),
);

Deno.test(
  "batch_commit takes edits, new files and deletions together, and names of every kind",
  scene(async (server, repo) => {
    const odd = [
      "with space.txt",
      'quo"te.txt',
      "new\nline.txt",
      "ünï.txt",
      "-dash.txt",
      "a b/c.txt",
      ":(top)x",
      "*",
    ];
    repo.commit("Second", { "gone.txt": "g\n" });
    Deno.removeSync(join(repo.dir, "gone.txt"));
    repo.write("a.txt", "changed\n");
    for (const name of odd) repo.write(name, name);
    const files = ["gone.txt", "a.txt", ...odd];
    const { ok, results } = await server.payload("batch_commit", { commits: [{ message: "-m odd", files }] });
    assert.equal(ok, true, JSON.stringify(results));
    assert.deepEqual(results[0].files, files);
    assert.deepEqual(inCommit(repo, "HEAD"), files.toSorted());
    assert.equal(repo.git("log", "-1", "--format=%B"), "-m odd");
    assert.equal(repo.git("status", "--porcelain"), "");
  }),
);

Deno.test(
  "batch_commit refuses paths that lead out, directories and ignored files, and changes nothing",
  scene(async (server, repo, dir) => {
    repo.commit("Ignore", { ".gitignore": "*.log\n", "d/x.txt": "x\n" });
    repo.write("a.log", "log\n");
    repo.write("d/y.txt", "y\n");
    repo.write("staged.txt", "s\n");
    repo.git("add", "staged.txt");
    Deno.writeTextFileSync(join(dir, "outside.txt"), "o");
    Deno.symlinkSync(dir, join(repo.dir, "out"));
    Deno.writeTextFileSync(join(repo.dir, ".git", "info", "exclude"), "out\n");
    const before = await stateOf(repo);
    const cases: [string[], string, RegExp][] = [
      [["../../etc/passwd"], "path_escapes_repository", /^\.\.\/\.\.\/etc\/passwd$/],
      [["a.txt", "../x", "/etc/passwd"], "path_escapes_repository", /^\.\.\/x, \/etc\/passwd$/],
      [[join(repo.dir, "a.txt")], "path_escapes_repository", /a\.txt/],
      [["out/outside.txt"], "path_escapes_repository", /out\/outside\.txt/],
      [[".git/config"], "path_escapes_repository", /\.git\/config/],
      [["d/.GIT/x"], "path_escapes_repository", /GIT/],
      [["a\0b"], "path_escapes_repository", /a/],
      [["."], "stage_failed", /directory/],
      [["d"], "stage_failed", /directory/],
      [["d/y.txt", "a.log"], "stage_failed", /ignored/],
      [["nothing.txt"], "stage_failed", /nothing\.txt/],
      [["a.txt"], "commit_failed", /nothing to commit/],
    ];
    for (const [files, error, detail] of cases) {
      const { ok, committed, results } = await server.payload("batch_commit", {
        commits: [{ message: "m", files }],
      });
      assert.deepEqual([ok, committed, results[0].error], [false, 0, error], JSON.stringify(files));
      assert.match(results[0].detail, detail);
      assert.deepEqual(await stateOf(repo), before, `${JSON.stringify(files)} left a trace`);
    }
    // A link that leads out is content of the repository like any other.
    Deno.writeTextFileSync(join(repo.dir, ".git", "info", "exclude"), "");
    const { ok } = await server.payload("batch_commit", { commits: [{ message: "link", files: ["out"] }] });
    assert.equal(ok, true);
    assert.match(repo.git("ls-tree", "HEAD", "out"), /^120000 /);
  }),
);

Deno.test(
  "batch_commit runs the repository's hooks, tells what they say, and --no-hooks skips them",
  scene(async (server, repo, dir) => {
    const hook = (name: string, body: string) => {
      const file = join(repo.dir, ".githooks", name);
      Deno.mkdirSync(join(file, ".."), { recursive: true });
      Deno.writeTextFileSync(file, `#!/bin/sh\n${body}\n`);
      Deno.chmodSync(file, 0o755);
    };
    repo.git("config", "core.hooksPath", ".githooks");
    Deno.writeTextFileSync(join(repo.dir, ".git", "info", "exclude"), ".githooks\n");
    hook(
      "pre-commit",
      'if grep -q BAD "$(git diff --cached --name-only)"; then echo "no BAD here" >&2; exit 1; fi',
    );
    repo.write("other.txt", "staged by the user\n");
    repo.git("add", "other.txt");
    repo.write("a.txt", "BAD\n");
    const before = await stateOf(repo);
    const { results } = await server.payload("batch_commit", {
      commits: [{ message: "bad", files: ["a.txt"] }],
    });
    assert.equal(results[0].error, "commit_failed");
    assert.match(results[0].detail, /no BAD here/);
    assert.deepEqual(await stateOf(repo), before);
    // A formatter that stages what it wrote sees the commit's own index.
    hook(
      "pre-commit",
      'for f in $(git diff --cached --name-only); do sed -i s/BAD/good/ "$f"; git add "$f"; done',
    );
    const { ok } = await server.payload("batch_commit", {
      commits: [{ message: "formatted", files: ["a.txt"] }],
    });
    assert.equal(ok, true);
    assert.equal(repo.git("show", "HEAD:a.txt"), "good");
    assert.deepEqual(inCommit(repo, "HEAD"), ["a.txt"]);
    assert.equal(repo.git("status", "--porcelain"), "A  other.txt");
    // A hook that says nothing is not taken for an empty commit.
    hook("pre-commit", "exit 1");
    repo.write("a.txt", "again\n");
    const silent = await server.payload("batch_commit", { commits: [{ message: "x", files: ["a.txt"] }] });
    assert.match(silent.results[0].detail, /hook/);
    repo.git("config", "core.hooksPath", join(dir, "elsewhere"));
    const foreign = await refused(server, "batch_commit", { commits: [{ message: "x", files: ["a.txt"] }] });
    assert.deepEqual([foreign.error, foreign.keys], ["unsafe_repo_config", ["core.hookspath"]]);
  }),
);

Deno.test(
  "batch_commit tells made from refused behind hooks that amend or commit by themselves",
  scene(async (server, repo) => {
    const hook = (name: string, body: string) => {
      const file = join(repo.dir, ".git", "hooks", name);
      Deno.writeTextFileSync(file, `#!/bin/sh\n${body}\n`);
      Deno.chmodSync(file, 0o755);
    };
    const commit = async (...names: string[]) => {
      for (const name of names) repo.write(name, `${name}\n`);
      return await server.payload("batch_commit", {
        commits: names.map((name) => ({ message: name, files: [name] })),
      });
    };
    hook("pre-commit", "! git diff --cached --name-only | grep -q refused");
    hook(
      "post-commit",
      '[ -n "$AMENDING" ] || AMENDING=1 git commit -q --amend --no-verify -m "$(git log -1 --format=%s) amended"',
    );
    const amended = await commit("one.txt", "refused.txt");
    assert.equal(amended.results.length, 2, JSON.stringify(amended));
    assert.deepEqual([amended.ok, amended.committed, amended.results[1].error], [false, 1, "commit_failed"]);
    assert.equal(repo.git("log", "-1", "--format=%s"), "one.txt amended");
    assert.equal(amended.results[0].sha, repo.git("rev-parse", "--short=7", "HEAD"));
    assert.equal(repo.git("status", "--porcelain"), "?? refused.txt");
    hook("post-commit", '[ -n "$MORE" ] || MORE=1 git commit -q --no-verify --allow-empty -m more');
    const followed = await commit("two.txt");
    assert.equal(followed.ok, true);
    assert.deepEqual(repo.git("log", "-2", "--format=%s").split("\n"), ["more", "two.txt"]);
    assert.equal(followed.results[0].sha, repo.git("rev-parse", "--short=7", "HEAD~1"));
  }),
);

Deno.test(
  "batch_commit with --no-hooks runs none",
  scene(async (server, repo) => {
    const file = join(repo.dir, ".git", "hooks", "pre-commit");
    Deno.writeTextFileSync(file, "#!/bin/sh\nexit 1\n");
    Deno.chmodSync(file, 0o755);
    repo.write("a.txt", "x\n");
    const { ok } = await server.payload("batch_commit", { commits: [{ message: "x", files: ["a.txt"] }] });
    assert.equal(ok, true);
  }, { flags: ["--no-hooks"], roots: (repo) => [repo.dir] }),
);

Deno.test(
  "batch_commit stages hunks: first, middle, last, of a new file, of a deletion, and says what changed elsewhere",
  scene(async (server, repo) => {
    repo.commit("Lines", { "l.txt": lines(1, 30), "del.txt": lines(1, 6) });
    const text = lines(1, 30).split("\n");
    text[1] = "FIRST";
    text[14] = "MIDDLE";
    text.splice(28, 0, "LAST");
    repo.write("l.txt", text.join("\n"));
    const commit = (path: string, from: number, to: number) =>
      server.payload("batch_commit", {
        commits: [{ message: `${path} ${from}`, files: [{ path, lines: { from, to } }] }],
      });
    for (const [from, to, word] of [[10, 20, "MIDDLE"], [1, 5, "FIRST"], [29, 29, "LAST"]] as const) {
      const { ok, results } = await commit("l.txt", from, to);
      assert.equal(ok, true, JSON.stringify(results));
      assert.deepEqual(results[0].files, [`l.txt:${from}-${to}`]);
      assert.match(repo.git("show", "-U0", "--format=", "HEAD"), new RegExp(`^\\+${word}$`, "m"));
    }
    assert.equal(repo.git("status", "--porcelain"), "");
    assert.equal(repo.git("show", "HEAD:l.txt"), text.join("\n").trimEnd());

    repo.write("fresh.txt", lines(1, 10));
    const before = await stateOf(repo);
    const off = await commit("fresh.txt", 50, 60);
    assert.equal(off.results[0].error, "stage_failed");
    assert.match(off.results[0].detail, /changed are lines 1-10/);
    assert.deepEqual(await stateOf(repo), before);
    assert.equal((await commit("fresh.txt", 1, 4)).ok, true);
    assert.equal(repo.git("show", "HEAD:fresh.txt"), lines(1, 4).trimEnd());
    assert.equal((await commit("fresh.txt", 5, 10)).ok, true);
    assert.equal(repo.git("show", "HEAD:fresh.txt"), lines(1, 10).trimEnd());

    repo.write("del.txt", lines(1, 2) + lines(5, 6));
    assert.equal((await commit("del.txt", 5, 6)).ok, false);
    assert.equal((await commit("del.txt", 2, 3)).ok, true);
    assert.equal(repo.git("show", "HEAD:del.txt"), (lines(1, 2) + lines(5, 6)).trimEnd());

    // Two hunks of one file and a whole file in one commit; the listed form of the argument.
    repo.write(
      "l.txt",
      text.join("\n").replace("FIRST", "1st").replace("MIDDLE", "2nd").replace("LAST", "3rd"),
    );
    repo.write("a.txt", "whole\n");
    const { results } = await server.payload("batch_commit", {
      commits: [{
        message: "mixed",
        files: ["a.txt"],
        hunks: [{ path: "l.txt", lines: { from: 1, to: 3 } }, { path: "l.txt", lines: { from: 29, to: 29 } }],
      }],
    });
    assert.equal(results[0].ok, true, JSON.stringify(results));
    assert.match(repo.git("diff", "-U0"), /^-MIDDLE$/m);
    assert.doesNotMatch(repo.git("diff", "-U0"), /FIRST|LAST/);
  }),
);

Deno.test(
  "batch_commit stages hunks of files that are not UTF-8 or have no last newline",
  scene(async (server, repo) => {
    const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
    const file = join(repo.dir, "latin.txt");
    Deno.writeFileSync(file, bytes("caf\xe9\r\ntwo\r\nthree"));
    repo.git("add", "latin.txt");
    repo.git("commit", "-qm", "latin");
    Deno.writeFileSync(file, bytes("caf\xe9!\r\ntwo\r\nthree\xff"));
    const { ok } = await server.payload("batch_commit", {
      commits: [{ message: "last", files: [{ path: "latin.txt", lines: { from: 3, to: 3 } }] }],
    });
    assert.equal(ok, true);
    const blob = new Deno.Command("git", { args: ["cat-file", "blob", "HEAD:latin.txt"], cwd: repo.dir })
      .outputSync();
    assert.deepEqual(blob.stdout, bytes("caf\xe9\r\ntwo\r\nthree\xff"));
  }),
);

Deno.test(
  "batch_commit dryRun tells what each commit would hold and touches nothing",
  scene(async (server, repo) => {
    repo.write("staged.txt", "s\n");
    repo.git("add", "staged.txt");
    repo.write("a.txt", "one\nTWO\nthree\n");
    repo.write("n.txt", lines(1, 4));
    const before = await stateOf(repo);
    const objects = repo.git("count-objects");
    const { ok, committed, dryRun, results } = await server.payload("batch_commit", {
      dryRun: true,
      push: "after",
      commits: [
        { message: "a", files: ["a.txt"] },
        { message: "n", files: [{ path: "n.txt", lines: { from: 1, to: 2 } }] },
        { message: "rest", files: ["n.txt"] },
        { message: "none", files: ["a.txt"] },
      ],
    });
    assert.deepEqual([ok, committed, dryRun], [false, 0, true]);
    assert.deepEqual(results.slice(0, 3), [
      { index: 0, ok: true, message: "a", files: ["a.txt"], additions: 1, deletions: 1 },
      { index: 1, ok: true, message: "n", files: ["n.txt"], additions: 2, deletions: 0 },
      { index: 2, ok: true, message: "rest", files: ["n.txt"], additions: 2, deletions: 0 },
    ]);
    assert.equal(results[3].error, "commit_failed");
    assert.deepEqual(await stateOf(repo), before);
    assert.equal(repo.git("count-objects"), objects);
  }),
);

Deno.test(
  "batch_commit refuses in the middle of a merge, and with conflicts in the index",
  scene(async (server, repo) => {
    repo.git("checkout", "--quiet", "-b", "other");
    repo.commit("Other", { "a.txt": "other\n", "o.txt": "o\n" });
    repo.git("checkout", "--quiet", "main");
    repo.commit("Mine", { "a.txt": "mine\n" });
    repo.try("merge", "other");
    repo.write("x.txt", "x\n");
    const before = await stateOf(repo);
    const { results } = await server.payload("batch_commit", {
      commits: [{ message: "x", files: ["x.txt"] }],
    });
    assert.equal(results[0].error, "commit_failed");
    assert.match(results[0].detail, /merge is under way/);
    assert.deepEqual(await stateOf(repo), before);
  }),
);

Deno.test(
  "batch_commit waits for git's index lock, then says how old it is, and never deletes it",
  scene(async (server, repo) => {
    repo.write("a.txt", "x\n");
    const lock = join(repo.dir, ".git", "index.lock");
    Deno.writeTextFileSync(lock, "");
    const commits = [{ message: "x", files: ["a.txt"] }];
    const payload = await refused(server, "batch_commit", { commits });
    assert.deepEqual([payload.error, payload.lock], ["repo_locked", lock]);
    assert.ok((payload.ageSeconds as number) >= 1);
    assert.ok(Deno.statSync(lock).isFile);
    // A lock that goes away in time is waited for.
    setTimeout(() => Deno.removeSync(lock), 500);
    assert.equal((await server.payload("batch_commit", { commits })).ok, true);
  }),
);

Deno.test(
  "batch_commit pushes after, to the upstream's own name, and tells why it could not",
  scene(async (server, repo, dir) => {
    const commit = async (name: string, push = "after") => {
      repo.write(name, name);
      return (await server.payload("batch_commit", { push, commits: [{ message: name, files: [name] }] }));
    };
    assert.equal((await commit("never.txt", "never")).push, undefined);
    const alone = await commit("no-upstream.txt");
    assert.equal(alone.ok, true);
    assert.deepEqual([alone.push.ok, alone.push.error, alone.push.branch], [
      false,
      "push_no_upstream",
      "main",
    ]);
    const bare = repo.at(join(dir, "remote.git"));
    Deno.mkdirSync(bare.dir);
    bare.git("init", "--quiet", "--bare");
    repo.git("remote", "add", "team/origin", bare.dir);
    repo.git("push", "--quiet", "-u", "team/origin", "main:trunk");
    const pushed = await commit("pushed.txt");
    assert.deepEqual(pushed.push, { ok: true, branch: "main", upstream: "team/origin/trunk" });
    assert.equal(bare.git("rev-parse", "trunk"), repo.git("rev-parse", "main"));
    assert.equal(bare.git("branch", "--format=%(refname:short)"), "trunk");
    // A failed entry leaves nothing to push.
    const skipped = await server.payload("batch_commit", {
      push: "after",
      commits: [{ message: "m", files: ["missing"] }],
    });
    assert.equal(skipped.push, undefined);
    // The remote has moved on.
    const clone = repo.at(join(dir, "clone"));
    repo.git("clone", "--quiet", "--branch", "trunk", bare.dir, clone.dir);
    clone.commit("Theirs", { "t.txt": "t" });
    clone.git("push", "--quiet");
    const late = await commit("late.txt");
    assert.deepEqual([late.ok, late.push.ok, late.push.error], [true, false, "push_failed"]);
    assert.match(late.push.detail, /fetch first|non-fast-forward|rejected/);
    repo.git("checkout", "--quiet", "--detach");
    assert.deepEqual((await commit("detached.txt")).push, { ok: false, error: "push_detached_head" });
  }, { flags: ["--allow-file-remotes"], roots: (_, dir) => [join(dir, "repo"), dir] }),
);

Deno.test(
  "batch_commit pushes to no local path unless the operator allows it, and to none outside of the roots",
  scene(async (server, repo, dir) => {
    const bare = repo.at(join(dir, "remote.git"));
    Deno.mkdirSync(bare.dir);
    bare.git("init", "--quiet", "--bare");
    repo.git("remote", "add", "origin", bare.dir);
    repo.git("push", "--quiet", "-u", "origin", "main");
    repo.write("a.txt", "x\n");
    const { push } = await server.payload("batch_commit", {
      push: "after",
      commits: [{ message: "x", files: ["a.txt"] }],
    });
    assert.equal(push.error, "push_failed");
    assert.match(push.detail, /--allow-file-remotes/);
  }),
);

Deno.test(
  "batch_commit commits in a session's worktree, and takes a submodule's new commit",
  scene(async (server, repo, dir) => {
    const library = makeRepo(join(dir, "library"));
    repo.git("submodule", "--quiet", "add", library.dir, "lib");
    repo.git("commit", "-qm", "Add lib");
    const inside = repo.at(join(repo.dir, "lib"));
    inside.commit("Inside", { "i.txt": "i\n" });
    const bump = await server.payload("batch_commit", { commits: [{ message: "bump", files: ["lib"] }] });
    assert.equal(bump.ok, true, JSON.stringify(bump));
    assert.equal(repo.git("rev-parse", "HEAD:lib"), inside.git("rev-parse", "HEAD"));
    const { worktreePath } = await server.payload("create_worktree", { sessionId: "work" });
    repo.at(worktreePath).write("s.txt", "s\n");
    const { ok } = await server.payload("batch_commit", {
      sessionId: "work",
      commits: [{ message: "in the session", files: ["s.txt"] }],
    });
    assert.equal(ok, true);
    assert.equal(repo.git("log", "-1", "--format=%s", "session-work"), "in the session");
    assert.equal(repo.git("log", "-1", "--format=%s", "main"), "bump");
  }),
);

Deno.test(
  "batch_commit calls on one repository line up: no commit is lost",
  scene(async (server, repo, dir) => {
    const calls = 8;
    for (let n = 0; n < calls; n++) repo.write(`f-${n}.txt`, `${n}\n`);
    const call = (on: Server, n: number) =>
      on.payload("batch_commit", {
        workspaceRoot: repo.dir,
        commits: [{ message: `c${n}`, files: [`f-${n}.txt`] }],
      });
    const { Server: Another } = await import("../support/server.ts");
    const other = await Another.connect({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] });
    const all = await Promise.all(Array.from({ length: calls }, (_, n) => call(n % 2 ? server : other, n)));
    await other.close();
    assert.ok(all.every(({ ok }) => ok));
    assert.equal(repo.git("rev-list", "--count", "HEAD"), String(calls + 1));
    assert.equal(repo.git("status", "--porcelain"), "");
  }),
);

Deno.test(
  "batch_commit refuses arguments it cannot use",
  scene(async (server, repo) => {
    const bad = [
      {},
      { commits: [] },
      { commits: [{ message: "", files: ["a.txt"] }] },
      { commits: [{ message: "m", files: [] }] },
      { commits: [{ message: "m", files: ["a.txt"], surplus: 1 }] },
      { commits: [{ message: "m", files: [{ path: "a.txt", lines: { from: 0, to: 1 } }] }] },
      { commits: Array.from({ length: 51 }, () => ({ message: "m", files: ["a.txt"] })) },
      { commits: [{ message: "m", files: ["a.txt"] }], push: "force" },
      { commits: [{ message: "m", files: ["a.txt"] }], allWorkspaceRoots: true },
    ];
    for (const args of bad) {
      assert.equal(
        (await refused(server, "batch_commit", args)).error,
        "invalid_arguments",
        JSON.stringify(args),
      );
    }
    repo.write("a.txt", "x\n");
    const blank = await server.payload("batch_commit", { commits: [{ message: " \n", files: ["a.txt"] }] });
    assert.equal(blank.results[0].error, "commit_failed");
    assert.match(blank.results[0].detail, /empty commit message/);
    const long = "long\n\n" + "x".repeat(1_000_000);
    const { ok, results } = await server.payload("batch_commit", {
      commits: [{ message: long, files: ["a.txt"] }],
    });
    assert.equal(ok, true);
    assert.ok(results[0].message.length < 200);
    assert.equal(repo.git("log", "-1", "--format=%B"), long);
  }),
);
