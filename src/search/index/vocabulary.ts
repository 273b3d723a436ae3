/** All words of an index, in memory, and those of them with a text in them. */

/** A word of an index. */
export interface Occurrence {
  word: string;
  /** The only document with it when it was written down, or {@linkcode SEVERAL}. */
  document: number;
}

/**
 * A growing list of words. Each has a signature, a bit for each pair of letters in it, so that nearly all words
 * without a text are passed over at the cost of two comparisons.
 */
export class Vocabulary {
  /** Between words, and at both ends, stands a line feed. */
  #text = "\n";
  #count = 0;
  #starts = new Uint32Array(1024);
  /** The only document with the word, or {@linkcode SEVERAL}. */
  #documents = new Int32Array(1024);
  #low = new Int32Array(1024);
  #high = new Int32Array(1024);

  /** Adds words, each with the only document that has it, or {@linkcode SEVERAL}; twice does no harm. */
  add(words: readonly string[], documents: ArrayLike<number>): void {
    if (words.length === 0) return;
    this.#reserve(this.#count + words.length);
    let at = this.#text.length;
    for (const [nth, word] of words.entries()) {
      const [low, high] = signatureOf(word);
      this.#documents[this.#count] = documents[nth];
      this.#starts[this.#count] = at;
      this.#low[this.#count] = low;
      this.#high[this.#count] = high;
      this.#count++;
      at += word.length + 1;
    }
    this.#text += `${words.join("\n")}\n`;
  }

  /** The words with a text in them, each with the document that had it first, or {@linkcode SEVERAL}. */
  with(part: string): Occurrence[] {
    const [low, high] = signatureOf(part);
    const [lows, highs, starts] = [this.#low, this.#high, this.#starts];
    const found: number[] = [];
    for (let i = 0; i < this.#count; i++) {
      if ((lows[i] & low) === low && (highs[i] & high) === high) found.push(i);
    }
    const text = this.#text;
    return found.flatMap((i) => {
      const word = text.slice(starts[i], this.#endOf(i));
      return word.includes(part) ? [{ word, document: this.#documents[i] }] : [];
    });
  }

  /** Every word. */
  *all(): Generator<string> {
    for (let i = 0; i < this.#count; i++) yield this.#text.slice(this.#starts[i], this.#endOf(i));
  }

  #endOf(nth: number): number {
    return (nth + 1 < this.#count ? this.#starts[nth + 1] : this.#text.length) - 1;
  }

  #reserve(count: number): void {
    if (count <= this.#starts.length) return;
    const room = Math.max(count, this.#starts.length * 2);
    const grown = <T extends Uint32Array | Int32Array>(old: T, fresh: T): T => {
      fresh.set(old);
      return fresh;
    };
    this.#starts = grown(this.#starts, new Uint32Array(room));
    this.#documents = grown(this.#documents, new Int32Array(room));
    this.#low = grown(this.#low, new Int32Array(room));
    this.#high = grown(this.#high, new Int32Array(room));
  }
}

/** A bit of 64 for each pair of neighbours. */
function signatureOf(word: string): [low: number, high: number] {
  let [low, high] = [0, 0];
  let before = word.charCodeAt(0);
  for (let i = 1; i < word.length; i++) {
    const here = word.charCodeAt(i);
    const bit = Math.imul(before * 31 + here, 0x9e3779b1) >>> 26;
    if (bit < 32) low |= 1 << bit;
    else high |= 1 << (bit - 32);
    before = here;
  }
  return [low, high];
}
