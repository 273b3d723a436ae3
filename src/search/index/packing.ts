/** Words and rows as they are stored: in a fraction of their size, and without a library that is slow to load. */

/** How much of the word before it a word can share. A control character says how much, and where a word begins. */
const MOST_SHARED = 30;
const FIRST_MARK = 1;

/** Sorted words as one text, each without what it shares with the one before it. */
export function packWords(sorted: readonly string[]): string {
  let before = "";
  let packed = "";
  for (const word of sorted) {
    let shared = 0;
    const most = Math.min(MOST_SHARED, before.length, word.length);
    while (shared < most && before.charCodeAt(shared) === word.charCodeAt(shared)) shared++;
    packed += String.fromCharCode(FIRST_MARK + shared) + word.slice(shared);
    before = word;
  }
  return packed;
}

/** The words of {@linkcode packWords}. */
export function unpackWords(packed: string): string[] {
  const words: string[] = [];
  let before = "";
  for (let at = 0; at < packed.length;) {
    const shared = packed.charCodeAt(at) - FIRST_MARK;
    const start = ++at;
    while (at < packed.length && packed.charCodeAt(at) > FIRST_MARK + MOST_SHARED) at++;
    before = before.slice(0, shared) + packed.slice(start, at);
    words.push(before);
  }
  return words;
}

/** Numbers from 0 on, small ones in few bytes: seven bits each, the highest one set where more follow. */
export function packNumbers(numbers: ArrayLike<number>): Uint8Array {
  const bytes = new Uint8Array(numbers.length * 5);
  let at = 0;
  for (let i = 0; i < numbers.length; i++) {
    let rest = numbers[i];
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest & 0x7f) | 0x80;
    bytes[at++] = rest;
  }
  return bytes.slice(0, at);
}

/** The numbers of {@linkcode packNumbers}. */
export function unpackNumbers(bytes: Uint8Array): Int32Array {
  const numbers = new Int32Array(bytes.length);
  let count = 0;
  let [number, factor] = [0, 1];
  for (const byte of bytes) {
    number += (byte & 0x7f) * factor;
    factor *= 0x80;
    if (byte & 0x80) continue;
    numbers[count++] = number;
    [number, factor] = [0, 1];
  }
  return numbers.slice(0, count);
}
