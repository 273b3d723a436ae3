/** Writing to a repository: one call at a time among all servers, and never against a git that is at work. */
import { join } from "node:path";
import { ToolError } from "../errors.ts";
import { lstatOrNull } from "../platform/jail.ts";
import { type LockOptions, withLock } from "../platform/lock.ts";
import type { Repository } from "./repository.ts";

/** Lock file in the common git directory: the same one whatever worktree or database a server uses. */
const LOCK_FILE = "orchestragent-mcp.lock";
/** How long a lock of git's own may be held by somebody else before a call gives up, milliseconds. */
const PATIENCE_MS = 2_000;

/**
 * Runs `work` as the only writer to the repository among all calls and servers.
 *
 * @throws {ToolError} `repo_locked`, `repo_not_writable`, `cancelled`.
 */
export async function asOnlyWriter<T>(
  repository: Repository,
  options: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  return await withLock(join(repository.commonDir, LOCK_FILE), work, options);
}

/**
 * Waits a moment for a git that holds the index, then gives up. The lock is never deleted: whether its holder
 * is alive cannot be told.
 *
 * @throws {ToolError} `repo_locked` with the lock's path and age, `cancelled`.
 */
export async function waitForIndex(tree: Repository, signal?: AbortSignal): Promise<void> {
  const lock = join(tree.ownDir, "index.lock");
  const deadline = Date.now() + PATIENCE_MS;
  for (let pause = 20;; pause = Math.min(pause * 2, 200)) {
    if (signal?.aborted) throw new ToolError("cancelled", "the call was cancelled");
    const info = await lstatOrNull(lock);
    if (info === null) return;
    if (Date.now() >= deadline) throw indexLocked(lock, info);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function indexLocked(lock: string, info: Deno.FileInfo): ToolError {
  const age = Math.max(0, Math.round((Date.now() - (info.mtime?.getTime() ?? Date.now())) / 1000));
  return new ToolError("repo_locked", `git holds '${lock}', made ${age} s ago`, {
    next: "Call again when that git has ended. If none runs any more, delete the lock file by hand.",
    details: { lock, ageSeconds: age },
  });
}
