/** Sets of small numbers: the rows of the index. */

/** A growing set of numbers from 0 on. */
export class Bitset {
  #bits: Uint32Array;

  /** @param capacity Numbers below it need no growing. */
  constructor(capacity: number = 1024) {
    this.#bits = new Uint32Array((capacity >>> 5) + 1);
  }

  add(id: number): void {
    const at = id >>> 5;
    if (at >= this.#bits.length) {
      const grown = new Uint32Array(Math.max(at + 1, this.#bits.length * 2));
      grown.set(this.#bits);
      this.#bits = grown;
    }
    this.#bits[at] |= 1 << (id & 31);
  }

  has(id: number): boolean {
    return ((this.#bits[id >>> 5] ?? 0) & (1 << (id & 31))) !== 0;
  }
}
