// deno-lint-ignore-file no-sync-fn-in-async-fn -- a scene is set for one reader, who waits
/** git_status, git_inventory and git_parity over the real transport: what their contract says. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { LEGACY, MODERN, withServer } from "../support/server.ts";
import { refused, scene } from "../support/scene.ts";

// deno-lint-ignore no-explicit-any -- answers of any shape
type Answer = Record<string, any>;

const ODD = [
  "with space.txt",
  'quo"te.txt',
  "new\nline.txt",
  "ünï.txt",
  "-dash.txt",
  "a b/c.txt",
  "tab\there.txt",
];

/** A clone with an upstream, one commit ahead and one behind. */
function diverged(repo: Repo, dir: string): Repo {
  const clone = repo.at(join(dir, "clone"));
  repo.git("clone", "--quiet", repo.dir, clone.dir);
  repo.commit("Upstream goes on", { "up.txt": "u\n" });
  clone.commit("Mine", { "mine.txt": "m\n" });
  clone.git("fetch", "--quiet");
  return clone;
}

for (const era of [LEGACY, MODERN] as const) {
  Deno.test(
    `git_status answers as the contract shows (${era})`,
    scene(async (server, repo) => {
      repo.write("a.txt", "changed\n");
      repo.write("staged.txt", "s\n");
      repo.git("add", "staged.txt");
      repo.write("new.txt", "n\n");
      const result = await server.call("git_status");
      assert.deepEqual(result.structuredContent, {
        groups: [{
          mcpRoot: repo.dir,
          repos: [{
            label: ".",
            path: repo.dir,
            statusText: "## main\n M a.txt\nA  staged.txt\n?? new.txt",
            ok: true,
            branch: "main",
            is_dirty: true,
            staged_files: ["staged.txt"],
            modified_files: ["a.txt"],
            untracked_files: ["new.txt"],
          }],
        }],
      });
      assert.equal(
        result.content[0].text,
        `# Git status\n\n## . — ${repo.dir}\n\`\`\`text\n## main\n M a.txt\nA  staged.txt\n?? new.txt\n\`\`\``,
      );
      const json = await server.call("git_status", { format: "json" });
      assert.equal(json.content[0].text, JSON.stringify(json.structuredContent));
    }, { era }),
  );
}

Deno.test(
  "git_status prints what git status --short -b prints, whatever the names and states",
  scene(async (server, repo, dir) => {
    const same = async (tree: Repo) => {
      const { groups } = await server.payload("git_status", {
        workspaceRoot: tree.dir,
        includeSubmodules: false,
      });
      const expected = tree.try("-c", "core.quotePath=false", "status", "--short", "-b").out;
      assert.equal(groups[0].repos[0].statusText, expected.trimEnd());
      return groups[0].repos[0];
    };
    for (const name of ODD) repo.write(name, name);
    await same(repo);
    repo.git("add", "--all");
    await same(repo);
    repo.git("commit", "-qm", "Odd");
    repo.git("mv", "with space.txt", "moved to.txt");
    repo.git("rm", "-q", "ünï.txt");
    repo.write("-dash.txt", "changed");
    Deno.removeSync(join(repo.dir, "tab\there.txt"));
    const row = await same(repo);
    assert.deepEqual(row.staged_files, ["moved to.txt", "ünï.txt"]);
    repo.git("commit", "-qam", "More");
    const clone = diverged(repo, dir);
    await same(clone);
    clone.git("branch", "--quiet", "--unset-upstream");
    await same(clone);
    clone.git("config", "branch.main.merge", "refs/heads/gone");
    clone.git("config", "branch.main.remote", "origin");
    await same(clone);
    clone.git("checkout", "--quiet", "--detach");
    assert.equal((await same(clone)).branch, undefined);
    const unborn = repo.at(join(dir, "unborn"));
    Deno.mkdirSync(unborn.dir);
    unborn.git("init", "--quiet", "--initial-branch=first");
    unborn.write("x", "x");
    assert.equal((await same(unborn)).branch, "first");
    repo.git("checkout", "--quiet", "-b", "other");
    repo.commit("Other", { "a.txt": "other\n", "-dash.txt": "x" });
    repo.git("checkout", "--quiet", "main");
    repo.commit("Mine", { "a.txt": "mine\n" });
    repo.git("rm", "-q", "--", "-dash.txt");
    repo.git("commit", "-qm", "Gone");
    repo.try("merge", "other");
    assert.deepEqual((await same(repo)).conflicted_files.toSorted(), ["-dash.txt", "a.txt"]);
  }),
);

