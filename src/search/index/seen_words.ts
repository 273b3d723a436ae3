/** Which words were met before, in a few bytes each: a large tree has millions. */
import { isWordUnit } from "../match/text.ts";

const FIRST_SLOTS = 1 << 16;
/** The old slots and the new ones are in memory together for a moment. */
const GROWTH = 1.5;

/** Words of a document: those met for the first time, and those that only one other document had so far. */
export interface Met {
  fresh: string[];
  again: string[];
}

/**
 * A set of words that remembers 64 bits of each, and the document it was met in as long as there is only one.
 * That two words of a million share their bits happens once in tens of millions of trees.
 */
export class SeenWords {
  #slots = new Int32Array(2 * FIRST_SLOTS);
  /** By slot: the only document with the word; {@linkcode SEVERAL} when there are more. */
  #documents = new Int32Array(FIRST_SLOTS);
  #size = 0;

  /** Adds a word of a document; false when it was there, which then is a word of several. */
  add(word: string, document: number): boolean {
    const { fresh } = this.addAll(word, document);
    return fresh.length > 0;
  }

  has(word: string): boolean {
    let found = false;
    scan(word, (one, other) => found = this.#slots[2 * this.#slotOf(one, other) + 1] !== 0);
    return found;
  }

  /** The only document with a word; {@linkcode SEVERAL} when there are more, or when the word is not there. */
  documentOf(word: string): number {
    let document = SEVERAL;
    scan(word, (one, other) => {
      const slot = this.#slotOf(one, other);
      if (this.#slots[2 * slot + 1] !== 0) document = this.#documents[slot];
    });
    return document;
  }

  /** Adds the words of a document, given without case. */
  addAll(lower: string, document: number): Met {
    const met: Met = { fresh: [], again: [] };
    scan(lower, (one, other, start, end) => {
      if (this.#size * 4 > this.#documents.length * 3) this.#grow();
      const slot = this.#slotOf(one, other);
      if (this.#slots[2 * slot + 1] === 0) {
        this.#slots[2 * slot] = one;
        this.#slots[2 * slot + 1] = other;
        this.#documents[slot] = document;
        this.#size++;
        met.fresh.push(lower.slice(start, end));
        return;
      }
      const known = this.#documents[slot];
      if (known === document || known === SEVERAL) return;
      this.#documents[slot] = SEVERAL;
      met.again.push(lower.slice(start, end));
    });
    return met;
  }

  clear(): void {
    this.#slots = new Int32Array(2 * FIRST_SLOTS);
    this.#documents = new Int32Array(FIRST_SLOTS);
    this.#size = 0;
  }

  /** The slot of a pair, or the empty one where it belongs. */
  #slotOf(one: number, other: number): number {
    const slots = this.#slots;
    const { length } = this.#documents;
    let at = (one >>> 0) % length;
    while (slots[2 * at + 1] !== 0 && (slots[2 * at] !== one || slots[2 * at + 1] !== other)) {
      if (++at === length) at = 0;
    }
    return at;
  }

  #grow(): void {
    const [slots, documents] = [this.#slots, this.#documents];
    const length = Math.ceil(documents.length * GROWTH);
    this.#slots = new Int32Array(2 * length);
    this.#documents = new Int32Array(length);
    for (let old = 0; old < documents.length; old++) {
      const [one, other] = [slots[2 * old], slots[2 * old + 1]];
      if (other === 0) continue;
      const slot = this.#slotOf(one, other);
      this.#slots[2 * slot] = one;
      this.#slots[2 * slot + 1] = other;
      this.#documents[slot] = documents[old];
    }
  }
}

/** In place of a document: there are several. */
export const SEVERAL = 0;

/** Goes over the words of a text without making strings of them; tells the two halves of their bits. */
function scan(lower: string, take: (one: number, other: number, start: number, end: number) => void): void {
  const { length } = lower;
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
    // 0 marks an empty slot.
    other = Math.imul(other ^ other >>> 13, 0x297a2d39) || 1;
    take(one ^ one >>> 12, other, start, at);
  }
}
