/** Commits of a session that its base does not have, and which of them removal would leave without a name. */
import { isContained } from "../git/containment.ts";
import { findBaseOrOther } from "./base.ts";
import type { SessionScope } from "./scope.ts";
import type { Session } from "./session.ts";

/** What of some tips is not in the base. */
export interface Unmerged {
  /** Commits whose work is in neither the base nor its upstream. */
  count: number;
  /** The tips that have commits outside, also when the work itself is inside under other names. */
  unnamed: string[];
}

/** Counts what of `tips` (full object names) is outside the session's base and the base's upstream. */
export async function unmergedCommits(
  scope: SessionScope,
  session: Session,
  tips: readonly string[],
  signal?: AbortSignal,
): Promise<Unmerged> {
  const found = await findBaseOrOther(scope, session.base, signal);
  // A session cannot be its own base.
  const base = found?.name === session.branch ? null : found;
  const safe = base ? [base.oid, ...(base.upstream ? [base.upstream] : [])] : [];
  const unnamed: string[] = [];
  const lost: string[] = [];
  for (const tip of tips) {
    if (safe.includes(tip) || await countOutside(scope, [tip], safe, signal) === 0) continue;
    unnamed.push(tip);
    if (!await containedInAny(scope, tip, safe, signal)) lost.push(tip);
  }
  return { count: lost.length === 0 ? 0 : await countOutside(scope, lost, safe, signal), unnamed };
}

async function countOutside(
  scope: SessionScope,
  tips: readonly string[],
  safe: readonly string[],
  signal?: AbortSignal,
): Promise<number> {
  const args = ["rev-list", "--count", ...tips, "--not", ...safe];
  return Number((await scope.git.exec(scope.main, args, { signal })).stdout);
}

async function containedInAny(
  scope: SessionScope,
  tip: string,
  bases: readonly string[],
  signal?: AbortSignal,
): Promise<boolean> {
  for (const base of bases) {
    const { stdout } = await scope.git.exec(scope.main, ["merge-base", base, tip], { okCodes: [1], signal });
    const mergeBase = stdout.trim() || null;
    if (await isContained(scope.git, scope.main, { base, tip, mergeBase }, { signal })) return true;
  }
  return false;
}
