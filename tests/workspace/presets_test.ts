/** Presets: hints, merging of lists, and the published schema. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { hintMatches, presetsJsonSchema } from "../../src/workspace/presets.ts";
import { joinedPairs, joinedRoots } from "../../src/workspace/preset_merge.ts";
import { ROOT } from "../support/paths.ts";

Deno.test("the published schema is the current one", async () => {
  const published = JSON.parse(await Deno.readTextFile(join(ROOT, "docs/git-mcp-presets.schema.json")));
  assert.deepEqual(published, presetsJsonSchema(), "changed on purpose? run: deno task accept");
});

Deno.test("hintMatches(): the path, its end, or its name", () => {
  const cases: [string | undefined, string, boolean][] = [
    [undefined, "/a/b", true],
    [" ", "/a/b", true],
    ["/a/b", "/a/b/", true],
    ["b", "/a/b", true],
    ["a/b/", "/x/a/b", true],
    ["a\\b", "C:\\x\\a\\b", true],
    ["b", "/a/bb", false],
    ["/b", "/a/b/c", false],
    ["ab", "/x/aab", false],
  ];
  for (const [hint, root, expected] of cases) {
    assert.equal(hintMatches(hint, root), expected, `${hint} ${root}`);
  }
});

Deno.test("joinedRoots() and joinedPairs(): replaced or merged, each once, the preset's first", () => {
  const roots = (inline: string[], preset: string[] | undefined, merge: boolean) =>
    joinedRoots({ inline, preset, merge });
  assert.deepEqual(roots(["a"], ["b"], false), ["a"]);
  assert.deepEqual(roots([], ["b", "b"], false), ["b"]);
  assert.deepEqual(roots(["a", "b"], ["b", "c"], true), ["b", "c", "a"]);
  assert.deepEqual(roots(["a"], undefined, true), ["a"]);
  const pair = { left: "l", right: "r" };
  assert.deepEqual(
    joinedPairs({
      inline: [{ ...pair, label: "mine" }],
      preset: [{ ...pair, label: "theirs" }],
      merge: true,
    }),
    [{ ...pair, label: "theirs" }],
  );
});
