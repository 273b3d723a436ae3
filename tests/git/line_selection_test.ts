/** Staging some lines: examples, and random edits taken in random order until all of them are staged. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { parsePatch, selectLines } from "../../src/git/line_selection.ts";
import { stageLines } from "../../src/git/stage_lines.ts";
import { Repositories } from "../../src/git/repository.ts";
import { GitRunner } from "../../src/git/runner.ts";
import { makeRepo, testEnv, withTemp } from "../support/repo.ts";
import { rounds, seededRandom } from "../support/rounds.ts";

const HEADER = "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n";
const patch = (body: string) => parsePatch(HEADER + body);

Deno.test("selectLines() takes added and replaced lines singly, other changes whole", () => {
  const replaced = patch("@@ -2,2 +2,2 @@\n-a\n-b\n+A\n+B\n@@ -9,0 +10,3 @@\n+x\n+y\n+z\n");
  assert.equal(selectLines(replaced, [{ from: 3, to: 3 }]), `${HEADER}@@ -3,1 +3,1 @@\n-b\n+B\n`);
  assert.equal(
    selectLines(replaced, [{ from: 11, to: 99 }]),
    `${HEADER}@@ -9,0 +10,2 @@\n+y\n+z\n`,
  );
  assert.equal(selectLines(replaced, [{ from: 4, to: 9 }]), null);
  const uneven = patch("@@ -2 +2,3 @@\n-a\n+A\n+B\n+C\n");
  assert.equal(selectLines(uneven, [{ from: 4, to: 4 }]), `${HEADER}@@ -2,1 +2,3 @@\n-a\n+A\n+B\n+C\n`);
  const deletion = patch("@@ -5,2 +4,0 @@\n-a\n-b\n");
  for (const [from, hit] of [[3, false], [4, true], [5, true], [6, false]] as const) {
    assert.equal(selectLines(deletion, [{ from, to: from }]) !== null, hit, `line ${from}`);
  }
});

Deno.test("selectLines() counts the places of later hunks anew, and keeps a missing newline", () => {
  const text = patch("@@ -1,0 +2,2 @@\n+x\n+y\n@@ -5 +7 @@\n-old\n\\ No newline at end of file\n+new\n");
  assert.equal(
    selectLines(text, [{ from: 7, to: 7 }]),
    `${HEADER}@@ -5,1 +5,1 @@\n-old\n\\ No newline at end of file\n+new\n`,
  );
});

Deno.test("whatever the edits and the ranges, staging never makes up a line, and in the end has all", () =>
  withTemp(async (dir) => {
    const random = seededRandom("line selection");
    const pick = (below: number) => Math.floor(random() * below);
    const repo = makeRepo(join(dir, "repo"), { "f.txt": "" });
    const git = new GitRunner(testEnv());
    const tree = await new Repositories(git, false).open(repo.dir);
    for (let round = 0; round < rounds(15, 200); round++) {
      const ending = () => random() < 0.2 ? "" : "\n";
      const before = Array.from({ length: pick(30) }, (_, n) => `line ${n}`);
      repo.write("f.txt", before.join("\n") + ending());
      repo.git("add", "f.txt");
      const after = before.flatMap((line, n) => {
        const what = random();
        if (what < 0.15) return [];
        if (what < 0.3) return [`${line} changed`];
        if (what < 0.45) {
          return [
            line,
            ...Array.from({ length: 1 + pick(3) }, (_, k) => `new ${round}.${n}.${k}`),
          ];
        }
        return [line];
      });
      const text = after.join("\n") + ending();
      repo.write("f.txt", text);
      const known = new Set([...before, ...after, ""]);
      for (let step = 0; step < 60 && repo.git("diff", "--", "f.txt") !== ""; step++) {
        const from = 1 + pick(after.length + 1);
        const range = { from, to: from + pick(8) };
        await stageLines(git, tree, "f.txt", [range], { write: true }).catch((error) => {
          assert.match(String(error), /no change there/);
        });
        for (const line of repo.git("show", ":f.txt").split("\n")) assert.ok(known.has(line), line);
      }
      await stageLines(git, tree, "f.txt", [{ from: 1, to: 1e6 }], { write: true }).catch(() => {});
      assert.equal(repo.try("show", ":f.txt").out, text);
    }
  }));
