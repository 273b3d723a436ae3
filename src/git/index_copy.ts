/** Working on a copy of a worktree's index, so that the user's own stays as it is. */
import { join } from "node:path";
import { lstatOrNull } from "../platform/jail.ts";
import type { Repository } from "./repository.ts";

/** Runs `work` with the path of a copy, which is deleted afterwards with what stands beside it under its name. */
export async function withIndexCopy<T>(tree: Repository, work: (copy: string) => Promise<T>): Promise<T> {
  await sweep(tree.ownDir, STALE_MS);
  const name = `${COPY}${crypto.randomUUID().slice(0, 8)}`;
  const copy = join(tree.ownDir, name);
  try {
    try {
      copyIndex(join(tree.ownDir, "index"), copy);
    } catch (error) {
      // A worktree in which nothing was ever staged has no index.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    return await work(copy);
  } finally {
    await sweep(tree.ownDir, 0, name);
  }
}

const COPY = "index-copy-";
/** Copies this old are those of killed servers, milliseconds. */
const STALE_MS = 3_600_000;

async function sweep(directory: string, olderThan: number, prefix = COPY): Promise<void> {
  for (const { name } of await Array.fromAsync(Deno.readDir(directory)).catch(() => [])) {
    if (!name.startsWith(prefix)) continue;
    const file = join(directory, name);
    // Its time of modification is that of the index it was copied from.
    const made = (await lstatOrNull(file))?.ctime?.getTime() ?? Date.now();
    if (Date.now() - made >= olderThan) await Deno.remove(file).catch(() => {});
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
