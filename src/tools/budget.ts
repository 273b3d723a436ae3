/** Keeping answers to a size that clients do not cut. */

/** Characters that an answer may have at its defaults, in either half. */
export const ANSWER_BUDGET = 9_500;

/** Characters of a value on the wire. */
export function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}

/**
 * The first candidate that fits, or the last. They go from the fullest to the barest, each smaller than the one
 * before it, and only those are made that have to be looked at.
 */
export function firstFitting<T>(candidates: readonly (() => T)[], budget: number = ANSWER_BUDGET): T {
  const fullest = candidates[0]();
  if (sizeOf(fullest) <= budget || candidates.length === 1) return fullest;
  let best = candidates[candidates.length - 1]();
  let [low, high] = [1, candidates.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    const candidate = candidates[middle]();
    if (sizeOf(candidate) <= budget) [best, high] = [candidate, middle];
    else low = middle + 1;
  }
  return best;
}

/** Ever smaller numbers from `from` down to 1, each about a quarter less. */
export function shrinking(from: number, factor = 0.75): number[] {
  const numbers: number[] = [];
  for (let n = from; n > 0; n = Math.floor(n * factor)) numbers.push(n);
  return numbers;
}

/** As many of the first items as fit. */
export function leading<T>(items: readonly T[], budget: number): T[] {
  let left = budget;
  const end = items.findIndex((item) => (left -= sizeOf(item) + 1) < 0);
  return items.slice(0, end < 0 ? items.length : end);
}
