/** As much of an MCP client as the demo needs: it talks to a server child over its pipes. */
import { fileURLToPath } from "node:url";
import { start } from "../platform/process.ts";
import { linesOf } from "../server/stdio_transport.ts";
import { RUN_FLAGS } from "./run_flags.ts";

/** A tool's answer. */
export interface Answer {
  text: string;
  payload: Record<string, unknown> | undefined;
  isError: boolean;
}

/** A client of a server started with the given flags. */
export class DemoClient {
  #child: Deno.ChildProcess;
  #input: WritableStreamDefaultWriter<Uint8Array>;
  #waiting = new Map<number, (message: Record<string, unknown>) => void>();
  #next = 1;

  /** @param flags Flags of the server. */
  constructor(flags: readonly string[], cwd: string) {
    this.#child = start({ ...ownProgram(flags), cwd, env: Deno.env.toObject(), group: true });
    this.#input = this.#child.stdin.getWriter();
    this.#listen();
  }

  /** Opens the connection; returns the server's name and version. */
  async initialize(): Promise<string> {
    const result = await this.#request("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "demo", version: "1" },
    });
    await this.#send({ jsonrpc: "2.0", method: "notifications/initialized" });
    const { name, version } = result.serverInfo as { name: string; version: string };
    return `${name} ${version}`;
  }

  /** Calls a tool. */
  async call(name: string, args: Record<string, unknown> = {}): Promise<Answer> {
    const result = await this.#request("tools/call", { name, arguments: args });
    const [{ text }] = result.content as [{ text: string }];
    return {
      text,
      payload: result.structuredContent as Answer["payload"],
      isError: result.isError === true,
    };
  }

  /** Ends the input, as a client does, and waits for the server to end. */
  async close(): Promise<void> {
    await this.#input.close().catch(() => {});
    await this.#child.status;
  }

  async #request(method: string, params: unknown): Promise<Record<string, unknown>> {
    const id = this.#next++;
    const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>();
    this.#waiting.set(id, resolve);
    await this.#send({ jsonrpc: "2.0", id, method, params });
    const { result, error } = await promise as {
      result?: Record<string, unknown>;
      error?: { message: string };
    };
    if (!result) throw new Error(`${method}: ${error?.message ?? "no answer"}`);
    return result;
  }

  async #send(message: unknown): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`));
  }

  async #listen(): Promise<void> {
    for await (const line of linesOf(this.#child.stdout, () => {})) {
      const message = JSON.parse(line);
      this.#waiting.get(message.id)?.(message);
    }
    for (const settle of this.#waiting.values()) settle({ error: { message: "the server ended" } });
  }
}

function ownProgram(flags: readonly string[]): { file: string; args: string[] } {
  const file = Deno.execPath();
  if (Deno.build.standalone) return { file, args: [...flags] };
  return { file, args: ["run", ...RUN_FLAGS, fileURLToPath(Deno.mainModule), ...flags] };
}
