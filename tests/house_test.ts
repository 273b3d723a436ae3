/** The rules of the house that no compiler checks. */
import assert from "node:assert/strict";
import { dirname, join, relative } from "node:path";
import { ROOT } from "./support/paths.ts";

/** How high each room stands. Imports go down, or stay in the room. */
const FLOOR: Record<string, number> = {
  "main.ts": 8,
  cli: 7,
  server: 6,
  tools: 5,
  "app.ts": 4,
  changes: 3,
  files: 1,
  workspace: 3,
  search: 3,
  sessions: 2,
  browse: 2,
  git: 1,
  platform: 0,
  "errors.ts": -1,
  "version.ts": -1,
};
const LONGEST_FILE = 400;

interface SourceFile {
  /** Relative to src. */
  name: string;
  text: string;
  imports: string[];
}

function sources(directory = join(ROOT, "src")): SourceFile[] {
  return [...Deno.readDirSync(directory)].flatMap((entry) => {
    const file = join(directory, entry.name);
    if (entry.isDirectory) return sources(file);
    const text = Deno.readTextFileSync(file);
    const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(([, name]) => name);
    return [{ name: relative(join(ROOT, "src"), file).replaceAll("\\", "/"), text, imports }];
  });
}

const room = (name: string) => name.split("/")[0];

/** Source with comments taken out. */
const code = (text: string) => text.replace(/\/\*[^]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");

Deno.test("imports only go down, and never from one tool to another", () => {
  for (const { name, imports } of sources()) {
    for (const target of imports.filter((path) => path.startsWith(".") && !path.endsWith(".json"))) {
      const full = relative(join(ROOT, "src"), join(ROOT, "src", dirname(name), target)).replaceAll(
        "\\",
        "/",
      );
      const [from, to] = [FLOOR[room(name)], FLOOR[room(full)]];
      assert.ok(from !== undefined && to !== undefined, `${name} or ${full} stands in no known room`);
      // What a tool is speaks of the app that runs it, in types only.
      const typesOnly = new RegExp(`import type [^;]*"${target.replaceAll(".", "\\.")}"`).test(
        Deno.readTextFileSync(join(ROOT, "src", name)),
      );
      assert.ok(
        to < from || room(name) === room(full) || (typesOnly && to <= from),
        `${name} imports ${full}`,
      );
      if (/^tools\/\w+\//.test(name)) {
        assert.ok(!/^tools\/\w+\//.test(full), `tool ${name} imports tool ${full}`);
      }
    }
  }
});

Deno.test("one door to processes, one to files written for callers", () => {
  for (const { name, text } of sources()) {
    const plain = code(text);
    if (name !== "platform/process.ts") {
      assert.ok(!/Deno\.Command|child_process|Deno\.kill/.test(plain), `${name} starts a process`);
    }
    if (room(name) === "tools") {
      assert.ok(!/\bDeno\.|node:fs/.test(plain), `${name} reaches past the domains`);
    }
    assert.ok(!/node:fs/.test(plain), `${name} uses node:fs, which is slow to start`);
    if (name !== "cli/print.ts") {
      assert.ok(!/Deno\.stdout\.write|console\./.test(plain), `${name} writes to standard output`);
    }
  }
});

Deno.test("domains know no MCP", () => {
  for (const { name, imports } of sources()) {
    if (["server", "tools", "main.ts"].includes(room(name))) continue;
    assert.ok(!imports.some((path) => path.includes("modelcontextprotocol")), name);
  }
});

Deno.test("the serve task and the README grant what the program needs, and no more", async () => {
  const { RUN_FLAGS } = await import("../src/cli/run_flags.ts");
  const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const run = `deno run ${RUN_FLAGS.join(" ")}`;
  assert.equal(tasks.serve.command, `${run} src/main.ts`);
  const readme = await Deno.readTextFile(join(ROOT, "README.md"));
  const shown = [...readme.matchAll(/deno run .*orchestragent-mcp\.js/g)].map(([line]) => line);
  assert.ok(shown.length >= 2);
  for (const line of shown) assert.ok(line.startsWith(run), line);
});

Deno.test("files are short enough to be taken in at once", () => {
  for (const { name, text } of sources()) {
    const lines = text.split("\n").length;
    assert.ok(lines <= LONGEST_FILE, `${name} has ${lines} lines`);
  }
});

Deno.test("everything exported has a docstring", () => {
  for (const { name, text } of sources()) {
    const lines = text.split("\n");
    lines.forEach((line, at) => {
      if (!/^export (?!\{|\*)/.test(line)) return;
      const before = lines.slice(0, at).findLast((candidate) => candidate.trim() !== "") ?? "";
      assert.ok(/\*\/$/.test(before) || name === "version.ts", `${name}:${at + 1} ${line}`);
    });
  }
});

Deno.test("every error code is used, and carries a meaning and a next step", async () => {
  const { ERRORS } = await import("../src/errors.ts");
  const all = sources().filter(({ name }) => name !== "errors.ts").map(({ text }) => text).join("\n");
  for (const [name, { meaning, next }] of Object.entries(ERRORS)) {
    assert.ok(all.includes(`"${name}"`), `${name} is thrown nowhere`);
    assert.match(meaning, /\.$/);
    assert.match(next, /\.$/);
  }
});
