/** The protocol itself: both eras with the real SDK clients, shut-down, cancellation, and garbage. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { TOOLS } from "../../src/tools/registry.ts";
import { makeRepo, testEnv, withTemp } from "../support/repo.ts";
import { rounds, seededRandom } from "../support/rounds.ts";
import { LEGACY, MODERN, Server, serverCommand, withServer } from "../support/server.ts";

function clientOptions(dir: string) {
  const { file, args } = serverCommand(["-repo", join(dir, "repo"), "-db", dir]);
  return { command: file, args, cwd: dir, env: testEnv(), stderr: "ignore" as const };
}

/** Calls whose payloads the old client checks against the listed schemas, nulls and errors among them. */
const READING_CALLS = [
  { name: "git_status" },
  { name: "git_inventory", arguments: { nestedRoots: [".", "missing", "../x"] } },
  { name: "git_parity", arguments: { pairs: [{ left: ".", right: "." }, { left: ".", right: "x" }] } },
  { name: "list_presets" },
  { name: "git_log" },
  { name: "git_diff_summary", arguments: { range: "HEAD" } },
  { name: "batch_commit", arguments: { dryRun: true, commits: [{ message: "m", files: ["missing"] }] } },
  { name: "git_merge", arguments: { dryRun: true, sources: ["nope"] } },
  { name: "git_cherry_pick", arguments: { dryRun: true, sources: ["HEAD"] } },
];

Deno.test("the v2 client speaks 2026-07-28 with it", () =>
  withTemp(async (dir) => {
    makeRepo(join(dir, "repo"));
    const client = new Client({ name: "new", version: "1" }, {
      versionNegotiation: { mode: { pin: MODERN } },
    });
    await client.connect(new StdioClientTransport(clientOptions(dir)));
    assert.equal(client.getNegotiatedProtocolVersion(), MODERN);
    assert.match(client.getInstructions() ?? "", /create_worktree/);
    const { tools } = await client.listTools();
    assert.equal(tools.length, TOOLS.length);
    const made = await client.callTool({ name: "create_worktree", arguments: { sessionId: "v2" } });
    assert.equal((made.structuredContent as { branchName: string }).branchName, "session-v2");
    const refused = await client.callTool({ name: "create_worktree", arguments: { sessionId: "v2" } });
    assert.equal(refused.isError, true);
    await client.close();
  }));

Deno.test("the v1 client speaks 2025-11-25 with it", () =>
  withTemp(async (dir) => {
    makeRepo(join(dir, "repo"));
    const client = new OldClient({ name: "old", version: "1" });
    await client.connect(new OldTransport(clientOptions(dir)));
    assert.equal(client.getServerVersion()?.name, "orchestragent-mcp");
    const { tools } = await client.listTools();
    assert.equal(tools.length, TOOLS.length);
    // The old client checks the payload against the listed output schema itself.
    const made = await client.callTool({ name: "create_worktree", arguments: { sessionId: "v1" } });
    assert.equal((made.structuredContent as { branchName: string }).branchName, "session-v1");
    const listed = await client.callTool({ name: "get_sessions" });
    assert.equal((listed.structuredContent as { totalCount: number }).totalCount, 1);
    for (const { name, arguments: args } of READING_CALLS) {
      const result = await client.callTool({ name, arguments: args });
      assert.equal(result.isError ?? false, false, `${name}: ${JSON.stringify(result)}`);
      assert.ok(result.structuredContent);
    }
    await client.close();
  }));

for (const version of ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY]) {
  Deno.test(`initialize with ${version} is answered in that version`, () =>
    withTemp(async (dir) => {
      makeRepo(join(dir, "repo"));
      const server = new Server({ cwd: join(dir, "repo") });
      const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "t", version: "1" } };
      const { result } = await server.request("initialize", params);
      assert.equal(result.protocolVersion, version);
      assert.deepEqual(result.capabilities, {
        tools: { listChanged: false },
        resources: { listChanged: false },
      });
      assert.deepEqual((await server.request("ping")).result, {});
      await server.close();
    }));
}

Deno.test("server/discover tells the modern era, tools/list may be kept", () =>
  withTemp(async (dir) => {
    makeRepo(join(dir, "repo"));
    await withServer({ cwd: join(dir, "repo"), era: MODERN }, async (server) => {
      const { result } = await server.request("server/discover");
      assert.ok(result.supportedVersions.includes(MODERN));
      assert.ok(result.ttlMs > 0);
      const list = await server.request("tools/list");
      assert.equal(list.result.cacheScope, "private");
      assert.ok(list.result.ttlMs > 0);
      assert.equal(list.result.resultType, "complete");
    });
  }));

