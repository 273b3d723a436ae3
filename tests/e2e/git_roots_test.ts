// deno-lint-ignore-file no-sync-fn-in-async-fn -- a scene is set for one reader, who waits
/** Which roots a call of the git family means, and where it may act at all: both eras, real client roots. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { LEGACY, MODERN, Server, withServer } from "../support/server.ts";
import { refused } from "../support/scene.ts";

type Era = typeof LEGACY | typeof MODERN;

async function rootsOf(server: Server, args: Record<string, unknown> = {}): Promise<string[]> {
  const { groups } = await server.payload("git_status", args);
  return groups.map(({ mcpRoot }: { mcpRoot: string }) => mcpRoot);
}

/** Three repositories and a directory that is none, below one directory. */
function several(dir: string): { one: Repo; two: Repo; three: Repo; plain: string } {
  const plain = join(dir, "plain");
  Deno.mkdirSync(plain);
  return {
    one: makeRepo(join(dir, "one")),
    two: makeRepo(join(dir, "two")),
    three: makeRepo(join(dir, "three")),
    plain,
  };
}

for (const era of [LEGACY, MODERN] as Era[]) {
  Deno.test(`without flags the client's roots are the list and the jail (${era})`, () =>
    withTemp(async (dir) => {
      const { one, two, three, plain } = several(dir);
      const roots = [two.dir, "https://example.com/x", plain, one.dir];
      await withServer({ cwd: dir, era, roots }, async (server) => {
        assert.deepEqual(await rootsOf(server), [two.dir]);
        assert.deepEqual(await rootsOf(server, { allWorkspaceRoots: true }), [two.dir, plain, one.dir]);
        assert.deepEqual(await rootsOf(server, { rootIndex: 2 }), [one.dir]);
        assert.deepEqual(await rootsOf(server, { rootIndex: 0, allWorkspaceRoots: true }), [two.dir]);
        assert.deepEqual(await rootsOf(server, { workspaceRoot: one.dir, rootIndex: 0 }), [one.dir]);
        assert.deepEqual(await rootsOf(server, { workspaceRoot: "  " }), [two.dir]);
        const past = await refused(server, "git_status", { rootIndex: 3 });
        assert.deepEqual([past.error, past.rootIndex, past.rootCount], ["root_index_out_of_range", 3, 3]);
        const outside = await refused(server, "git_status", { workspaceRoot: three.dir });
        assert.equal(outside.error, "root_not_allowed");
        assert.ok(JSON.stringify(outside.allowedRoots).includes(two.dir));
        const { groups } = await server.payload("git_status", { rootIndex: 1 });
        assert.deepEqual(groups[0].repos, [
          { label: plain, path: plain, statusText: "not a git repository", ok: false },
        ]);
        // A session belongs to the client's first root as well.
        const { worktreePath } = await server.payload("create_worktree", { sessionId: "here" });
        assert.ok(worktreePath.startsWith(two.dir));
        assert.deepEqual(await rootsOf(server, { sessionId: "HERE" }), [worktreePath]);
      });
    }));

  Deno.test(`with flags the client's roots select inside them and never widen them (${era})`, () =>
    withTemp(async (dir) => {
      const { one, two, three } = several(dir);
      const flags = ["-repo", one.dir, "-root", two.dir, "-db", dir];
      await withServer({ cwd: dir, era, flags, roots: [three.dir] }, async (server) => {
        assert.deepEqual(await rootsOf(server, { allWorkspaceRoots: true }), [one.dir, two.dir]);
        assert.equal(
          (await refused(server, "git_status", { workspaceRoot: three.dir })).error,
          "root_not_allowed",
        );
      });
      await withServer({ cwd: dir, era, flags, roots: [three.dir, two.dir] }, async (server) => {
        assert.deepEqual(await rootsOf(server, { allWorkspaceRoots: true }), [two.dir]);
        assert.deepEqual(await rootsOf(server, { workspaceRoot: one.dir }), [one.dir]);
        assert.deepEqual(await rootsOf(server, { workspaceRoot: "." }), [one.dir]);
      });
    }));

  Deno.test(`a client without roots gets the flags, else the current directory (${era})`, () =>
    withTemp(async (dir) => {
      const { one, two } = several(dir);
      await withServer({ cwd: one.dir, era }, async (server) => {
        assert.deepEqual(await rootsOf(server, { allWorkspaceRoots: true }), [one.dir]);
        assert.equal(
          (await refused(server, "git_status", { workspaceRoot: two.dir })).error,
          "root_not_allowed",
        );
        assert.equal(server.rootsAsked, 0);
      });
      await withServer({ cwd: one.dir, era, roots: [] }, async (server) => {
        assert.deepEqual(await rootsOf(server), [one.dir]);
      });
      await withServer({ cwd: dir, era, flags: ["-root", two.dir, "-root", one.dir] }, async (server) => {
        assert.deepEqual(await rootsOf(server, { allWorkspaceRoots: true }), [two.dir, one.dir]);
      });
    }));
}

