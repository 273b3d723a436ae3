/**
 * One writer at a time, across the calls of this process and across processes.
 *
 * The lock is an advisory lock (flock) on a file, which the system drops when its holder dies. A git child of
 * a killed holder may go on for a moment without it: what is done under a lock has to bear that.
 */
import { messageOf, ToolError } from "../errors.ts";

/** How to wait for a lock. */
export interface LockOptions {
  signal?: AbortSignal;
  /** How long to wait before giving up with `repo_locked`, milliseconds. */
  waitMs?: number;
}

const WAIT_MS = 30_000;

/** Per lock file, the end of the queue of calls of this process. */
const queues = new Map<string, Promise<void>>();

/**
 * Runs `work` while holding the lock file at `path`, which is created when missing and never deleted.
 *
 * @throws {ToolError} `repo_not_writable`; `repo_locked` after `waitMs`; `cancelled` when the signal fires while waiting.
 */
export async function withLock<T>(
  path: string,
  work: () => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const before = queues.get(path) ?? Promise.resolve();
  const { promise: done, resolve: leave } = Promise.withResolvers<void>();
  const tail = before.then(() => done);
  queues.set(path, tail);
  const deadline = Date.now() + (options.waitMs ?? WAIT_MS);
  try {
    await turn(before, path, deadline, options.signal);
    const file = await openLock(path);
    try {
      await acquire(file, path, deadline, options.signal);
      return await work();
    } finally {
      file.close();
    }
  } finally {
    leave();
    if (queues.get(path) === tail) queues.delete(path);
  }
}

async function openLock(path: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(path, { read: true, write: true, create: true, mode: 0o600 });
  } catch (cause) {
    const message = `the lock file '${path}' cannot be opened: ${messageOf(cause)}`;
    throw new ToolError("repo_not_writable", message, { cause });
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
}

async function sleepOrFail(ms: number, path: string, holder: string, deadline: number, signal?: AbortSignal) {
  if (signal?.aborted) throw new ToolError("cancelled", "the call was cancelled");
  if (Date.now() >= deadline) throw locked(path, holder);
  await new Promise((resolve) => setTimeout(resolve, ms));
}

function locked(path: string, holder: string): ToolError {
  return new ToolError("repo_locked", `${holder} holds the lock '${path}'`, { details: { lock: path } });
}
