/** Bounded parallelism: a fair semaphore, and a map that keeps the order of its input. */

/** A counting semaphore; waiters are served first come, first served. */
export class Semaphore {
  #free: number;
  #waiting: (() => void)[] = [];

  /** @param permits How many holders there may be at once, at least 1. */
  constructor(permits: number) {
    this.#free = Math.max(1, permits);
  }

  /** Waits for a permit, runs `work`, and gives the permit back however it ends. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}

/** How many children, or repositories, are worked on at once: the cores, at least two. */
export const PARALLELISM: number = Math.max(2, navigator.hardwareConcurrency);

/** Runs `work` over `items`, at most `limit` at a time; results stand in the order of the items. */
export function mapBounded<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const permits = new Semaphore(limit);
  return Promise.all(items.map((item, index) => permits.run(() => work(item, index))));
}
