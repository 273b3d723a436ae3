/**
 * The only door through which a child process is started.
 *
 * Rules kept here for every child: argv only, an absolute program, a cleared environment, standard input
 * closed unless given, output caps, a time limit, and an end on timeout, cancel or exit. A child that may start
 * programs of its own leads a process group, so that all of them end with it. The others do not: making a
 * group costs a fork of this whole process, several times what a quick git takes.
 */
import { ToolError } from "../errors.ts";

/** What to run and within which bounds. */
export interface RunOptions {
  /** Absolute path of the program. */
  file: string;
  args: readonly string[];
  cwd: string;
  /** The child's whole environment; nothing is inherited. */
  env: Record<string, string>;
  /** Standard input; without it the child reads end of file at once. */
  stdin?: string | Uint8Array;
  timeoutMs: number;
  /** The child may start programs that have to end with it. */
  group?: boolean;
  /** Bytes of standard output kept. What goes beyond ends the child when `stopAtCap`, else is dropped. */
  maxStdout: number;
  stopAtCap?: boolean;
  signal?: AbortSignal;
  /** Called with each piece of standard error as it comes: progress. */
  onStderr?: (text: string) => void;
}

/** How a child ended and what it said. */
export interface RunResult {
  /** Exit code; -1 when a signal ended it. */
  code: number;
  stdout: Uint8Array;
  stderr: string;
  /** Standard output went over the cap and was cut. */
  truncated: boolean;
  timedOut: boolean;
}

const MAX_STDERR = 64 * 1024;
/** How long the pipes of a child that has ended are read on when a program of its holds them open. */
const PIPE_GRACE_MS = 1_000;
/** How long a child has between the polite signal and the final one, milliseconds. */
const GRACE_MS = 500;
/** The same when the server itself is going down and its client waits. */
const LAST_GRACE_MS = 200;
const UNIX = Deno.build.os !== "windows";

/** Running children, and whether each leads a group. */
const live = new Map<Deno.ChildProcess, boolean>();
let goingDown = false;

/**
 * Runs a program to its end.
 *
 * @throws {ToolError} `cancelled` when the signal fires; a timeout is a result (`timedOut`), not an error.
 * @throws {Deno.errors.NotFound} When the program or the directory is not there.
 */
export async function run(options: RunOptions): Promise<RunResult> {
  if (options.signal?.aborted || goingDown) throw cancelled();
  const group = options.group ?? false;
  const child = new Deno.Command(options.file, {
    args: [...options.args],
    cwd: options.cwd,
    env: options.env,
    clearEnv: true,
    stdin: options.stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    detached: UNIX && group,
  }).spawn();
  live.set(child, group);

  let stopping: Promise<void> | undefined;
  let timedOut = false;
  const stop = () => void (stopping ??= endTree(child, group, GRACE_MS));
  const timer = setTimeout(() => {
    timedOut = true;
    stop();
  }, options.timeoutMs);
  options.signal?.addEventListener("abort", stop, { once: true });

  try {
    // A program left behind may hold the pipes open for ever: what it says later is of no interest.
    const over = child.status.then(() => pause(PIPE_GRACE_MS));
    const [out, err, status] = await Promise.all([
      collect(child.stdout, over, options.maxStdout, options.stopAtCap ? stop : undefined),
      collect(child.stderr, over, MAX_STDERR, undefined, options.onStderr),
      child.status,
      options.stdin === undefined ? undefined : feed(child.stdin, options.stdin),
    ]);
    await stopping;
    if (options.signal?.aborted) throw cancelled();
    return {
      code: status.signal ? -1 : status.code,
      stdout: out.bytes,
      stderr: new TextDecoder().decode(err.bytes),
      truncated: out.cut,
      timedOut,
    };
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", stop);
    live.delete(child);
  }
}

/** What a long-lived child is started with; the rules of {@linkcode RunOptions} hold. */
export interface StartOptions extends Pick<RunOptions, "file" | "args" | "cwd" | "env" | "group"> {
  /** Its standard error is of no interest; without it, it goes to ours. */
  quiet?: boolean;
}

/** Starts a child that is talked to over its pipes until its input is closed. */
export function start(options: StartOptions): Deno.ChildProcess {
  const group = options.group ?? false;
  const child = new Deno.Command(options.file, {
    args: [...options.args],
    cwd: options.cwd,
    env: options.env,
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: options.quiet ? "null" : "inherit",
    detached: UNIX && group,
  }).spawn();
  live.set(child, group);
  child.status.finally(() => live.delete(child));
  return child;
}

/** Ends every child that is still running, with its descendants, and lets none start after it: the end. */
export async function endAllChildren(): Promise<void> {
  goingDown = true;
  await Promise.all([...live].map(([child, group]) => endTree(child, group, LAST_GRACE_MS)));
}

/** Asks a child, with its process group if it leads one, to end, then makes it. */
async function endTree(child: Deno.ChildProcess, group: boolean, graceMs: number): Promise<void> {
  signalTree(child, group, "SIGTERM");
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, graceMs);
  await Promise.race([child.status, late]);
  clearTimeout(timer);
  // The group may outlive its leader, so the final signal goes out in any case.
  signalTree(child, group, "SIGKILL");
}

function signalTree(child: Deno.ChildProcess, group: boolean, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    if (UNIX && group) {
      Deno.kill(-child.pid, signal);
      return;
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) {
      // Without the full run permission only a helper may signal a group.
      if (runHelper("kill", [`-${signal.slice(3)}`, "--", `-${child.pid}`])) return;
    } else if (error instanceof Deno.errors.NotFound) return;
  }
  if (!UNIX && runHelper("taskkill", ["/T", "/F", "/PID", String(child.pid)])) return;
  try {
    child.kill(signal);
  } catch { /* it is gone already */ }
}

function runHelper(file: string, args: string[]): boolean {
  try {
    new Deno.Command(file, { args, stdin: "null", stdout: "null", stderr: "null" }).outputSync();
    return true;
  } catch {
    return false;
  }
}

async function collect(
  stream: ReadableStream<Uint8Array>,
  over: Promise<void>,
  cap: number,
  onCap?: () => void,
  onText?: (text: string) => void,
): Promise<{ bytes: Uint8Array; cut: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let cut = false;
  const decoder = onText && new TextDecoder();
  const reader = stream.getReader();
  let open = true;
  over.then(() => open ? reader.cancel() : undefined).catch(() => {});
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const chunk = piece.value;
    onText?.(decoder!.decode(chunk, { stream: true }));
    const room = cap - size;
    if (chunk.length > room) {
      if (!cut) onCap?.();
      cut = true;
    }
    if (room <= 0) continue;
    const kept = chunk.length > room ? chunk.subarray(0, room) : chunk;
    chunks.push(kept);
    size += kept.length;
  }
  open = false;
  return { bytes: join(chunks, size), cut };
}

function join(chunks: Uint8Array[], size: number): Uint8Array {
  if (chunks.length === 1) return chunks[0];
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

async function feed(stdin: WritableStream<Uint8Array>, data: string | Uint8Array): Promise<void> {
  const writer = stdin.getWriter();
  try {
    await writer.write(typeof data === "string" ? new TextEncoder().encode(data) : data);
    await writer.close();
  } catch { /* the child closed its end first: its exit code tells why */ }
}

/** A pause that does not keep the process alive. */
function pause(milliseconds: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  Deno.unrefTimer(setTimeout(resolve, milliseconds));
  return promise;
}

function cancelled(): ToolError {
  return new ToolError("cancelled", "the call was cancelled");
}
