/**
 * MCP over standard input and output: one JSON-RPC message a line.
 *
 * It takes the place of the SDK's transport because a server must survive whatever stands on its input: that
 * one ends the connection at a line of 10 MB and leaves a malformed request without any answer. Here an
 * over-long line is passed over, and a request that can be told as one is answered with an error.
 */
import {
  INVALID_REQUEST,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import { messageOf } from "../errors.ts";

/** Longest line taken as a message, bytes. */
const LONGEST_LINE = 32 * 1024 * 1024;
/** How long calls that are under way when the input ends may take to be answered, milliseconds. */
const DRAIN_MS = 300;
const NEWLINE = 10;

/** A {@linkcode Transport} over a pair of byte streams. */
export class StdioTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  #input: ReadableStream<Uint8Array>;
  #output: WritableStreamDefaultWriter<Uint8Array>;
  #unanswered = new Set<string | number>();
  #drained: (() => void) | undefined;
  #closed = false;

  constructor(input: ReadableStream<Uint8Array>, output: WritableStream<Uint8Array>) {
    this.#input = input;
    this.#output = output.getWriter();
  }

  /** Starts reading; returns at once. */
  start(): Promise<void> {
    this.#read().catch((error) => this.onerror?.(error)).finally(() => this.close());
    return Promise.resolve();
  }

  /** Writes one message; the stream keeps them whole and in order. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) throw new Error("the connection is closed");
    await this.#write(message);
    if ("id" in message && !("method" in message)) this.#answered(message.id!);
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.onclose?.();
    }
    return Promise.resolve();
  }

  async #read(): Promise<void> {
    for await (const line of linesOf(this.#input, (size) => this.#tooLong(size))) this.#take(line);
    if (this.#unanswered.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drained = resolve;
    const timer = setTimeout(resolve, DRAIN_MS);
    await promise;
    clearTimeout(timer);
  }

  #take(line: string): void {
    if (line.trim() === "") return;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      this.onerror?.(new Error(`not JSON, passed over: ${messageOf(error)}`));
      return;
    }
    if (isJSONRPCRequest(value)) this.#unanswered.add(value.id);
    else if (!isJSONRPCNotification(value) && !isJSONRPCResponse(value)) return this.#refuse(value);
    else if (isJSONRPCNotification(value) && value.method === "notifications/cancelled") {
      // A cancelled request gets no answer.
      this.#answered((value.params as { requestId?: string | number } | undefined)?.requestId ?? "");
    }
    try {
      this.onmessage?.(value as JSONRPCMessage);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Whoever waits for an answer gets one, if it can be told who that is. */
  #refuse(value: unknown): void {
    this.onerror?.(new Error("not a JSON-RPC message, passed over"));
    const { id, method } = Object(value) as { id?: unknown; method?: unknown };
    if (method === undefined || (typeof id !== "string" && typeof id !== "number")) return;
    const error = { code: INVALID_REQUEST, message: "Invalid Request: not a JSON-RPC 2.0 request" };
    this.#write({ jsonrpc: "2.0", id, error }).catch((cause) => this.onerror?.(cause));
  }

  #tooLong(size: number): void {
    this.onerror?.(new Error(`a line of ${size} bytes or more is over the limit, passed over`));
  }

  async #write(message: JSONRPCMessage): Promise<void> {
    try {
      await this.#output.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`));
    } catch (error) {
      // Nobody reads any more: there is nothing left to serve.
      await this.close();
      throw error;
    }
  }

  #answered(id: string | number): void {
    this.#unanswered.delete(id);
    if (this.#unanswered.size === 0) this.#drained?.();
  }
}

/** Splits bytes into lines; a line over the limit is dropped and told of once. */
export async function* linesOf(
  input: ReadableStream<Uint8Array>,
  onTooLong: (size: number) => void,
  longest = LONGEST_LINE,
): AsyncGenerator<string> {
  let parts: Uint8Array[] = [];
  let size = 0;
  let dropping = false;
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      parts.push(chunk.subarray(from, end));
      if (!dropping && size + end - from <= longest) yield decoded(parts);
      else if (!dropping) onTooLong(size + end - from);
      [parts, size, dropping, from] = [[], 0, false, end + 1];
    }
    if (dropping) continue;
    parts.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size <= longest) continue;
    onTooLong(size);
    [parts, dropping] = [[], true];
  }
  // A last line without a line end is a message too.
  if (!dropping && size > 0) yield decoded(parts);
}

function decoded(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
}
