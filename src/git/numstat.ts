/** Lines added and removed: `git diff --numstat`. */

/** A count of changed lines; binary files count as none. */
export interface LineCount {
  added: number;
  removed: number;
}

/**
 * Sums `--numstat -z` records; see git-diff(1), Other Diff Formats. Records that are not counts (the paths
 * of a rename, commit headers) are passed over.
 */
export function sumNumstat(records: Iterable<string>): LineCount {
  const sum = { added: 0, removed: 0 };
  for (const record of records) {
    const [, added, removed] = /^(\d+)\t(\d+)\t/.exec(record) ?? [];
    if (added === undefined) continue;
    sum.added += Number(added);
    sum.removed += Number(removed);
  }
  return sum;
}
