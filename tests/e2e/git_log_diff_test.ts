// deno-lint-ignore-file no-sync-fn-in-async-fn -- a scene is set for one reader, who waits
/** git_log and git_diff_summary over the real transport: what their contract says. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { LEGACY, MODERN, withServer } from "../support/server.ts";
import { refused, scene } from "../support/scene.ts";

// deno-lint-ignore no-explicit-any -- answers of any shape
type Answer = Record<string, any>;

function dated(
  repo: Repo,
  daysAgo: number,
  message: string,
  files: Record<string, string>,
  author = "Tester <tester@example.com>",
) {
  const date = new Date(Date.now() - daysAgo * 86_400_000).toISOString();
  for (const [file, content] of Object.entries(files)) repo.write(file, content);
  repo.git("add", "--all");
  // The committer date is what --since goes by, and git takes it from the environment alone.
  const env = {
    PATH: Deno.env.get("PATH") ?? "",
    HOME: "/nonexistent",
    GIT_COMMITTER_DATE: date,
    GIT_COMMITTER_NAME: "T",
    GIT_COMMITTER_EMAIL: "t@example.com",
  };
  const args = ["commit", "-q", "--allow-empty", "-m", message, `--author=${author}`, `--date=${date}`];
  const { success } = new Deno.Command("git", { args, cwd: repo.dir, env, clearEnv: true }).outputSync();
  assert.ok(success);
}

for (const era of [LEGACY, MODERN] as const) {
  Deno.test(
    `git_log answers as the contract shows (${era})`,
    scene(async (server, repo) => {
      dated(
        repo,
        0.5,
        'feat(x): 100% "done" | a',
        { "b.txt": "1\n2\n", "a.txt": "one\nthree\n" },
        "Damon <d@example.com>",
      );
      dated(repo, 0.4, "empty", {});
      const { groups, more } = await server.payload("git_log");
      assert.equal(more, undefined);
      const [{ commits, ...group }] = groups;
      assert.deepEqual(group, { workspace_root: repo.dir, repo: "repo", branch: "main" });
      const shaFull = repo.git("rev-parse", "HEAD~1");
      const date = repo.git("log", "-1", "--format=%aI", "HEAD~1");
      assert.deepEqual(commits[1], {
        sha7: shaFull.slice(0, 7),
        shaFull,
        subject: 'feat(x): 100% "done" | a',
        author: "Damon",
        email: "d@example.com",
        date,
        ageRelative: "12h ago",
        filesChanged: 2,
        insertions: 2,
        deletions: 1,
      });
      assert.deepEqual(Object.keys(commits[0]), [
        "sha7",
        "shaFull",
        "subject",
        "author",
        "email",
        "date",
        "ageRelative",
      ]);
      assert.equal(commits.length, 3);
    }, { era }),
  );
}

Deno.test(
  "git_log filters by time, path, message, author and branch",
  scene(async (server, _repo, dir) => {
    const repo = _repo.at(join(dir, "dated"));
    Deno.mkdirSync(repo.dir);
    repo.git("init", "--quiet", "--initial-branch=main");
    dated(repo, 30, "Old", { "old.txt": "o\n" });
    dated(repo, 3, "Fix: the THING", { "src/a b.txt": "x\n" }, "Ann Other <ann@example.org>");
    repo.git("branch", "feature/ü");
    dated(repo, 2, "Docs", { "docs/new\nline.md": "d\n", "-dash": "d\n" });
    const subjects = async (args: Answer) => {
      const [group] = (await server.payload("git_log", { workspaceRoot: repo.dir, ...args })).groups;
      assert.equal(group.error, undefined, JSON.stringify(group));
      return group.commits.map(({ subject }: Answer) => subject);
    };
    assert.deepEqual(await subjects({}), ["Docs", "Fix: the THING"]);
    assert.deepEqual(await subjects({ since: "10 weeks ago" }), ["Docs", "Fix: the THING", "Old"]);
    assert.deepEqual(await subjects({ since: "60.hours" }), ["Docs"]);
    assert.deepEqual(await subjects({ grep: "^fix.*thing$" }), ["Fix: the THING"]);
    assert.deepEqual(await subjects({ grep: "--all" }), []);
    assert.deepEqual(await subjects({ author: "ann@example" }), ["Fix: the THING"]);
    assert.deepEqual(await subjects({ author: "-x" }), []);
    assert.deepEqual(await subjects({ paths: ["src/a b.txt"] }), ["Fix: the THING"]);
    assert.deepEqual(await subjects({ paths: ["src", "docs/new\nline.md"] }), ["Docs", "Fix: the THING"]);
    assert.deepEqual(await subjects({ paths: ["-dash"] }), ["Docs"]);
    assert.deepEqual(await subjects({ paths: ["*.md"] }), []);
    assert.deepEqual(await subjects({ branch: "feature/ü" }), ["Fix: the THING"]);
    assert.deepEqual(await subjects({ branch: "HEAD~2..HEAD" }), ["Docs", "Fix: the THING"]);
    assert.deepEqual(await subjects({ branch: "HEAD~1", maxCommits: 1 }), ["Fix: the THING"]);
    const [group] =
      (await server.payload("git_log", { workspaceRoot: repo.dir, branch: "feature/ü" })).groups;
    assert.equal(group.branch, "feature/ü");
  }),
);

Deno.test(
  "git_log counts what it leaves out, and skip pages through it",
  scene(async (server, repo) => {
    for (let n = 1; n <= 24; n++) repo.git("commit", "-q", "--allow-empty", "-m", `Commit ${n}`);
    const first = await server.payload("git_log", { maxCommits: 10 });
    assert.deepEqual([first.groups[0].truncated, first.groups[0].omittedCount], [true, 15]);
    assert.match(first.more, /skip/);
    const seen = new Set<string>();
    for (let skip = 0, left = 1; left > 0;) {
      const [group] = (await server.payload("git_log", { maxCommits: 10, skip })).groups;
      for (const { shaFull } of group.commits) seen.add(shaFull);
      skip += group.commits.length;
      left = group.omittedCount ?? 0;
    }
    assert.equal(seen.size, 25);
    const { content } = await server.call("git_log", { maxCommits: 24 });
    assert.match(content[0].text, /_\(truncated — 1 more commit\(s\) not shown\)_/);
  }),
);

Deno.test(
  "git_log uses the mailmap, leaves figures of merges out, and keeps odd subjects whole",
  scene(async (server, repo) => {
    repo.commit("Map", { ".mailmap": "Right Name <right@example.com> <wrong@example.com>\n" });
    dated(repo, 0, "\u0001 odd %H\tsubject", { "x.txt": "x\n" }, "Wrong <wrong@example.com>");
    repo.git("checkout", "--quiet", "-b", "side", "HEAD~1");
    repo.commit("Side", { "s.txt": "s\n" });
    repo.git("checkout", "--quiet", "main");
    repo.git("merge", "--quiet", "--no-ff", "-m", "A merge", "side");
    const { commits } = (await server.payload("git_log")).groups[0];
    const by = (words: string) => commits.find(({ subject }: Answer) => subject.includes(words));
    assert.deepEqual([by("odd").author, by("odd").email], ["Right Name", "right@example.com"]);
    // Control characters have no business in an answer.
    assert.equal(by("odd").subject, " odd %H\tsubject");
    assert.equal(by("A merge").filesChanged, undefined);
  }),
);

Deno.test("git_log: an error belongs to its group, several roots keep their order", () =>
  withTemp(async (dir) => {
    const [one, two] = ["one", "two"].map((name) => makeRepo(join(dir, name)));
    two.git("branch", "only-here");
    const empty = join(dir, "empty");
    one.git("init", "--quiet", "--initial-branch=main", empty);
    const plain = join(dir, "plain");
    Deno.mkdirSync(plain);
    await withServer({ cwd: dir, roots: [one.dir, plain, empty, two.dir] }, async (server) => {
      const all = (await server.payload("git_log", { allWorkspaceRoots: true })).groups;
      assert.deepEqual(all.map(({ repo, error }: Answer) => [repo, error]), [
        ["one", undefined],
        ["plain", "not_a_git_repo"],
        ["empty", undefined],
        ["two", undefined],
      ]);
      assert.deepEqual(all[2].commits, []);
      assert.equal(all[1].commits, undefined);
      const branch =
        (await server.payload("git_log", { allWorkspaceRoots: true, branch: "only-here" })).groups;
      assert.deepEqual(branch.map(({ error }: Answer) => error), [
        "git_log_failed",
        "not_a_git_repo",
        "git_log_failed",
        undefined,
      ]);
      const { content } = await server.call("git_log", { rootIndex: 1 });
      assert.match(content[0].text, /^# Git log\n\n### .*plain\n_error: not_a_git_repo_/);
      for (
        const since of [
          "--output=x",
          "$(id)",
          "7.days;id",
          "a|b",
          "bogus!!",
          "yesterdayish",
          "\n",
          "1.day\n2",
          "x".repeat(100),
        ]
      ) {
        if (since.trim() === "") continue;
        const { error, since: told } = await refused(server, "git_log", { since });
        assert.deepEqual([error, told], ["invalid_since", since], since);
      }
      for (
        const since of [
          "",
          "7.days",
          "2.weeks.ago",
          "48.hours",
          "2026-04-01T00:00:00Z",
          "2026-04-01 12:30:00 +0200",
          "yesterday",
          "last friday",
          "3 days ago",
          "Apr 12 2026",
          "noon",
          "12 April",
          "@1700000000",
          "1.month.2.days.ago",
          "5pm yesterday",
          "never",
        ]
      ) {
        await server.payload("git_log", { since });
      }
      for (const path of ["a;b", "a|b", "$(id)", "`id`", "a>b", "a&b", "a\0b"]) {
        const { error } = await refused(server, "git_log", { paths: ["ok", path] });
        assert.equal(error, "invalid_paths", path);
      }
      const out = (await server.payload("git_log", { paths: ["../two"] })).groups[0];
      assert.equal(out.error, "path_escapes_repository");
      for (const bad of ["--output=/tmp/x", "-x", "a b", "@{-1}", "a..b..c"]) {
        assert.equal((await refused(server, "git_log", { branch: bad })).error, "unsafe_ref_token", bad);
      }
    });
  }));

for (const era of [LEGACY, MODERN] as const) {
  Deno.test(
    `git_diff_summary answers as the contract shows (${era})`,
    scene(async (server, repo) => {
      repo.commit("More", { "src/foo.ts": "const x = 1;\n", "yarn.lock": "a\n", "pkg/yarn.lock": "a\n" });
      repo.write("src/foo.ts", "const x = 2;\n");
      repo.write("yarn.lock", "b\n");
      repo.write("pkg/yarn.lock", "b\n");
      repo.write("untracked.txt", "u\n");
      const result = await server.call("git_diff_summary");
      assert.deepEqual(result.structuredContent, {
        range: "unstaged changes",
        totalFiles: 1,
        totalAdditions: 1,
        totalDeletions: 1,
        files: [{
          path: "src/foo.ts",
          status: "modified",
          additions: 1,
          deletions: 1,
          truncated: false,
          diff: "@@ -1 +1 @@\n-const x = 1;\n+const x = 2;",
        }],
        excludedFiles: ["pkg/yarn.lock", "yarn.lock"],
      });
      assert.equal(
        result.content[0].text,
        "# Diff: unstaged changes\n\n**1 file changed** (+1 −1), 2 file(s) excluded (pkg/yarn.lock, yarn.lock)\n\n" +
          "## src/foo.ts (+1 −1, modified)\n```diff\n@@ -1 +1 @@\n-const x = 1;\n+const x = 2;\n```",
      );
      const whole = await server.payload("git_diff_summary", { excludePatterns: [] });
      assert.equal(whole.totalFiles, 3);
    }, { era }),
  );
}

Deno.test(
  "git_diff_summary knows every range: staged, HEAD, single refs, two and three dots",
  scene(async (server, repo) => {
    const files = async (range?: string) => {
      const payload = await server.payload("git_diff_summary", range === undefined ? {} : { range });
      return [payload.range, ...payload.files.map(({ path }: Answer) => path)];
    };
    const root = repo.git("rev-parse", "--short=7", "HEAD");
    assert.deepEqual(await files("HEAD"), [`HEAD (last commit ${root})`, "a.txt"]);
    repo.git("checkout", "--quiet", "-b", "staged");
    repo.commit("On staged", { "s.txt": "s\n" });
    repo.git("checkout", "--quiet", "main");
    repo.commit("On main", { "m.txt": "m\n" });
    repo.write("i.txt", "i\n");
    repo.git("add", "i.txt");
    repo.write("a.txt", "w\n");
    assert.deepEqual(await files(), ["unstaged changes", "a.txt"]);
    assert.deepEqual(await files("  "), ["unstaged changes", "a.txt"]);
    for (const word of ["staged", "CACHED", " Staged "]) {
      assert.deepEqual(await files(word), ["staged changes", "i.txt"]);
    }
    assert.deepEqual((await files("head")).slice(1), ["m.txt"]);
    assert.deepEqual(await files("main"), ["main (working tree against it)", "a.txt", "i.txt"]);
    assert.deepEqual((await files("refs/heads/staged")).slice(1), ["a.txt", "i.txt", "m.txt", "s.txt"]);
    assert.deepEqual(await files("refs/heads/staged..main"), ["refs/heads/staged..main", "m.txt", "s.txt"]);
    assert.deepEqual(await files("refs/heads/staged...main"), ["refs/heads/staged...main", "m.txt"]);
    assert.deepEqual(await files("HEAD~1..HEAD"), ["HEAD~1..HEAD", "m.txt"]);
    assert.deepEqual(await files("HEAD~1.."), ["HEAD~1..", "m.txt"]);
    for (
      const bad of [
        "--output=/tmp/x",
        "-O",
        "a b",
        "a..b..c",
        "..",
        "a...b...c",
        "@{u}",
        "main;id:",
        "HEAD --",
        "a\nb",
      ]
    ) {
      const { error, range } = await refused(server, "git_diff_summary", { range: bad });
      assert.deepEqual([error, range], ["unsafe_range_token", bad]);
    }
    for (const unknown of ["nope", "nope..main", "main...nope"]) {
      const { error, detail } = await refused(server, "git_diff_summary", { range: unknown });
      assert.equal(error, "git_diff_failed");
      assert.match(detail as string, /nope/);
    }
  }),
);

Deno.test(
  "git_diff_summary tells every kind of change, whatever the names and the user's diff settings",
  scene(async (server, repo) => {
    const text = Array.from({ length: 20 }, (_, n) => `line ${n}\n`).join("");
    repo.commit("Base", {
      "old name.txt": text,
      "gone.txt": "g\n",
      "type.txt": "t\n",
      "mode.sh": "m\n",
      "bin.dat": "a\0b",
      "a b/x b/y.txt": "x\n",
      'quo"te.txt': "q\n",
      "ünï.txt": "u\n",
      "new\nline.txt": "n\n",
      "looks.txt": "keep\n",
      "no-newline.txt": "x",
    });
    repo.git("mv", "old name.txt", "sub b/new name.txt".replace("sub b/", "moved b "));
    repo.write("moved b new name.txt", text.replace("line 3\n", "LINE 3\n"));
    Deno.removeSync(join(repo.dir, "gone.txt"));
    Deno.removeSync(join(repo.dir, "type.txt"));
    Deno.symlinkSync("a.txt", join(repo.dir, "type.txt"));
    Deno.chmodSync(join(repo.dir, "mode.sh"), 0o755);
    repo.write("bin.dat", "a\0c");
    repo.write("a b/x b/y.txt", "y\n");
    repo.write('quo"te.txt', "Q\n");
    repo.write("ünï.txt", "U\n");
    repo.write("new\nline.txt", "N\n");
    repo.write("looks.txt", "keep\n-- a/looks.txt\n++ b/looks.txt\ndiff --git a/x b/x\n@@ -1 +1 @@\n");
    repo.write("no-newline.txt", "y");
    repo.write("added.txt", "new\n");
    repo.git("add", "--all");
    const settings = [
      ["diff.noprefix", "true"],
      ["diff.mnemonicPrefix", "true"],
      ["diff.context", "0"],
      ["diff.renames", "copies"],
      ["color.ui", "always"],
      ["diff.submodule", "log"],
      ["diff.relative", "true"],
      ["diff.interHunkContext", "9"],
      ["diff.suppressBlankEmpty", "true"],
      ["diff.wordRegex", "."],
    ];
    let first: Answer | undefined;
    for (const [key, value] of [["x.y", "z"], ...settings]) {
      repo.git("config", key, value);
      const payload = await server.payload("git_diff_summary", { range: "staged", maxFiles: 100 });
      first ??= payload;
      assert.deepEqual(payload, first, key);
    }
    const by = (path: string) => first!.files.find((file: Answer) => file.path === path);
    const moved = by("moved b new name.txt");
    assert.deepEqual([moved.status, moved.oldPath, moved.additions, moved.deletions], [
      "renamed",
      "old name.txt",
      1,
      1,
    ]);
    assert.match(moved.diff, /^@@ /);
    assert.deepEqual([by("gone.txt").status, by("added.txt").status, by("mode.sh").status], [
      "deleted",
      "added",
      "modified",
    ]);
    assert.equal(by("mode.sh").diff, "");
    assert.deepEqual([by("bin.dat").binary, by("bin.dat").diff, by("bin.dat").additions], [true, "", 0]);
    assert.equal(
      by("type.txt").diff,
      "@@ -1 +0,0 @@\n-t\n@@ -0,0 +1 @@\n+a.txt\n\\ No newline at end of file",
    );
    assert.equal(by("a b/x b/y.txt").diff, "@@ -1 +1 @@\n-x\n+y");
    for (const odd of ['quo"te.txt', "ünï.txt", "new\nline.txt"]) assert.equal(by(odd).additions, 1, odd);
    assert.equal(
      by("looks.txt").diff,
      "@@ -1 +1,5 @@\n keep\n+-- a/looks.txt\n+++ b/looks.txt\n+diff --git a/x b/x\n+@@ -1 +1 @@",
    );
    assert.equal(
      by("no-newline.txt").diff,
      "@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file",
    );
    const sums = repo.git("-c", "diff.renames=true", "diff", "--cached", "--numstat", "-M").split("\n").map((
      line,
    ) => line.split("\t"));
    assert.equal(first!.totalAdditions, sums.reduce((sum, [added]) => sum + (Number(added) || 0), 0));
    assert.equal(first!.totalDeletions, sums.reduce((sum, [, removed]) => sum + (Number(removed) || 0), 0));
  }),
);

Deno.test(
  "git_diff_summary cuts by files and lines, filters by glob, and says how to get the rest",
  scene(async (server, repo) => {
    const files = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [`d${n % 2}/f${String(n).padStart(2, "0")}.ts`, "x\n"]),
    );
    repo.commit("Files", { ...files, "[id].md": "m\n" });
    for (const file of Object.keys(files)) repo.write(file, "1\n2\n3\n4\n5\n6\n7\n8\n");
    repo.write("[id].md", "changed\n");
    const cut = await server.payload("git_diff_summary", { maxFiles: 2, maxLinesPerFile: 3 });
    assert.deepEqual([cut.totalFiles, cut.totalAdditions, cut.truncatedFiles], [41, 321, 39]);
    assert.deepEqual(
      cut.files.map(({ truncated, diff }: Answer) => [truncated, diff.split("\n").length]),
      [[false, 3], [true, 3]],
    );
    assert.match(cut.more, /39 file\(s\) not shown: maxFiles=41/);
    assert.match(cut.more, /fileFilter='d0\/f00\.ts' with maxLinesPerFile=2000/);
    const one = await server.payload("git_diff_summary", { fileFilter: "d0/f00.ts", maxLinesPerFile: 2000 });
    assert.deepEqual([one.files.length, one.files[0].truncated, one.more], [1, false, undefined]);
    const count = async (fileFilter: string) =>
      (await server.payload("git_diff_summary", { fileFilter, maxFiles: 100 })).totalFiles;
    assert.deepEqual([
      await count("*.ts"),
      await count("d1/**"),
      await count("f0?.ts"),
      await count("*.{md,txt}"),
      await count("[id].md"),
    ], [40, 20, 10, 1, 1]);
    const excluded = await server.payload("git_diff_summary", { excludePatterns: ["d0/**"] });
    assert.deepEqual([excluded.totalFiles, excluded.excludedFiles.length], [21, 20]);
    for (const bad of ["*a*a*a*a*a*b", "x".repeat(300)]) {
      assert.equal(
        (await refused(server, "git_diff_summary", { fileFilter: bad })).error,
        "invalid_arguments",
      );
    }
  }),
);

Deno.test(
  "git_diff_summary in a conflict, in a repository without commits, and of a submodule",
  scene(async (server, repo, dir) => {
    const unborn = repo.at(join(dir, "unborn"));
    Deno.mkdirSync(unborn.dir);
    unborn.git("init", "--quiet");
    assert.equal(
      (await refused(server, "git_diff_summary", { workspaceRoot: unborn.dir, range: "HEAD" })).error,
      "git_diff_failed",
    );
    assert.equal((await server.payload("git_diff_summary", { workspaceRoot: unborn.dir })).totalFiles, 0);
    const library = makeRepo(join(dir, "library"));
    repo.git("submodule", "--quiet", "add", library.dir, "lib");
    repo.git("commit", "-qm", "lib");
    repo.at(join(repo.dir, "lib")).commit("Inside", { "i.txt": "i\n" });
    const bump = await server.payload("git_diff_summary");
    assert.match(
      bump.files[0].diff,
      /^@@ -1 \+1 @@\n-Subproject commit [0-9a-f]{40}\n\+Subproject commit [0-9a-f]{40}$/,
    );
    repo.git("commit", "-qam", "bump");
    repo.git("checkout", "--quiet", "-b", "other");
    repo.commit("Other", { "a.txt": "other\n" });
    repo.git("checkout", "--quiet", "main");
    repo.commit("Mine", { "a.txt": "mine\n" });
    repo.try("merge", "other");
    const conflict = await server.payload("git_diff_summary");
    assert.deepEqual(conflict.files.map(({ path, unmerged, status }: Answer) => [path, unmerged, status]), [[
      "a.txt",
      true,
      "modified",
    ]]);
  }),
);
