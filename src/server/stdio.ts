/** Serving one client on standard input and output until it goes away. */
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { App } from "../app.ts";
import { log } from "../platform/log.ts";
import type { Tool } from "../tools/tool.ts";
import { mcpServerFactory } from "./mcp.ts";
import { StdioTransport } from "./stdio_transport.ts";

/** Serves until the input ends or the process is told to stop; then no child is left. */
export async function serveOnStdio(app: App, tools: readonly Tool[]): Promise<void> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const transport = new StdioTransport(Deno.stdin.readable, Deno.stdout.writable);
  const handle = serveStdio(mcpServerFactory(app, tools), {
    transport,
    onerror: (error) => log("warn", error.message),
  });
  const onClose = transport.onclose;
  transport.onclose = () => {
    onClose?.();
    stop();
  };
  for (const signal of stopSignals()) Deno.addSignalListener(signal, stop);
  await stopped;
  await Promise.allSettled([handle.close(), app.close()]);
}

function stopSignals(): Deno.Signal[] {
  return Deno.build.os === "windows" ? ["SIGINT", "SIGBREAK"] : ["SIGINT", "SIGTERM", "SIGHUP"];
}
