/**
 * One writer at a time, across the calls of this process and across processes.
 *
 * The lock is an advisory lock (flock) on a file, which the system drops when its holder dies. A git child
 * can outlive a holder that was killed, so the holder notes the child's process group in the file, and
 * whoever takes the lock next waits for that group too.
 */
import { ToolError } from "../errors.ts";
import { isAlive } from "./process.ts";

/** What the holder of a lock can do with it. */
export interface HeldLock {
  /** Notes the child that works under the lock; pass it as `onChild` to the runner. */
  noteChild(pid: number | null): void;
}

/** How to wait for a lock. */
export interface LockOptions {
  signal?: AbortSignal;
  /** How long to wait before giving up with `repo_locked`, milliseconds. */
  waitMs?: number;
}

const WAIT_MS = 30_000;
const ENCODER = new TextEncoder();

/** Per lock file, the end of the queue of calls of this process. */
const queues = new Map<string, Promise<void>>();

/**
 * Runs `work` while holding the lock file at `path`, which is created when missing and never deleted.
 *
 * @throws {ToolError} `repo_locked` after `waitMs`; `cancelled` when the signal fires while waiting.
 */
export async function withLock<T>(
  path: string,
  work: (lock: HeldLock) => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const before = queues.get(path) ?? Promise.resolve();
  const { promise: done, resolve: leave } = Promise.withResolvers<void>();
  const tail = before.then(() => done);
  queues.set(path, tail);
  const deadline = Date.now() + (options.waitMs ?? WAIT_MS);
  try {
    await turn(before, path, deadline, options.signal);
    const file = await Deno.open(path, { read: true, write: true, create: true, mode: 0o600 });
    try {
      await acquire(file, path, deadline, options.signal);
      return await work({ noteChild: (pid) => writeNote(file, pid) });
    } finally {
      file.close();
    }
  } finally {
    leave();
    if (queues.get(path) === tail) queues.delete(path);
  }
}

async function turn(before: Promise<void>, path: string, deadline: number, signal?: AbortSignal) {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(new ToolError("cancelled", "the call was cancelled"));
  if (signal?.aborted) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => reject(locked(path, "another call of this server")), deadline - Date.now());
  try {
    await Promise.race([before, promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

async function acquire(file: Deno.FsFile, path: string, deadline: number, signal?: AbortSignal) {
  let pause = 2;
  while (!(await file.tryLock(true))) {
    await sleepOrFail(pause, path, "another process", deadline, signal);
    pause = Math.min(pause * 2, 25) * (0.5 + Math.random());
  }
  for (let pid = readNote(file); pid !== null && isAlive(pid); pid = readNote(file)) {
    await sleepOrFail(25, path, `a git process left behind (process ${pid})`, deadline, signal);
  }
  writeNote(file, null);
}

async function sleepOrFail(ms: number, path: string, holder: string, deadline: number, signal?: AbortSignal) {
  if (signal?.aborted) throw new ToolError("cancelled", "the call was cancelled");
  if (Date.now() >= deadline) throw locked(path, holder);
  await new Promise((resolve) => setTimeout(resolve, ms));
}

function locked(path: string, holder: string): ToolError {
  return new ToolError("repo_locked", `${holder} holds the lock '${path}'`, { details: { lock: path } });
}

function readNote(file: Deno.FsFile): number | null {
  file.seekSync(0, Deno.SeekMode.Start);
  const buffer = new Uint8Array(32);
  const text = new TextDecoder().decode(buffer.subarray(0, file.readSync(buffer) ?? 0));
  const pid = Number.parseInt(text, 10);
  return Number.isSafeInteger(pid) && pid > 1 ? pid : null;
}

function writeNote(file: Deno.FsFile, pid: number | null): void {
  file.truncateSync(0);
  if (pid === null) return;
  file.seekSync(0, Deno.SeekMode.Start);
  file.writeSync(ENCODER.encode(`${pid}\n`));
}