Deno.test(
  "git_status is not bent by the user's status settings",
  scene(async (server, repo) => {
    repo.write("sub/new.txt", "n\n");
    const before = (await server.payload("git_status")).groups;
    for (
      const [key, value] of [
        ["status.short", "true"],
        ["status.branch", "false"],
        ["status.showStash", "true"],
        ["status.relativePaths", "false"],
        ["status.showUntrackedFiles", "no"],
        ["color.ui", "always"],
        ["core.quotePath", "true"],
        ["status.renames", "copies"],
      ]
    ) {
      repo.git("config", key, value);
    }
    assert.deepEqual((await server.payload("git_status")).groups, before);
  }),
);

Deno.test(
  "git_status looks into submodules: clean, dirty, not checked out, escaping, in order",
  scene(async (server, repo, dir) => {
    const library = makeRepo(join(dir, "library"));
    for (const name of ["z-lib", "a lib"]) repo.git("submodule", "--quiet", "add", library.dir, name);
    repo.git("commit", "-qm", "Submodules");
    repo.at(join(repo.dir, "a lib")).write("new.txt", "n\n");
    Deno.symlinkSync(library.dir, join(repo.dir, "link"));
    repo.git("config", "-f", ".gitmodules", "submodule.out.path", "../library");
    repo.git("config", "-f", ".gitmodules", "submodule.link.path", "link");
    repo.git("config", "-f", ".gitmodules", "submodule.none.path", "not-there");
    const { groups } = await server.payload("git_status");
    const rows = groups[0].repos;
    assert.deepEqual(rows.map(({ label }: Answer) => label), [
      ".",
      "z-lib",
      "a lib",
      "../library",
      "link",
      "not-there",
    ]);
    assert.deepEqual([rows[1].ok, rows[1].is_dirty, rows[1].path], [true, false, join(repo.dir, "z-lib")]);
    assert.deepEqual(rows[2].untracked_files, ["new.txt"]);
    for (const row of [rows[3], rows[4]]) {
      assert.deepEqual([row.ok, row.statusText], [false, "(submodule path escapes repository — rejected)"]);
    }
    assert.deepEqual([rows[5].ok, rows[5].statusText], [false, "(no .git — submodule not checked out?)"]);
    const without = await server.payload("git_status", { includeSubmodules: false });
    assert.equal(without.groups[0].repos.length, 1);
    // A link in place of .gitmodules is not followed.
    Deno.renameSync(join(repo.dir, ".gitmodules"), join(dir, "modules"));
    Deno.symlinkSync(join(dir, "modules"), join(repo.dir, ".gitmodules"));
    assert.equal((await server.payload("git_status")).groups[0].repos.length, 1);
  }),
);

