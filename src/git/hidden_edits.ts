/**
 * Edits that git was told not to look at: files marked assume-unchanged or skip-worktree whose content on disk
 * is not that of the index. `git status` is silent about them; see git-update-index(1).
 */
import { join } from "node:path";
import { lstatOrNull } from "../platform/jail.ts";
import { withIndexCopy } from "./index_copy.ts";
import type { IndexEntry } from "./index_entries.ts";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/** Paths with hidden edits, relative to the top. */
export async function hiddenEdits(
  git: GitRunner,
  tree: Repository,
  entries: readonly IndexEntry[],
  options: GitOptions = {},
): Promise<string[]> {
  const present: string[] = [];
  const unreadable: string[] = [];
  for (const { path, unwatched } of entries) {
    if (!unwatched) continue;
    // A name that is not UTF-8 cannot be looked up: better taken for an edit than for none.
    if (path.includes("\ufffd")) unreadable.push(path);
    else if (await lstatOrNull(join(tree.root, path))) present.push(path);
  }
  if (present.length === 0) return unreadable;
  return await withIndexCopy(tree, async (copy) => {
    const env = { GIT_INDEX_FILE: copy };
    await watchAgain(git, tree, present, { ...options, env });
    const changed = await git.exec(tree, ["diff-files", "--name-only", "-z"], { ...options, env });
    const wanted = new Set(present);
    return [...changed.stdout.split("\0").filter((path) => wanted.has(path)), ...unreadable];
  });
}

/** Takes both marks off, in the index that `options.env` names. */
export async function watchAgain(
  git: GitRunner,
  tree: Repository,
  paths: readonly string[],
  options: GitOptions,
): Promise<void> {
  const stdin = paths.map((path) => `${path}\0`).join("");
  for (const flag of ["--no-assume-unchanged", "--no-skip-worktree"]) {
    await git.exec(tree, ["update-index", flag, "-z", "--stdin"], { ...options, write: true, stdin });
  }
}
