/** The worktrees of a repository: `git worktree list --porcelain`. */
import { dirname, join, normalize } from "node:path";
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
  const binary = await git.binary();
  // -z came with git 2.36; before it a path with a newline cannot be told apart.
  const z = binary.atLeast(2, 36) ? ["-z"] : [];
  const { stdout } = await git.exec(repository, ["worktree", "list", "--porcelain", ...z], { signal });
  const worktrees = parseWorktrees(z.length > 0 ? stdout : stdout.replaceAll("\n", "\0"));
  // Windows' git prints forward slashes.
  for (const worktree of worktrees) worktree.path = normalize(worktree.path);
  if (binary.atLeast(2, 31)) return worktrees;
  const locks = await readLocks(repository);
  return worktrees.map((worktree) => ({ ...worktree, locked: locks.get(worktree.path) ?? null }));
}

/** Git 2.30 does not list locks; they are files named `locked`, see git-worktree(1), DETAILS. */
async function readLocks(repository: Repository): Promise<Map<string, string>> {
  const locks = new Map<string, string>();
  const admin = join(repository.commonDir, "worktrees");
  const entries = await Array.fromAsync(Deno.readDir(admin)).catch(() => []);
  for (const { name } of entries) {
    const reason = await Deno.readTextFile(join(admin, name, "locked")).catch(() => null);
    const link = await Deno.readTextFile(join(admin, name, "gitdir")).catch(() => "");
    if (reason !== null) locks.set(dirname(link.trimEnd()), reason.trimEnd());
  }
  return locks;
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
