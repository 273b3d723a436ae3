/** Starting, memory, and the cost of a call. */
import { join } from "node:path";
import { ROOT } from "../../tests/support/paths.ts";
import { makeRepo, withTemp } from "../../tests/support/repo.ts";
import { Server } from "../../tests/support/server.ts";
import { inTurns, median, rows, section } from "./harness.ts";

await section("call overhead", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const server = await Server.connect({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] });
    const [call] = await inTurns(500, [() => server.payload("get_sessions")]);
    await server.close();
    rows.push({
      what: "a warm call that needs no git (`get_sessions` without sessions)",
      ours: call,
      floor: NaN,
      limit: 1,
      unit: "ms",
      note: "client to client",
    });
  }));

await section("start and memory", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    await new Deno.Command(Deno.execPath(), { args: ["task", "bundle"], cwd: ROOT }).output();
    const bundle = join(ROOT, "dist", "orchestragent-mcp.js");
    const empty = join(dir, "empty.ts");
    await Deno.writeTextFile(empty, "");
    const resident: number[] = [];
    const start = (target: string) => async () => {
      Deno.env.set("OMCP_TARGET", target);
      const server = await Server.connect({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] });
      if (target === bundle) {
        const status = await Deno.readTextFile(`/proc/${server.child.pid}/status`).catch(() => "");
        resident.push(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? NaN) / 1024);
      }
      void server.kill();
    };
    const [floor, fromBundle, fromSource] = await inTurns(25, [
      () => new Deno.Command(Deno.execPath(), { args: ["run", "-A", empty], stdin: "null" }).output(),
      start(bundle),
      start(join(ROOT, "src", "main.ts")),
    ]);
    Deno.env.delete("OMCP_TARGET");
    const what = "spawn to the answer of `initialize` / an empty Deno script";
    rows.push({
      what: `${what}: bundle`,
      ours: fromBundle,
      floor,
      limit: 5,
      unit: "×",
      note: "`deno task bundle`",
    });
    rows.push({ what: `${what}: source`, ours: fromSource, floor, limit: 8, unit: "×", note: "" });
    rows.push({
      what: "resident memory after `initialize`",
      ours: median(resident),
      floor: NaN,
      limit: 70,
      unit: "MiB",
      note: "bundle",
    });
  }));
