/** The worktrees of a repository: `git worktree list --porcelain`. */
import type { Repository } from "./repository.ts";
import type { GitRunner } from "./runner.ts";

/** One worktree as git has it registered. */
export interface Worktree {
  /** Absolute path as git records it; it may have vanished. */
  path: string;
  /** Full object name of its HEAD; null before the first commit and for the bare entry. */
  head: string | null;
  /** Full ref name of its branch; null when detached. */
  branch: string | null;
  bare: boolean;
  /** Reason of its lock, empty when given without one; null when not locked. */
  locked: string | null;
}

/** The reason git itself sets while `git worktree add` is under way. */
export const INITIALIZING = "initializing";

/** All worktrees, the main one first. */
export async function listWorktrees(
  git: GitRunner,
  repository: Repository,
  signal?: AbortSignal,
): Promise<Worktree[]> {
  // -z came with git 2.36; before it a path with a newline cannot be told apart.
  const z = (await git.binary()).atLeast(2, 36) ? ["-z"] : [];
  const { stdout } = await git.exec(repository, ["worktree", "list", "--porcelain", ...z], { signal });
  return parseWorktrees(z.length > 0 ? stdout : stdout.replaceAll("\n", "\0"));
}

/** Parses the listing in its NUL-separated form; see git-worktree(1), Porcelain Format. */
export function parseWorktrees(text: string): Worktree[] {
  const worktrees: Worktree[] = [];
  for (const line of text.split("\0")) {
    const cut = line.indexOf(" ");
    const [label, value] = cut < 0 ? [line, ""] : [line.slice(0, cut), line.slice(cut + 1)];
    const current = worktrees.at(-1);
    if (label === "worktree") {
      worktrees.push({ path: value, head: null, branch: null, bare: false, locked: null });
    } else if (current && label === "HEAD") current.head = /^0+$/.test(value) ? null : value;
    else if (current && label === "branch") current.branch = value;
    else if (current && label === "bare") current.bare = true;
    else if (current && label === "locked") current.locked = value;
  }
  return worktrees;
}