Deno.test("roots/list is asked once, and again after list_changed", () =>
  withTemp(async (dir) => {
    const { one, two } = several(dir);
    await withServer({ cwd: dir, roots: [one.dir] }, async (server) => {
      for (let n = 0; n < 3; n++) assert.deepEqual(await rootsOf(server), [one.dir]);
      assert.equal(server.rootsAsked, 1);
      await server.changeRoots([two.dir]);
      assert.deepEqual(await rootsOf(server), [two.dir]);
      assert.equal(server.rootsAsked, 2);
      assert.equal(
        (await refused(server, "git_status", { workspaceRoot: one.dir })).error,
        "root_not_allowed",
      );
    });
  }));

Deno.test("a root that lies inside a repository stands for it; one given with -root is a fence", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), { "packages/x/a.txt": "a\n" });
    const inner = join(repo.dir, "packages", "x");
    repo.write("top.txt", "t\n");
    const status = async (server: Server, args = {}) => (await server.payload("git_status", args)).groups[0];
    await withServer({ cwd: dir, roots: [inner] }, async (server) => {
      const { mcpRoot, repos } = await status(server);
      assert.deepEqual([mcpRoot, repos[0].path, repos[0].untracked_files], [inner, repo.dir, ["top.txt"]]);
    });
    await withServer({ cwd: dir, flags: ["-repo", inner, "-db", dir] }, async (server) => {
      assert.equal((await status(server)).repos[0].path, repo.dir);
    });
    await withServer({ cwd: dir, flags: ["-root", inner, "-db", dir] }, async (server) => {
      const { repos } = await status(server);
      assert.equal(repos[0].ok, false);
      assert.match(repos[0].statusText, /outside of the allowed roots/);
      const refusal = await refused(server, "batch_commit", {
        commits: [{ message: "m", files: ["top.txt"] }],
      });
      assert.equal(refusal.error, "root_not_allowed");
    });
  }));

Deno.test("the jail: traversal, prefixes, links and linked worktrees of other repositories", () =>
  withTemp(async (dir) => {
    const { one, two } = several(dir);
    makeRepo(join(dir, "one-evil"));
    Deno.symlinkSync(two.dir, join(one.dir, "link"));
    const linked = join(one.dir, "linked");
    two.git("worktree", "add", "--quiet", linked, "-b", "linked");
    const flags = ["-root", one.dir, "-db", dir];
    await withServer({ cwd: dir, flags }, async (server) => {
      for (
        const root of [
          two.dir,
          join(dir, "one-evil"),
          `${one.dir}/../two`,
          "../two",
          join(one.dir, "link"),
          dir,
          "/",
          "/etc",
          join(one.dir, "link", "missing"),
        ]
      ) {
        const { error } = await refused(server, "git_status", { workspaceRoot: root });
        assert.equal(error, "root_not_allowed", root);
        const log = await refused(server, "git_log", { workspaceRoot: root });
        assert.equal(log.error, "root_not_allowed", root);
      }
      // It lies inside, but its git directory does not.
      const { groups } = await server.payload("git_status", { workspaceRoot: linked });
      assert.match(groups[0].repos[0].statusText, /outside of the allowed roots/);
      const { error } = await refused(server, "git_merge", { workspaceRoot: linked, sources: ["main"] });
      assert.equal(error, "root_not_allowed");
    });
  }));

Deno.test("sessionId is a root like any other; a contradiction or an unknown one is refused", () =>
  withTemp(async (dir) => {
    const { one } = several(dir);
    await withServer({ cwd: dir, flags: ["-repo", one.dir, "-db", dir] }, async (server) => {
      const { worktreePath } = await server.payload("create_worktree", { sessionId: "work" });
      one.at(worktreePath).write("w.txt", "w\n");
      const { groups } = await server.payload("git_status", { sessionId: " Work " });
      assert.equal(groups[0].repos[0].branch, "session-work");
      assert.deepEqual(groups[0].repos[0].untracked_files, ["w.txt"]);
      assert.deepEqual(await rootsOf(server, { sessionId: "work", workspaceRoot: worktreePath }), [
        worktreePath,
      ]);
      const contradiction = await refused(server, "git_status", {
        sessionId: "work",
        workspaceRoot: one.dir,
      });
      assert.equal(contradiction.error, "invalid_arguments");
      assert.equal((await refused(server, "git_log", { sessionId: "nope" })).error, "session_not_found");
      assert.equal((await refused(server, "git_log", { sessionId: "../x" })).error, "invalid_session_id");
    });
  }));

