/** What clients are told of the tools: portable, small, complete, and unchanged unless accepted. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { PORTABLE_KEYWORDS, portableSchema } from "../../src/server/portable_schema.ts";
import { selectTools, TOOLS } from "../../src/tools/registry.ts";
import { makeRepo, withTemp } from "../support/repo.ts";
import { ROOT } from "../support/paths.ts";
import { LEGACY, MODERN, withServer } from "../support/server.ts";

type Json = Record<string, unknown>;

/** Calls `visit` for a schema and every schema in it. */
function walk(schema: Json, visit: (schema: Json, path: string) => void, path = "#"): void {
  visit(schema, path);
  for (const [name, inner] of Object.entries(schema.properties as Json ?? {})) {
    walk(inner as Json, visit, `${path}/${name}`);
  }
  if (schema.items) walk(schema.items as Json, visit, `${path}[]`);
}

Deno.test("every schema keeps to the portable subset", () => {
  for (const tool of TOOLS) {
    for (const io of ["input", "output"] as const) {
      const schema = portableSchema(tool[io], io);
      assert.equal(schema.type, "object");
      walk(schema, (part, path) => {
        const at = `${tool.name} ${io} ${path}`;
        for (const keyword of Object.keys(part)) {
          assert.ok(PORTABLE_KEYWORDS.has(keyword), `${at}: ${keyword}`);
        }
        const nullable = io === "output" && String(part.type) === "string,null";
        assert.ok(typeof part.type === "string" || nullable, `${at}: one type`);
        if (part.type === "object") assert.equal(part.additionalProperties, false, `${at}: open object`);
        if (part.type === "array") assert.ok(part.items, `${at}: items`);
        for (const bound of ["minimum", "maximum"]) {
          if (part[bound] !== undefined) assert.ok(Math.abs(part[bound] as number) < 1e9, `${at}: ${bound}`);
        }
      });
    }
  }
});

Deno.test("defaulted arguments are not required, and say their default", () => {
  const schema = portableSchema(TOOLS.find((tool) => tool.name === "remove_session")!.input, "input");
  assert.deepEqual(schema.required, ["sessionId"]);
  assert.equal((schema.properties as Record<string, Json>).force.default, false);
});

Deno.test("names, titles, descriptions and hints are complete and within what clients keep", () => {
  for (const tool of TOOLS) {
    assert.match(tool.name, /^[a-z][a-z0-9_]{0,40}$/);
    assert.ok(tool.title.length > 0 && tool.title.length < 60);
    assert.ok(tool.description.length < 1000, `${tool.name}: ${tool.description.length} characters`);
    for (const hint of ["readOnly", "destructive", "idempotent", "openWorld"] as const) {
      assert.equal(typeof tool.hints[hint], "boolean", `${tool.name}.${hint}`);
    }
  }
  assert.equal(new Set(TOOLS.map((tool) => tool.name)).size, TOOLS.length);
});

Deno.test("tools/list is the accepted one, in both eras", () =>
  withTemp(async (dir) => {
    makeRepo(join(dir, "repo"));
    const accepted = JSON.parse(await Deno.readTextFile(join(ROOT, "tests/server/tools_list.json")));
    for (const era of [LEGACY, MODERN] as const) {
      await withServer({ cwd: join(dir, "repo"), era }, async (server) => {
        const { result } = await server.request("tools/list");
        assert.deepEqual(result.tools, accepted, "changed on purpose? run: deno task accept");
      });
    }
    const visible = accepted.map(({ name, description, inputSchema }: Json) => ({
      name,
      description,
      inputSchema,
    }));
    // Four characters a token is what the usual tokenizers come to on such text.
    assert.ok(JSON.stringify(visible).length / 4 < 5_000);
  }));

Deno.test("instructions stay below where clients cut", () =>
  withTemp(async (dir) => {
    makeRepo(join(dir, "repo"));
    await withServer({ cwd: join(dir, "repo") }, async (server) => {
      const { instructions } = (await server.initialize()).result;
      assert.match(instructions, /create_worktree/);
      assert.ok(instructions.length < 2_048);
    });
  }));

Deno.test("selectTools(): read-only beats all, exclude beats include, globs work", () => {
  const names = (selection: Partial<Parameters<typeof selectTools>[0]>) =>
    selectTools({ readOnly: false, toolsets: [], tools: [], excludeTools: [], ...selection }).map((tool) =>
      tool.name
    );
  const all = names({});
  assert.deepEqual(all.slice(0, 4), ["create_worktree", "remove_session", "get_sessions", "git_status"]);
  assert.equal(names({ toolsets: ["sessions"] }).length, 3);
  assert.equal(names({ toolsets: ["sessions", "git"] }).length, 12);
  assert.deepEqual(names({ tools: ["get_*"] }), ["get_sessions"]);
  assert.deepEqual(names({ tools: ["get_sessions", "create_worktree"], excludeTools: ["create_*"] }), [
    "get_sessions",
  ]);
  const writing = [
    ...["create_worktree", "remove_session", "batch_commit", "git_merge", "git_cherry_pick"],
    ...["write_file", "append", "create_directory", "move_file"],
  ];
  assert.deepEqual(names({ readOnly: true }), all.filter((name) => !writing.includes(name)));
  assert.deepEqual(names({ readOnly: true, tools: ["*_session*"] }), ["get_sessions"]);
  assert.throws(() => names({ readOnly: true, tools: ["create_worktree"] }), /leave no tool/);
  assert.throws(() => names({ toolsets: ["sesions"] }), /unknown toolset 'sesions'/);
  assert.throws(() => names({ tools: ["git_nothing"] }), /no tool matches 'git_nothing'/);
  assert.throws(() => names({ excludeTools: ["*"] }), /leave no tool/);
});
