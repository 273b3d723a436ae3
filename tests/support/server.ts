/** The real program as a child process, and a client that writes the protocol's lines by hand. */
import { RUN_FLAGS } from "../../src/cli/run_flags.ts";
import { fromFileUrl, ROOT } from "./paths.ts";
import { testEnv } from "./repo.ts";

/** The protocol revisions of the two eras. */
export const LEGACY = "2025-11-25";
export const MODERN = "2026-07-28";

/** A JSON-RPC message as it stood on the wire. */
// deno-lint-ignore no-explicit-any -- tests look into answers of any shape
export type Message = Record<string, any>;

/** The command that starts what is under test: the source, or what OMCP_TARGET or OMCP_BINARY names. */
export function serverCommand(flags: readonly string[]): { file: string; args: string[] } {
  const binary = Deno.env.get("OMCP_BINARY");
  if (binary) return { file: binary, args: [...flags] };
  const script = Deno.env.get("OMCP_TARGET") ?? fromFileUrl("../../src/main.ts");
  return {
    file: Deno.execPath(),
    args: ["run", ...RUN_FLAGS, `--config=${ROOT}/deno.json`, script, ...flags],
  };
}

/** How a server is started. */
export interface ServerOptions {
  cwd: string;
  flags?: readonly string[];
  env?: Record<string, string>;
  /** Directories that the client names as its roots; left out, it knows no roots. */
  roots?: readonly string[];
}

/** A server child. */
export class Server {
  readonly child: Deno.ChildProcess;
  /** Every line of standard output. */
  readonly lines: string[] = [];
  stderr = "";
  #input: WritableStreamDefaultWriter<Uint8Array>;
  #waiting = new Map<string | number, (message: Message) => void>();
  #onNotification: (message: Message) => void = () => {};
  #next = 1;
  #modern = false;
  #roots: readonly string[] | undefined;
  #mute = false;
  /** How often the server asked for the client's roots. */
  rootsAsked = 0;
  #done: Promise<unknown>;

