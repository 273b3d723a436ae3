/** Which words were met before, in a few bytes each: a large tree has millions. */
import { isWordUnit } from "../match/text.ts";

const FIRST_SLOTS = 1 << 16;

/**
 * A set of words that remembers 64 bits of each. That two words of a million share them happens once in tens of
 * millions of trees.
 */
export class SeenWords {
  #slots = new Int32Array(2 * FIRST_SLOTS);
  #size = 0;

  /** Adds a word; false when it was there. */
  add(word: string): boolean {
    return this.#scan(word, () => {}) > 0;
  }

  /** Adds the words of a text without case and returns those that were not there. */
  addAll(lower: string): string[] {
    const fresh: string[] = [];
    this.#scan(lower, (start, end) => fresh.push(lower.slice(start, end)));
    return fresh;
  }

  clear(): void {
    this.#slots = new Int32Array(2 * FIRST_SLOTS);
    this.#size = 0;
  }

  /** Goes over the words without making strings of those that are known. Returns how many are new. */
  #scan(lower: string, onFresh: (start: number, end: number) => void): number {
    const { length } = lower;
    let found = 0;
    for (let at = 0; at < length; at++) {
      let unit = lower.charCodeAt(at);
      if (!isWordUnit(unit)) continue;
      const start = at;
      let [one, other] = [0x811c9dc5 | 0, 0x2545f491];
      do {
        one = Math.imul(one ^ unit, 0x01000193);
        other = Math.imul((other << 5 | other >>> 27) ^ unit, 0x9e3779b1);
        unit = ++at < length ? lower.charCodeAt(at) : 0;
      } while (isWordUnit(unit));
      one = Math.imul(one ^ one >>> 15, 0x2c1b3c6d);
      other = Math.imul(other ^ other >>> 13, 0x297a2d39) || 1;
      if (!this.#insert(one ^ one >>> 12, other)) continue;
      found++;
      onFresh(start, at);
    }
    return found;
  }

  /** @param other Never 0, which marks an empty slot. */
  #insert(one: number, other: number): boolean {
    if (this.#size * 4 > this.#slots.length) this.#grow();
    const at = this.#slotOf(this.#slots, one, other);
    if (this.#slots[at + 1] === other) return false;
    this.#slots[at] = one;
    this.#slots[at + 1] = other;
    this.#size++;
    return true;
  }

  /** The slot of a pair, or the empty one where it belongs. */
  #slotOf(slots: Int32Array, one: number, other: number): number {
    const mask = slots.length - 1;
    let at = (one << 1) & mask;
    while (slots[at + 1] !== 0 && (slots[at] !== one || slots[at + 1] !== other)) at = (at + 2) & mask;
    return at;
  }

  #grow(): void {
    const old = this.#slots;
    const grown = new Int32Array(old.length * 2);
    for (let i = 0; i < old.length; i += 2) {
      if (old[i + 1] === 0) continue;
      const at = this.#slotOf(grown, old[i], old[i + 1]);
      grown[at] = old[i];
      grown[at + 1] = old[i + 1];
    }
    this.#slots = grown;
  }
}