for (const era of [LEGACY, MODERN]) {
  Deno.test(`wrong arguments are tool errors that name the field, unknown tools protocol errors (${era})`, () =>
    withTemp(async (dir) => {
      makeRepo(join(dir, "repo"));
      await withServer({ cwd: join(dir, "repo"), era: era as typeof LEGACY }, async (server) => {
        for (
          const [name, args, field] of [
            ["create_worktree", {}, /sessionId/],
            ["create_worktree", { sessionId: 5 }, /sessionId/],
            ["create_worktree", { sessionId: "ok-id", extra: 1 }, /extra/],
            ["create_worktree", { sessionId: "ok-id", baseRef: null }, /baseRef/],
            ["remove_session", { sessionId: "ok-id", force: "yes" }, /force/],
            ["get_sessions", { limit: 0 }, /limit/],
          ] as const
        ) {
          const text = await server.refusal(name, args);
          assert.match(text, field);
          assert.match(text, /\(invalid_arguments\)$/);
        }
        const { error } = await server.request("tools/call", { name: "no_such_tool", arguments: {} });
        assert.equal(error.code, -32602);
        const unknown = await server.request("no/such/method");
        assert.equal(unknown.error.code, -32601);
      });
    }));
}

Deno.test("closing the input ends the process within a second, also in the middle of work", () =>
  withTemp(async (dir) => {
    const files = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`d${n % 50}/f${n}`, `${n}\n`]));
    const repo = makeRepo(join(dir, "repo"), files);
    const options = { cwd: dir, flags: ["-repo", repo.dir, "-db", dir] };
    const idle = await Server.connect(options);
    const { code, milliseconds } = await idle.close();
    assert.equal(code, 0);
    assert.ok(milliseconds < 1000, `${milliseconds} ms`);
    for (let round = 0; round < rounds(3, 10); round++) {
      const busy = await Server.connect(options);
      for (let n = 0; n < 5; n++) {
        busy.call("create_worktree", { sessionId: `w${round}-${n}` }).catch(() => {});
      }
      await new Promise((resolve) => setTimeout(resolve, 40 * round));
      const end = await busy.close();
      assert.ok(end.milliseconds < 1000, `${end.milliseconds} ms with work under way`);
      assert.deepEqual(gitsIn(repo.dir), [], "no git child is left");
    }
  }));

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
  Deno.test(`${signal} ends the process and its children`, () =>
    withTemp(async (dir) => {
      const repo = makeRepo(join(dir, "repo"));
      const server = await Server.connect({ cwd: repo.dir });
      await server.payload("create_worktree", { sessionId: "sig" });
      const { code, milliseconds } = await server.kill(signal);
      assert.equal(code, 0);
      assert.ok(milliseconds < 1000, `${milliseconds} ms`);
      assert.deepEqual(gitsIn(repo.dir), []);
    }));
}

/** Command lines of the git processes whose directory is below `dir`. */
function gitsIn(dir: string): string[] {
  const found: string[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const line = Deno.readTextFileSync(`/proc/${name}/cmdline`).replaceAll("\0", " ");
      if (/git/.test(line.split(" ")[0]) && Deno.readLinkSync(`/proc/${name}/cwd`).startsWith(dir)) {
        found.push(line);
      }
    } catch { /* it ended meanwhile */ }
  }
  return found;
}

Deno.test("requests piped in before the input is closed are answered", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const server = new Server({ cwd: repo.dir });
    const messages = [
      {
        id: 1,
        method: "initialize",
        params: { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: "t", version: "1" } },
      },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/call", params: { name: "get_sessions", arguments: {} } },
    ];
    await server.sendText(
      messages.map((message) => JSON.stringify({ jsonrpc: "2.0", ...message })).join("\n"),
    );
    await server.close();
    assert.deepEqual(server.lines.map((line) => JSON.parse(line).id), [1, 2]);
    assert.match(server.lines[1], /Found 0 session/);
  }));

