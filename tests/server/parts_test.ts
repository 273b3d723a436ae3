/** Line splitting, progress and error wording. */
import assert from "node:assert/strict";
import { ToolError } from "../../src/errors.ts";
import { throttledProgress } from "../../src/server/progress.ts";
import { failureText, reported } from "../../src/server/result.ts";
import { linesOf } from "../../src/server/stdio_transport.ts";
import { setLogLevel } from "../../src/platform/log.ts";
import { TOOLSETS } from "../../src/tools/tool.ts";
import { rounds, seededRandom } from "../support/rounds.ts";

Deno.test("linesOf() gives the same lines however the bytes are cut", async () => {
  const random = seededRandom("lines");
  for (let round = 0; round < rounds(50, 500); round++) {
    const lines = Array.from(
      { length: Math.floor(random() * 20) },
      () => 'äx🎉\r"'.repeat(Math.floor(random() * 9)),
    );
    const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) {
      const next = at + 1 + Math.floor(random() * 7);
      chunks.push(bytes.subarray(at, next));
      at = next;
    }
    assert.deepEqual(await Array.fromAsync(linesOf(ReadableStream.from(chunks), () => {})), lines);
  }
});

Deno.test("linesOf() drops a line over the limit, tells once, and takes the last line without an end", async () => {
  const told: number[] = [];
  const text = ["ok", "x".repeat(50), "fine", "y".repeat(11), "last"].join("\n");
  const chunks = text.match(/[^]{1,7}/g)!.map((part) => new TextEncoder().encode(part));
  const lines = await Array.fromAsync(linesOf(ReadableStream.from(chunks), (size) => told.push(size), 10));
  assert.deepEqual(lines, ["ok", "fine", "last"]);
  assert.equal(told.length, 2);
});

Deno.test("throttledProgress() rises, is not sent too often, and sends the end", () => {
  let now = 0;
  const sent: unknown[] = [];
  const progress = throttledProgress((params) => sent.push(params), () => now);
  progress(1, 10, "starting");
  progress(2, 10);
  now = 300;
  progress(2, 10);
  progress(1, 10);
  progress(10, 10);
  assert.deepEqual(sent, [
    { progress: 1, total: 10, message: "starting" },
    { progress: 2, total: 10 },
    { progress: 10, total: 10 },
  ]);
});

Deno.test("errors of every family carry message, code and next step", () => {
  const error = new ToolError("session_not_found", "session not found: x", { next: "Look again." });
  for (const toolset of TOOLSETS) {
    const text = failureText(toolset, error);
    for (const part of ["session not found: x", "session_not_found", "Look again."]) {
      assert.ok(text.includes(part), toolset);
    }
  }
  assert.deepEqual(JSON.parse(failureText("browse", error)).error.code, "session_not_found");
  assert.deepEqual(JSON.parse(failureText("remotes", error)).status, "failure");
  setLogLevel("silent");
  const defect = reported(new TypeError("x is undefined"));
  setLogLevel("warn");
  assert.deepEqual([defect.code, defect.message], ["internal_error", "internal error: x is undefined"]);
});
