/** Keeping answers to a size that clients do not cut. */

/** Characters that an answer may have at its defaults, in either half. */
export const ANSWER_BUDGET = 9_500;

/** Characters of a value on the wire. */
export function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}

/** The first candidate that fits, or the last. Candidates go from the fullest to the barest. */
export function firstFitting<T>(
  candidates: Iterable<T>,
  budget: number = ANSWER_BUDGET,
  size: (candidate: T) => number = sizeOf,
): T {
  let last: T | undefined;
  for (const candidate of candidates) {
    last = candidate;
    if (size(candidate) <= budget) break;
  }
  return last!;
}

/** As many of the first items as fit. */
export function leading<T>(items: readonly T[], budget: number): T[] {
  let left = budget;
  const end = items.findIndex((item) => (left -= sizeOf(item) + 1) < 0);
  return items.slice(0, end < 0 ? items.length : end);
}