Deno.test("a preset picks the root that defines it, by its hint", () =>
  withTemp(async (dir) => {
    const { one, two, three } = several(dir);
    const presets = (repo: Repo, content: unknown) =>
      repo.write(
        ".rethunk/git-mcp-presets.json",
        typeof content === "string" ? content : JSON.stringify(content),
      );
    presets(one, "{ broken");
    presets(two, { presets: { shared: { nestedRoots: ["."], workspaceRootHint: "elsewhere" } } });
    presets(three, { presets: { shared: { nestedRoots: ["."], workspaceRootHint: "three/" } } });
    const roots = [one.dir, two.dir, three.dir];
    await withServer({ cwd: dir, roots }, async (server) => {
      const root = async (args: Record<string, unknown>) =>
        (await server.payload("git_inventory", args)).inventories[0].workspace_root;
      assert.equal(await root({ preset: "shared" }), three.dir);
      assert.equal(await root({ preset: "shared", rootIndex: 1 }), two.dir);
      assert.equal(
        (await refused(server, "git_inventory", { preset: "nobody" })).error,
        "preset_file_invalid",
      );
      const all = await server.payload("git_inventory", { preset: "shared", allWorkspaceRoots: true });
      assert.equal(all.inventories.length, 3);
      assert.equal(all.inventories[0].error.error, "preset_file_invalid");
      assert.equal(all.inventories[1].entries[0].headAbbrev, "main");
    });
  }));

Deno.test("a client that never answers roots/list does not hang a call", () =>
  withTemp(async (dir) => {
    const { one } = several(dir);
    const server = new Server({ cwd: one.dir, flags: ["-db", dir] });
    try {
      await server.request("initialize", {
        protocolVersion: LEGACY,
        capabilities: { roots: {} },
        clientInfo: { name: "mute", version: "1" },
      });
      await server.send({ jsonrpc: "2.0", method: "notifications/initialized" });
      server.mute();
      assert.deepEqual(await rootsOf(server), [one.dir]);
    } finally {
      await server.close();
    }
  }));

Deno.test("the resource rethunk-git://presets shows the preset file of the first root, in both eras", async () => {
  for (const era of [LEGACY, MODERN] as Era[]) {
    await withTemp(async (dir) => {
      const { one } = several(dir);
      await withServer({ cwd: dir, era, roots: [one.dir] }, async (server) => {
        const listed = await server.answered("resources/list");
        assert.deepEqual(
          listed.resources.map(({ uri, name, mimeType }: Record<string, string>) => [uri, name, mimeType]),
          [
            ["rethunk-git://presets", "git-mcp-presets", "application/json"],
          ],
        );
        const read = async () => {
          const { contents } = await server.answered("resources/read", { uri: "rethunk-git://presets" });
          return JSON.parse(contents[0].text);
        };
        const presetFile = join(one.dir, ".rethunk", "git-mcp-presets.json");
        assert.deepEqual(await read(), { presetFile, fileExists: false, presets: {} });
        const presets = { all: { nestedRoots: ["a"], parityPairs: [{ left: "a", right: "b" }] } };
        one.write(".rethunk/git-mcp-presets.json", JSON.stringify({ schemaVersion: "1", presets }));
        assert.deepEqual(await read(), { presetFile, fileExists: true, presetSchemaVersion: "1", presets });
        one.write(".rethunk/git-mcp-presets.json", "[]");
        const { error, kind, message } = await read();
        assert.deepEqual([error, kind, message], [
          "preset_file_invalid",
          "invalid_json",
          "Preset file root must be a JSON object",
        ]);
      });
    });
  }
});

Deno.test("a root that is no repository is refused by the tools that need one", () =>
  withTemp(async (dir) => {
    const { plain } = several(dir);
    await withServer({ cwd: dir, flags: ["-root", plain, "-db", dir] }, async (server) => {
      const calls: [string, Record<string, unknown>][] = [
        ["git_diff_summary", {}],
        ["batch_commit", { commits: [{ message: "m", files: ["a.txt"] }] }],
        ["git_merge", { sources: ["x"] }],
        ["git_cherry_pick", { sources: ["x"] }],
      ];
      for (const [tool, args] of calls) {
        const { error, path } = await refused(server, tool, args);
        assert.deepEqual([error, path], ["not_a_git_repository", plain], tool);
      }
    });
  }));

Deno.test("without a git program every tool of the family says git_not_found", () =>
  withTemp(async (dir) => {
    const { one } = several(dir);
    const env = { PATH: dir };
    await withServer({ cwd: dir, flags: ["-repo", one.dir, "-db", dir], env }, async (server) => {
      const calls: [string, Record<string, unknown>][] = [
        ["git_status", {}],
        ["git_inventory", {}],
        ["git_parity", { pairs: [{ left: ".", right: "." }] }],
        ["git_log", {}],
        ["git_diff_summary", {}],
        ["batch_commit", { commits: [{ message: "m", files: ["a.txt"] }] }],
        ["git_merge", { sources: ["x"] }],
        ["git_cherry_pick", { sources: ["x"] }],
      ];
      for (const [tool, args] of calls) {
        assert.equal((await refused(server, tool, args)).error, "git_not_found", tool);
      }
    });
  }));
