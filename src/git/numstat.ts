/** Lines added and removed: `git diff --numstat -z`, see git-diff(1), Other Diff Formats. */
import { NO_DIFF_PROGRAMS } from "./environment.ts";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/** The options of every counting diff. */
export const NUMSTAT: readonly string[] = [
  ...NO_DIFF_PROGRAMS,
  // Looking into submodules would follow their own config.
  "--ignore-submodules=dirty",
  "--numstat",
  "-M",
  "-z",
];

/** A count of changed lines; binary files count as none. */
export interface LineCount {
  added: number;
  removed: number;
}

/** The count of one file. */
export interface FileCount extends LineCount {
  path: string;
  /** Where a renamed or copied file came from. */
  from?: string;
  binary: boolean;
}

/** Parses the NUL-separated records of one diff; what is no record is passed over. */
export function parseNumstat(records: readonly string[]): FileCount[] {
  const files: FileCount[] = [];
  for (let i = 0; i < records.length; i++) {
    const [, added, removed, path] = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(records[i]) ?? [];
    if (path === undefined) continue;
    const count = { added: Number(added) || 0, removed: Number(removed) || 0, binary: added === "-" };
    // A rename has an empty path here and both of its paths behind.
    if (path !== "") files.push({ ...count, path });
    else files.push({ ...count, from: records[++i] ?? "", path: records[++i] ?? "" });
  }
  return files;
}

/** The sum over files. */
export function sumLines(files: readonly LineCount[]): LineCount {
  return files.reduce((sum, file) => ({
    added: sum.added + file.added,
    removed: sum.removed + file.removed,
  }), { added: 0, removed: 0 });
}

/**
 * The files that differ between pairs of commits, all counted by one git.
 *
 * @param pairs Full object names, `[commit, commit to compare it with]`.
 */
export async function countBetween(
  git: GitRunner,
  repository: Repository,
  pairs: readonly (readonly [string, string])[],
  options: GitOptions = {},
): Promise<FileCount[][]> {
  if (pairs.length === 0) return [];
  const stdin = pairs.map(([commit, from]) => `${commit} ${from}\n`).join("");
  const args = ["diff-tree", "--stdin", "--always", "-r", ...NUMSTAT];
  const { stdout } = await git.exec(repository, args, { ...options, stdin });
  const groups: string[][] = [];
  for (const record of stdout.split("\0")) {
    // Each answer is headed by the commit it is for.
    if (record === pairs[groups.length]?.[0]) groups.push([]);
    else groups.at(-1)?.push(record);
  }
  return pairs.map((_, at) => parseNumstat(groups[at] ?? []));
}
