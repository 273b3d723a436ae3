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
    await Deno.copyFile(join(tree.ownDir, "index"), copy).catch(() => {});
    return await work({ GIT_INDEX_FILE: copy });
  } finally {
    await Deno.remove(copy).catch(() => {});
  }
}
