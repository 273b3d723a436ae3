/** Lines a worktree adds and removes against a commit, uncommitted edits included, for many worktrees at once. */
import { messageOf, ToolError } from "../errors.ts";
import { type FileCount, type LineCount, NUMSTAT, parseNumstat, sumLines } from "../git/numstat.ts";
import type { Repository } from "../git/repository.ts";
import type { GitOptions, GitRunner } from "../git/runner.ts";
import type { Status, StatusEntry } from "../git/status.ts";
import { mapBounded, PARALLELISM } from "../platform/pool.ts";

/** A worktree to count. */
export interface CountedTree {
  tree: Repository;
  status: Status;
  /** Full object name of the commit to count against. */
  from: string;
  /** What its commits changed since. */
  committed: readonly FileCount[];
}

/** More paths than this are not worth naming to git one by one. */
const MOST_PATHS = 200;

/** Counts every tree; a string is why one could not be counted. Only files edited since the last commit are read. */
export async function countLines(
  git: GitRunner,
  trees: readonly CountedTree[],
  options: GitOptions,
): Promise<(LineCount | string)[]> {
  return await mapBounded(trees, PARALLELISM, async (counted) => {
    try {
      return sumLines(await withEdits(git, counted, options));
    } catch (error) {
      if (error instanceof ToolError && error.code === "cancelled") throw error;
      return messageOf(error);
    }
  });
}

async function withEdits(
  git: GitRunner,
  { tree, status, from, committed }: CountedTree,
  options: GitOptions,
): Promise<readonly FileCount[]> {
  const edited = status.entries.filter((entry) => entry.kind !== "untracked");
  if (edited.length === 0) return committed;
  const paths = new Set(edited.map((entry) => entry.path));
  const apart = edited.length <= MOST_PATHS && edited.every(isPlainEdit) &&
    !committed.some((file) => isEntangled(file, paths));
  // Renames have to be seen whole.
  const args = ["diff", ...NUMSTAT, from, ...(apart ? ["--", ...paths] : [])];
  const now = parseNumstat((await git.exec(tree, args, options)).stdout.split("\0"));
  return apart ? [...committed.filter((file) => !paths.has(file.path)), ...now] : now;
}

/** A rename of an edited file, or a file that stood below what is a file now: counted together or wrongly. */
function isEntangled(file: FileCount, edited: ReadonlySet<string>): boolean {
  if (file.from !== undefined) return edited.has(file.path) || edited.has(file.from);
  return file.path.split("/").some((_, at, parts) => at > 0 && edited.has(parts.slice(0, at).join("/")));
}

function isPlainEdit(entry: StatusEntry): boolean {
  return entry.kind === "changed" && /^[.M][.M]$/.test(entry.xy) && entry.submodule === "N..." &&
    // A name that is not UTF-8 was not read as it is.
    !entry.path.includes("\ufffd");
}
