/** Text as it is compared: letters without case, words, and the parts of words. */

/** A text and its form without case, which has the same length: an offset means the same in both. */
export interface Prepared {
  text: string;
  lower: string;
}

/** Where something was found: offsets of its first character and of the one behind its last. */
export type Span = readonly [start: number, end: number];

/** Prepares a text for being searched. */
export function prepare(text: string): Prepared {
  return { text, lower: lowerCase(text) };
}

/** Lower case that keeps the length: the few letters whose lower case is longer stay as they are. */
export function lowerCase(text: string): string {
  const lower = keepingLength(text);
  // Letters with a form of their own at the end of a word, or in old print, are the same letters.
  return lower.includes("ς") || lower.includes("ſ") ? lower.replaceAll("ς", "σ").replaceAll("ſ", "s") : lower;
}

function keepingLength(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return text.replace(/[^\0-\x7f]/gu, (char) => {
    const one = char.toLowerCase();
    return one.length === char.length ? one : char;
  }).replace(/[A-Z]/g, (char) => char.toLowerCase());
}

/** White space of ASCII; any other is a letter, as it is in the index. */
export const BLANKS = /[\t-\r ]+/;

/** Whether the UTF-16 unit is white space of ASCII. */
export function isBlankUnit(unit: number): boolean {
  return unit === 32 || (unit >= 9 && unit <= 13);
}

/** Without white space of ASCII at its ends. */
export function trimmed(text: string): string {
  return text.replace(/^[\t-\r ]+|[\t-\r ]+$/g, "");
}

/** Runs of letters, digits and `_`; everything outside of ASCII counts as a letter, as it does in the index. */
export const WORDS = /[\w\u0080-\uffff]+/g;

/** Whether the UTF-16 unit belongs to a word; not at the ends of a text. */
export function isWordUnit(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90) || (unit >= 48 && unit <= 57) ||
    unit === 95 || unit >= 128;
}

/** The words of a text without case. */
export function wordsOf(lower: string): string[] {
  return lower.match(WORDS) ?? [];
}

/** A word and what stands between its underscores. */
export function snakeParts(word: string): string[] {
  return word.includes("_") ? [word, ...word.split("_").filter((part) => part !== "")] : [word];
}

/**
 * Whether a part of a word begins at an offset: the word itself, what follows an underscore, or a capital as in
 * `camelCase` and `HTTPServer`.
 */
export function startsPart(text: string, at: number): boolean {
  if (at === 0 || !isLetterOrDigit(text.charCodeAt(at - 1))) return true;
  const [before, here] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  if (!isUpper(here)) return false;
  return !isUpper(before) || (at + 1 < text.length && isLower(text.charCodeAt(at + 1)));
}

/** Whether a part of a word ends before an offset. */
export function endsPart(text: string, at: number): boolean {
  return at >= text.length || !isLetterOrDigit(text.charCodeAt(at)) || startsPart(text, at);
}

function isLetterOrDigit(unit: number): boolean {
  return unit !== 95 && isWordUnit(unit);
}

function isUpper(unit: number): boolean {
  return unit >= 65 && unit <= 90;
}

function isLower(unit: number): boolean {
  return unit >= 97 && unit <= 122;
}
