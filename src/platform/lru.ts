/** A map that forgets what was not asked for the longest. */

/** How much there may be besides a number of entries. */
export interface LruWeight<V> {
  weight(value: V): number;
  most: number;
}

/** At most so many entries, and so much weight; a single entry may weigh more. */
export class LruMap<K, V> {
  #map = new Map<K, V>();
  #weight = 0;
  readonly #entries: number;
  readonly #limit: LruWeight<V> | undefined;

  constructor(entries: number, limit?: LruWeight<V>) {
    this.#entries = entries;
    this.#limit = limit;
  }

  get(key: K): V | undefined {
    const value = this.#map.get(key);
    if (value === undefined) return undefined;
    this.#map.delete(key);
    this.#map.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    this.#map.set(key, value);
    this.#weight += this.#limit?.weight(value) ?? 0;
    for (const [oldest] of this.#map) {
      const over = this.#map.size > this.#entries || this.#weight > (this.#limit?.most ?? Infinity);
      if (!over || this.#map.size === 1) return;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const value = this.#map.get(key);
    if (value === undefined) return;
    this.#map.delete(key);
    this.#weight -= this.#limit?.weight(value) ?? 0;
  }

  /** From the one not asked for the longest to the latest. */
  values(): IterableIterator<V> {
    return this.#map.values();
  }
}
