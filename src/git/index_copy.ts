/** Working on a copy of a worktree's index, so that the user's own stays as it is. */
import { join } from "node:path";
import type { Repository } from "./repository.ts";

/** Runs `work` with the environment that makes git use the copy, which is deleted afterwards. */
export async function withIndexCopy<T>(
  tree: Repository,
  work: (env: Record<string, string>) => Promise<T>,
): Promise<T> {
  const copy = join(tree.ownDir, `index-copy-${crypto.randomUUID().slice(0, 8)}`);
  try {
    // A worktree in which nothing was ever staged has no index.
    copyIfThere(join(tree.ownDir, "index"), copy);
    return await work({ GIT_INDEX_FILE: copy });
  } finally {
    await Deno.remove(copy).catch(() => {});
  }
}

/**
 * Copies an index with its time. Git tells by it which entries to look at again: a file that was changed in
 * the same second as it was staged, to the same size, would go unseen behind a younger copy. See "Racy Git" in
 * git's technical documentation. Small files, many times over: waiting for each step would cost more than it.
 */
export function copyIndex(from: string, to: string): void {
  const { mtime } = Deno.statSync(from);
  Deno.copyFileSync(from, to);
  if (mtime) Deno.utimeSync(to, mtime, mtime);
}

function copyIfThere(from: string, to: string): void {
  try {
    copyIndex(from, to);
  } catch { /* nothing was ever staged */ }
}
