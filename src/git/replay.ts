/** Applying commits one after the other onto another one, as objects only: what a rebase and a pick both are. */
import type { CommitObject, CommitWriter } from "./commit_objects.ts";
import type { Merger, MergeResult } from "./merge_tree.ts";

/** How far a replay came. */
export interface Replay {
  /** Full object name of the last commit made; the start when none was. */
  tip: string;
  /** How many commits were made; what adds nothing is left out. */
  applied: number;
  /** The commit that could not be applied, and how it failed. */
  stopped?: { commit: CommitObject; result: MergeResult };
}

/**
 * Replays commits, oldest first. A commit whose change is there already is dropped. Merge commits have to be
 * sorted out before.
 *
 * @param keepEmpty Commits that are kept although they add nothing, because they never did.
 */
export async function replay(
  merger: Merger,
  writer: CommitWriter,
  onto: { oid: string; tree: string },
  commits: readonly CommitObject[],
  keepEmpty: ReadonlySet<string> = new Set(),
): Promise<Replay> {
  let [tip, tree] = [onto.oid, onto.tree];
  let applied = 0;
  for (const commit of commits) {
    const result = await merger.apply(commit.parents[0] ?? null, tip, commit.oid);
    if (result.conflicts.length > 0) return { tip, applied, stopped: { commit, result } };
    if (result.tree === tree && !keepEmpty.has(commit.oid)) continue;
    tip = await writer.copy(commit, result.tree, tip);
    tree = result.tree;
    applied++;
  }
  return { tip, applied };
}