Deno.test("progress is told while a slow worktree is checked out", () =>
  withTemp(async (dir) => {
    const FILES = 20;
    const home = join(dir, "home");
    await Deno.mkdir(home);
    await Deno.writeTextFile(
      join(home, ".gitconfig"),
      '[filter "slow"]\n\tsmudge = sleep 0.15 && cat\n\tclean = cat\n',
    );
    const repo = makeRepo(join(dir, "repo"), {
      ".gitattributes": "*.slow filter=slow\n",
      ...Object.fromEntries(Array.from({ length: FILES }, (_, n) => [`f${n}.slow`, `${n}\n`])),
    });
    await withServer({ cwd: repo.dir, env: { HOME: home } }, async (server) => {
      const seen: { progress: number; total: number; progressToken: string }[] = [];
      server.onNotification((message) => {
        if (message.method === "notifications/progress") seen.push(message.params);
      });
      const params = {
        name: "create_worktree",
        arguments: { sessionId: "slow" },
        _meta: { progressToken: "tok" },
      };
      const { result } = await server.request("tools/call", params);
      assert.equal(result.isError, undefined);
      assert.ok(seen.length >= 2, `${seen.length} reports`);
      for (const [at, report] of seen.entries()) {
        assert.deepEqual([report.total, report.progressToken], [FILES + 1, "tok"]);
        assert.ok(at === 0 || report.progress > seen[at - 1].progress, "always rising");
      }
    });
  }));

Deno.test("garbage on the input neither ends the server nor reaches its output", () =>
  withTemp(async (dir) => {
    const random = seededRandom("garbage");
    const repo = makeRepo(join(dir, "repo"));
    const server = await Server.connect({ cwd: repo.dir, flags: ["-log-level", "silent"] });
    const total = rounds(2_000, 10_000);
    const pieces: Uint8Array[] = [];
    const asked: (string | number)[] = [];
    for (let n = 0; n < total; n++) pieces.push(garbageLine(random, n, asked));
    for (const piece of pieces) await server.sendText(piece);
    assert.deepEqual((await server.request("ping", {}, "still-here")).result, {});
    assert.equal((await server.payload("get_sessions")).totalCount, 0);
    for (const line of server.lines) {
      const message = JSON.parse(line);
      assert.equal(message.jsonrpc, "2.0");
      assert.ok(message.result || message.error, line);
    }
    const answered = new Set(server.lines.map((line) => JSON.parse(line).id));
    for (const id of asked) assert.ok(answered.has(id), `request ${id} got no answer`);
    assert.equal((await server.close()).code, 0);
  }));

const ENCODER = new TextEncoder();

/** One line of rubbish; ids of those that are owed an answer are noted. */
function garbageLine(random: () => number, n: number, asked: (string | number)[]): Uint8Array {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)];
  const line = (value: unknown) =>
    ENCODER.encode(`${typeof value === "string" ? value : JSON.stringify(value)}\n`);
  const id = `g${n}`;
  const weird = pick([
    null,
    0,
    -1,
    "",
    "x",
    [],
    {},
    [null],
    { a: { b: [1, { c: null }] } },
    true,
    1e308,
    "\u0000",
  ]);
  switch (Math.floor(random() * 12)) {
    case 0:
      return Uint8Array.from([
        ...Array.from({ length: 40 }, () => Math.floor(random() * 256)).filter((b) => b !== 10),
        10,
      ]);
    case 1:
      return line('{"jsonrpc":"2.0","id":' + pick(["1", "", "{", '"'])); // cut short
    case 2:
      return line(weird);
    case 3:
      asked.push(id);
      return line({
        jsonrpc: "2.0",
        id,
        method: pick(["", "x", "tools", "tools/calls", "initialize/x", "../../etc"]),
      });
    case 4:
      asked.push(id);
      return line({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: pick([undefined, {}, { name: weird }, { name: "get_sessions", arguments: weird }]),
      });
    case 5:
      return line({
        jsonrpc: "2.0",
        method: pick(["notifications/cancelled", "notifications/x", "notifications/progress"]),
        params: weird === null ? {} : { requestId: weird },
      });
    case 6:
      return line({ jsonrpc: pick(["1.0", 2, null]), method: "ping" });
    case 7:
      asked.push(id);
      return line({ jsonrpc: "2.0", id, method: weird });
    case 8:
      return line({ jsonrpc: "2.0", id: weird, result: {} });
    case 9:
      return line(`{"jsonrpc":"2.0","method":"${"y".repeat(Math.floor(random() * 100_000))}"}`);
    case 10:
      return line("[".repeat(5_000) + "]".repeat(5_000));
    default:
      return line(pick(["", "   ", "\r", "null", "\u2028", "\ufeff{}", "{}{}", "Content-Length: 20\r"]));
  }
}

Deno.test("a line of 40 MB is passed over and the connection goes on", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const server = await Server.connect({ cwd: repo.dir });
    const chunk = new Uint8Array(1024 * 1024).fill(120);
    for (let n = 0; n < 40; n++) await server.sendText(chunk);
    await server.sendText("\n");
    assert.deepEqual((await server.request("ping")).result, {});
    await server.close();
    assert.match(server.stderr, /over the limit/);
  }));