Deno.test("git_status: several roots keep their order, and one that is none does not spoil the others", () =>
  withTemp(async (dir) => {
    const repos = ["c", "a", "b"].map((name) => makeRepo(join(dir, name)));
    const plain = join(dir, "plain");
    Deno.mkdirSync(plain);
    const bare = join(dir, "bare.git");
    repos[0].git("init", "--quiet", "--bare", bare);
    const unsafe = makeRepo(join(dir, "unsafe"));
    unsafe.git("config", "core.sshCommand", "touch /tmp/never");
    const roots = [repos[0].dir, plain, bare, repos[1].dir, unsafe.dir, repos[2].dir];
    await withServer({ cwd: dir, roots }, async (server) => {
      const result = await server.call("git_status", { allWorkspaceRoots: true });
      const { groups } = result.structuredContent;
      assert.deepEqual(groups.map(({ mcpRoot }: Answer) => mcpRoot), roots);
      assert.deepEqual(groups.map(({ repos }: Answer) => repos[0].ok), [
        true,
        false,
        false,
        true,
        false,
        true,
      ]);
      assert.match(groups[4].repos[0].statusText, /core\.sshcommand/);
      assert.match(result.content[0].text, /^# Multi-root git status\n/);
      assert.ok(
        result.content[0].text.includes(
          `\n\n### MCP root: ${plain}\n\n## ${plain} — ${plain}\nnot a git repository\n`,
        ),
      );
    });
  }));

Deno.test(
  "git_inventory answers as the contract shows: upstream, no upstream, detached, fixed",
  scene(async (server, repo, dir) => {
    const clone = diverged(repo, dir);
    const entry = async (args: Answer = {}) => {
      const payload = await server.payload("git_inventory", { workspaceRoot: clone.dir, ...args });
      assert.equal(payload.inventories[0].workspace_root, clone.dir);
      return [payload.inventories[0], payload.inventories[0].entries[0]];
    };
    const [auto, tracked] = await entry();
    assert.equal(auto.upstream, undefined);
    assert.deepEqual(tracked, {
      label: ".",
      path: clone.dir,
      upstreamMode: "auto",
      branchStatus: "## main...origin/main [ahead 1, behind 1]",
      headAbbrev: "main",
      upstreamRef: "origin/main",
      ahead: "1",
      behind: "1",
      upstreamNote: "tracking origin/main",
    });
    clone.git("checkout", "--quiet", "-b", "alone", "--no-track");
    assert.equal((await entry())[1].upstreamNote, "no upstream configured");
    const [fixed, against] = await entry({ remote: " origin ", branch: "main" });
    assert.deepEqual(fixed.upstream, { mode: "fixed", remote: "origin", branch: "main" });
    assert.deepEqual(
      [against.upstreamMode, against.upstreamRef, against.ahead, against.behind, against.upstreamNote],
      ["fixed", "origin/main", "1", "1", "tracking origin/main"],
    );
    const [, gone] = await entry({ remote: "origin", branch: "nöpe" });
    assert.deepEqual(
      [gone.upstreamRef, gone.ahead, gone.upstreamNote],
      ["origin/nöpe", undefined, "(no local ref origin/nöpe or unreadable)"],
    );
    clone.git("checkout", "--quiet", "--detach");
    const [, detached] = await entry();
    assert.deepEqual(
      [detached.headAbbrev, detached.detached, detached.upstreamNote, detached.branchStatus],
      ["HEAD", true, "detached HEAD — no upstream", "## HEAD (no branch)"],
    );
    clone.git("checkout", "--quiet", "main");
    clone.git("update-ref", "-d", "refs/remotes/origin/main");
    assert.equal((await entry())[1].upstreamNote, "upstream origin/main (counts unreadable)");
    const { content } = await server.call("git_inventory", { workspaceRoot: repo.dir });
    assert.equal(
      content[0].text,
      `# Git inventory\n\n### ${repo.dir}\nupstream: @{u}\n\n## . — ${repo.dir}\n` +
        "```text\n## main\nupstream: no upstream configured\n```",
    );
    for (const args of [{ remote: "origin" }, { branch: "main" }, { remote: "origin", branch: " " }]) {
      assert.equal((await refused(server, "git_inventory", args)).error, "remote_branch_mismatch");
    }
    for (const bad of ["--x", "a b", "a..b", "main~1", "@{u}", "a;b:"]) {
      assert.equal(
        (await refused(server, "git_inventory", { remote: "origin", branch: bad })).error,
        "invalid_remote_or_branch",
        bad,
      );
    }
  }),
);

Deno.test(
  "git_inventory lists nested roots in order, each once, says why one is none, and cuts at maxRoots",
  scene(async (server, repo, dir) => {
    for (const name of ["n1", "n2", "..foo"]) makeRepo(join(repo.dir, name));
    Deno.mkdirSync(join(repo.dir, "plain"));
    Deno.symlinkSync(dir, join(repo.dir, "out"));
    const nestedRoots = ["n2", "missing", "../repo", "../../etc", "out", "n1", "n2", "..foo", "a.txt"];
    const { inventories } = await server.payload("git_inventory", { nestedRoots });
    assert.deepEqual(inventories[0].entries.map(({ label, skipReason }: Answer) => [label, skipReason]), [
      ["n2", undefined],
      ["missing", "(not a git work tree — skip)"],
      ["../repo", undefined],
      ["../../etc", "(path escapes git toplevel — rejected)"],
      ["out", "(path escapes git toplevel — rejected)"],
      ["n1", undefined],
      ["..foo", undefined],
      ["a.txt", "(not a git work tree — skip)"],
    ]);
    const cut = (await server.payload("git_inventory", { nestedRoots, maxRoots: 3 })).inventories[0];
    assert.deepEqual([cut.nestedRootsTruncated, cut.nestedRootsOmittedCount, cut.entries.length], [
      true,
      5,
      3,
    ]);
    const none = await server.payload("git_inventory", { workspaceRoot: dir });
    assert.deepEqual(none.inventories, [{
      workspace_root: dir,
      entries: [{ label: dir, path: dir, upstreamMode: "auto", skipReason: "(not a git repository)" }],
    }]);
  }),
);

Deno.test(
  "git_inventory and git_parity take names of every kind",
  scene(async (server, repo) => {
    const names = ["with space", 'quo"te', "new\nline", "ünï", "-dash", "a b/c", "tab\there"];
    for (const name of names) makeRepo(join(repo.dir, name)).write(`${name.replaceAll("/", " ")}.txt`, "x\n");
    const { inventories } = await server.payload("git_inventory", { nestedRoots: names });
    assert.deepEqual(inventories[0].entries.map(({ label, headAbbrev }: Answer) => [label, headAbbrev]), [
      ...names.map((name) => [name, "main"]),
    ]);
    const pairs = names.map((name) => ({ left: names[0], right: name }));
    const { parity } = await server.payload("git_parity", { pairs });
    assert.ok(
      parity[0].pairs.every(({ error, sha, leftSha }: Answer) => error === undefined && (sha ?? leftSha)),
    );
  }),
);

Deno.test(
  "git_inventory and git_parity take presets: alone, replaced by and merged with the call's own lists",
  scene(async (server, repo) => {
    const [one, two] = ["one", "two"].map((name) => makeRepo(join(repo.dir, name)));
    two.commit("Differs", { "x.txt": "x\n" });
    one.git("checkout", "--quiet", "-b", "side");
    const pair = { left: "one", right: "two", label: "both" };
    repo.write(
      ".rethunk/git-mcp-presets.json",
      JSON.stringify({
        schemaVersion: "1",
        presets: { p: { nestedRoots: ["one"], parityPairs: [pair] }, empty: {} },
      }),
    );
    const labels = async (args: Answer) => {
      const [inventory] = (await server.payload("git_inventory", { preset: "p", ...args })).inventories;
      assert.equal(inventory.presetSchemaVersion, "1");
      return inventory.entries.map(({ label }: Answer) => label);
    };
    assert.deepEqual(await labels({}), ["one"]);
    assert.deepEqual(await labels({ nestedRoots: [] }), ["one"]);
    assert.deepEqual(await labels({ nestedRoots: ["two"] }), ["two"]);
    assert.deepEqual(await labels({ nestedRoots: ["two", "one"], presetMerge: true }), ["one", "two"]);
    assert.deepEqual(await labels({ preset: "empty" }), ["."]);
    const pairs = async (args: Answer) =>
      (await server.payload("git_parity", { preset: "p", ...args })).parity[0].pairs.map((
        { label }: Answer,
      ) => label);
    assert.deepEqual(await pairs({}), ["both"]);
    assert.deepEqual(await pairs({ pairs: [{ left: ".", right: "." }] }), [". / ."]);
    assert.deepEqual(
      await pairs({ pairs: [{ ...pair, label: "again" }, { left: ".", right: "one" }], presetMerge: true }),
      ["both", ". / one"],
    );
    const missing = await refused(server, "git_inventory", { preset: "toString" });
    assert.deepEqual([missing.error, missing.preset], ["preset_not_found", "toString"]);
    assert.equal(missing.presetFile, join(repo.dir, ".rethunk/git-mcp-presets.json"));
    assert.equal((await refused(server, "git_parity", { preset: "empty" })).error, "no_pairs");
  }),
);

Deno.test(
  "git_parity answers as the contract shows: match, mismatch, errors",
  scene(async (server, repo, dir) => {
    const left = makeRepo(join(repo.dir, "left"));
    const right = repo.at(join(repo.dir, "right"));
    left.git("clone", "--quiet", left.dir, right.dir);
    const sha = left.git("rev-parse", "HEAD");
    const compare = async (l: string, r: string, label?: string) =>
      (await server.payload("git_parity", { pairs: [{ left: l, right: r, ...(label ? { label } : {}) }] }))
        .parity[0];
    assert.deepEqual(await compare("left", "right"), {
      workspace_root: repo.dir,
      status: "OK",
      pairs: [{ label: "left / right", leftPath: left.dir, rightPath: right.dir, match: true, sha }],
    });
    const other = right.commit("Goes on", { "r.txt": "r\n" });
    const differing = await compare("left", right.dir, "sides");
    assert.deepEqual([differing.status, differing.pairs], ["MISMATCH", [{
      label: "sides",
      leftPath: left.dir,
      rightPath: right.dir,
      match: false,
      leftSha: sha,
      rightSha: other,
    }]]);
    assert.equal((await compare("left", "../..")).pairs[0].error, "path escapes git toplevel — rejected");
    const unborn = join(repo.dir, "unborn");
    repo.git("init", "--quiet", unborn);
    assert.match(
      (await compare("unborn", "missing")).pairs[0].error,
      /^left: .*\nright: \(not a git work tree — skip\)$/,
    );
    repo.write("d1/x", "x");
    repo.write("d2/x", "x");
    assert.equal((await compare("d1", "d2")).pairs[0].sameRepository, true);
    assert.equal((await refused(server, "git_parity")).error, "no_pairs");
    const { content } = await server.call("git_parity", { pairs: [{ left: "left", right: "left" }] });
    assert.match(
      content[0].text,
      /^# Git HEAD parity\n\n.*\nstatus: OK\n\n## left \/ left — OK\n```text\nSHA: /,
    );
    const none = await server.payload("git_parity", {
      workspaceRoot: dir,
      pairs: [{ left: "a", right: "b" }],
    });
    assert.deepEqual([none.parity[0].pairs[0].label, none.parity[0].status], ["—", "MISMATCH"]);
    assert.match(none.parity[0].pairs[0].error, /not_a_git_repository/);
  }),
);

Deno.test(
  "list_presets shows both layouts, and names the place of a fault",
  scene(async (server, repo, dir) => {
    const file = join(repo.dir, ".rethunk", "git-mcp-presets.json");
    const list = async () => (await server.payload("list_presets")).roots[0];
    assert.deepEqual(await list(), {
      workspaceRoot: repo.dir,
      gitTop: repo.dir,
      presetFile: file,
      fileExists: false,
      presets: [],
    });
    const write = (content: unknown) =>
      repo.write(
        ".rethunk/git-mcp-presets.json",
        typeof content === "string" ? content : JSON.stringify(content),
      );
    const entry = {
      nestedRoots: ["a", "b"],
      parityPairs: [{ left: "a", right: "b" }],
      workspaceRootHint: "repo",
    };
    const row = { name: "x", nestedRootsCount: 2, parityPairsCount: 1, workspaceRootHint: "repo" };
    write({ $schema: "s.json", schemaVersion: "1", presets: { x: entry } });
    assert.deepEqual([(await list()).presets, (await list()).presetSchemaVersion], [[row], "1"]);
    write({ $schema: "s.json", x: entry });
    assert.deepEqual([(await list()).presets, (await list()).presetSchemaVersion], [[row], undefined]);
    // Names that are keys of the layouts themselves.
    write({ presets: { nestedRoots: { nestedRoots: ["a"] } } });
    assert.deepEqual((await list()).presets.map(({ name }: Answer) => name), ["nestedRoots"]);
    write({ presets: { nestedRoots: ["a"] } });
    assert.deepEqual((await list()).presets.map(({ name }: Answer) => name), ["presets"]);
    write({ presets: {} });
    assert.deepEqual((await list()).presets, []);
    write("\ufeff" + JSON.stringify({ presets: { x: entry } }));
    assert.equal((await list()).presets.length, 1);
    const faults: [unknown, string, RegExp][] = [
      ['{ "presets": {\n  oops }', "invalid_json", /line 2/],
      ["[]", "invalid_json", /root must be a JSON object/],
      ["", "invalid_json", /./],
      [{}, "schema", /at least one preset/],
      [{ schemaVersion: "2", presets: {} }, "schema", /schemaVersion/],
      [{ presets: {}, extra: 1 }, "schema", /extra/],
      [{ presets: { x: { nested: [] } } }, "schema", /presets\.x/],
      [{ x: { nestedRoots: "a" } }, "schema", /x\.nestedRoots/],
      [{ x: { parityPairs: [{ left: "a" }] } }, "schema", /x\.parityPairs\.0\.right/],
      [{ x: { parityPairs: [{ left: "a", right: "b", more: 1 }] } }, "schema", /more/],
    ];
    for (const [content, kind, words] of faults) {
      write(content);
      const { fileExists, presets, error } = await list();
      assert.deepEqual([fileExists, presets, error.error, error.kind, error.presetFile], [
        true,
        [],
        "preset_file_invalid",
        kind,
        file,
      ]);
      assert.match(error.message, words);
      if (kind === "schema") assert.ok(error.issues.length > 0);
      const refusal = await refused(server, "git_inventory", { preset: "x" });
      assert.deepEqual([refusal.error, refusal.kind], ["preset_file_invalid", kind]);
    }
    Deno.removeSync(file);
    Deno.writeTextFileSync(join(dir, "secret"), "SECRET");
    Deno.symlinkSync(join(dir, "secret"), file);
    const linked = await list();
    assert.equal(linked.error.kind, "invalid_json");
    assert.ok(!JSON.stringify(linked).includes("SECRET"));
    const none = (await server.payload("list_presets", { workspaceRoot: dir })).roots[0];
    assert.deepEqual([none.gitTop, none.error.error], [null, "not_a_git_repository"]);
  }),
);