  constructor(options: ServerOptions) {
    const { file, args } = serverCommand(options.flags ?? []);
    this.#roots = options.roots;
    this.child = new Deno.Command(file, {
      args,
      cwd: options.cwd,
      env: { ...testEnv(), ...options.env },
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#input = this.child.stdin.getWriter();
    this.#done = Promise.all([this.#readLines(), this.#readErrors()]);
  }

  /** Starts a server and opens the connection in the given era. */
  static async connect(options: ServerOptions & { era?: typeof LEGACY | typeof MODERN }): Promise<Server> {
    const server = new Server(options);
    if (options.era === MODERN) server.#modern = true;
    else await server.initialize();
    return server;
  }

  async initialize(): Promise<Message> {
    const answer = await this.request("initialize", {
      protocolVersion: LEGACY,
      capabilities: this.#roots ? { roots: { listChanged: true } } : {},
      clientInfo: { name: "test", version: "1" },
    });
    await this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return answer;
  }

  /** Sends a request and waits for its answer, whole. */
  async request(method: string, params: Message = {}, id: string | number = this.#next++): Promise<Message> {
    const { promise, resolve } = Promise.withResolvers<Message>();
    this.#waiting.set(id, resolve);
    await this.send({ jsonrpc: "2.0", id, method, params: this.#withEnvelope(params) });
    return await promise;
  }

  /** Calls a tool; returns the result, or throws for a protocol error. */
  async call(name: string, args: Message = {}, more: Message = {}): Promise<Message> {
    return await this.answered("tools/call", { name, arguments: args, ...more });
  }

  /** Sends a request, answers what the server asks back in the new era, and returns the result. */
  async answered(method: string, params: Message = {}): Promise<Message> {
    let answer = await this.request(method, params);
    if (answer.result?.resultType === "input_required") {
      const asked = Object.entries(answer.result.inputRequests as Record<string, Message>);
      const inputResponses = Object.fromEntries(asked.map(([key, { method }]) => {
        if (method !== "roots/list") throw new Error(`the server asked for ${method}`);
        return [key, this.#rootList()];
      }));
      answer = await this.request(method, { ...params, inputResponses });
    }
    if (answer.error) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
    return answer.result;
  }

  /** From now on the client does not answer what the server asks. */
  mute(): void {
    this.#mute = true;
  }

  /** Changes the client's roots and says so, as an editor does. */
  async changeRoots(roots: readonly string[]): Promise<void> {
    this.#roots = roots;
    await this.send({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
  }

  #rootList(): Message {
    this.rootsAsked++;
    return {
      roots: (this.#roots ?? []).map((dir) => ({ uri: dir.includes("://") ? dir : `file://${dir}` })),
    };
  }

  /** Calls a tool and returns its payload; throws when it is an error. */
  async payload(name: string, args: Message = {}): Promise<Message> {
    const result = await this.call(name, args);
    if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
    return result.structuredContent;
  }

  /** Calls a tool that has to fail and returns the text. */
  async refusal(name: string, args: Message = {}): Promise<string> {
    const result = await this.call(name, args);
    if (!result.isError) throw new Error(`${name} succeeded: ${JSON.stringify(result.structuredContent)}`);
    if (result.structuredContent !== undefined) throw new Error(`${name}: an error with structuredContent`);
    return result.content[0].text;
  }

  async send(message: Message): Promise<void> {
    await this.sendText(`${JSON.stringify(message)}\n`);
  }

  async sendText(text: string | Uint8Array): Promise<void> {
    await this.#input.write(typeof text === "string" ? new TextEncoder().encode(text) : text);
  }

  onNotification(listener: (message: Message) => void): void {
    this.#onNotification = listener;
  }

  /** Ends the input and waits; returns the exit code and how long it took. */
  async close(): Promise<{ code: number; milliseconds: number }> {
    const started = performance.now();
    await this.#input.close().catch(() => {});
    return await this.ended(started);
  }

  /** Kills the server as the system would. */
  async kill(signal: Deno.Signal = "SIGKILL"): Promise<{ code: number; milliseconds: number }> {
    const started = performance.now();
    try {
      this.child.kill(signal);
    } catch { /* it ended by itself */ }
    return await this.ended(started);
  }

  async ended(started = performance.now()): Promise<{ code: number; milliseconds: number }> {
    const { code } = await this.child.status;
    const milliseconds = performance.now() - started;
    await this.#done;
    this.#input.abort().catch(() => {});
    return { code, milliseconds };
  }

  #withEnvelope(params: Message): Message {
    if (!this.#modern) return params;
    return {
      ...params,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": this.#roots ? { roots: {} } : {},
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
        ...params._meta,
      },
    };
  }

  async #readLines(): Promise<void> {
    let rest = "";
    for await (const text of this.child.stdout.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + text).split("\n");
      rest = parts.pop()!;
      for (const line of parts) this.#take(line);
    }
    if (rest !== "") this.lines.push(rest);
    for (const resolve of this.#waiting.values()) {
      resolve({ error: { code: 0, message: "the server ended" } });
    }
  }

  #take(line: string): void {
    this.lines.push(line);
    const message = JSON.parse(line);
    if (message.method === "roots/list") {
      if (!this.#mute) void this.send({ jsonrpc: "2.0", id: message.id, result: this.#rootList() });
      return;
    }
    if (message.method) return this.#onNotification(message);
    this.#waiting.get(message.id)?.(message);
    this.#waiting.delete(message.id);
  }

  async #readErrors(): Promise<void> {
    for await (const text of this.child.stderr.pipeThrough(new TextDecoderStream())) this.stderr += text;
  }
}

/** Runs `work` with a connected server, ended afterwards. */
export async function withServer(
  options: ServerOptions & { era?: typeof LEGACY | typeof MODERN },
  work: (server: Server) => Promise<void>,
): Promise<void> {
  const server = await Server.connect(options);
  try {
    await work(server);
  } finally {
    await server.close();
  }
}

/** Runs the program to its end, as a person would. */
export async function runProgram(
  options: ServerOptions,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { file, args } = serverCommand(options.flags ?? []);
  const { code, stdout, stderr } = await new Deno.Command(file, {
    args,
    cwd: options.cwd,
    env: { ...testEnv(), ...options.env },
    clearEnv: true,
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trimEnd();
  return { code, stdout: text(stdout), stderr: text(stderr) };
}
