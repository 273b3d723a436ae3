/** What the index knows of a match: which documents surely hold it, and which may. */
import { MAYBE, NO, type Truth, YES } from "../evaluate.ts";
import { isNear } from "../match/pattern.ts";
import { requiredText } from "../match/regex.ts";
import { isWordUnit, lowerCase, snakeParts, trimmed, wordsOf } from "../match/text.ts";
import { wildcardOf, wildcardSpans } from "../match/wildcard.ts";
import type { Match } from "../query/ast.ts";
import { Bitset } from "./bitset.ts";
import { isWordPart, LONGEST_TERM, quoted, type TextIndex } from "./text_index.ts";

/** Documents by row; whatever is in neither surely does not match. */
export interface Candidates {
  sure: DocumentSet;
  maybe: DocumentSet;
}

/** A set of documents. */
export interface DocumentSet {
  has(id: number): boolean;
}

/** Every document. */
export const ALL: DocumentSet = { has: () => true };
/** No document. */
export const NONE: DocumentSet = { has: () => false };

/** The row of what is not in the index. */
export const UNKNOWN = 0;

/** What the index says of a row; without one, or of what it does not know, anything may be. */
export function rowTruth(candidates: Candidates | null, row: number): Truth {
  if (row === UNKNOWN || !candidates) return MAYBE;
  if (candidates.sure.has(row)) return YES;
  return candidates.maybe.has(row) ? MAYBE : NO;
}

/** Above this a part of a word is in nearly every document, and looking into each is quicker. */
const MOST_WORDS = 20_000;
/** Words that a phrase may begin with, each a phrase of its own to the index. */
const MOST_BEGINNINGS = 100;

/** The documents that match, as far as the index can tell. */
export function candidatesFor(index: TextIndex, match: Match): Candidates {
  switch (match.kind) {
    case "all":
      return { sure: ALL, maybe: NONE };
    case "text":
      return textCandidates(index, lowerCase(trimmed(match.text)));
    case "near": {
      const words = match.words.flatMap((word) => wordsOf(lowerCase(word)));
      const sets = words.map((word) => withWords(index, partOf(index, word)));
      return { sure: NONE, maybe: intersection(sets) };
    }
    case "wildcard":
      return wildcardCandidates(index, match.parts);
    case "fuzzy": {
      const word = lowerCase(match.word);
      const letters = lettersOf(word);
      // Each edit brings in one new letter at most.
      const words = [...index.words()].filter((candidate) =>
        bitCount(letters & ~lettersOf(candidate)) <= match.edits && isNear(candidate, word, match.edits)
      );
      return surely(words, withWords(index, words));
    }
    case "regex": {
      const sets = requiredText(match.source).map((text) => textCandidates(index, text));
      return { sure: NONE, maybe: intersection(sets.map(({ sure, maybe }) => union(sure, maybe))) };
    }
    case "range":
      return { sure: NONE, maybe: NONE };
  }
}

/** An FTS5 expression for documents with the words of a text as they stand; null for a text without words. */
export function exactExpression(text: string): string | null {
  const words = wordsOf(lowerCase(text));
  return words.length === 0 ? null : quoted(words.join(" "));
}

function textCandidates(index: TextIndex, text: string): Candidates {
  if (isWordPart(text)) {
    const found = new Bitset();
    switch (index.documentsWithPart(text, MOST_WORDS, (id) => found.add(id))) {
      case "exact":
        return { sure: found, maybe: NONE };
      case "more":
        return { sure: NONE, maybe: found };
      case "too many":
        return { sure: NONE, maybe: ALL };
    }
  }
  return { sure: NONE, maybe: phraseCandidates(index, text) };
}

/**
 * Documents with the words of a text one behind the other. Its first word may be the end of a longer one, and its
 * last the beginning of one, where the text begins or ends with it.
 */
function phraseCandidates(index: TextIndex, text: string): DocumentSet {
  const words = wordsOf(text);
  if (words.length === 0) return ALL;
  const openStart = isWordUnit(text.charCodeAt(0));
  const openEnd = isWordUnit(text.charCodeAt(text.length - 1));
  const [first, ...rest] = words;
  const phrase = (all: readonly string[]) => `${quoted(all.join(" "))}${openEnd ? " *" : ""}`;
  if (!openStart) return matching(index, phrase(words));
  const beginnings = index.wordsWith(first).filter((word) => word.endsWith(first));
  if (rest.length > 0 && beginnings.length > MOST_BEGINNINGS) return matching(index, phrase(rest));
  // With a single word the text ends behind it.
  if (rest.length === 0) return beginnings.length > MOST_WORDS ? ALL : withWords(index, beginnings);
  return matching(index, beginnings.map((word) => phrase([word, ...rest])).join(" OR "));
}

function wildcardCandidates(
  index: TextIndex,
  parts: Extract<Match, { kind: "wildcard" }>["parts"],
): Candidates {
  const literals = parts.flatMap((part) => typeof part === "object" ? [lowerCase(part.text)] : []);
  const longest = literals.toSorted((a, b) => b.length - a.length)[0] ?? "";
  if (longest === "") return { sure: NONE, maybe: ALL };
  if (!literals.every(isWordPart)) {
    const { sure, maybe } = textCandidates(index, longest);
    return { sure: NONE, maybe: union(sure, maybe) };
  }
  const wildcard = wildcardOf(parts);
  const anywhere = { ...wildcard, openStart: true, openEnd: true };
  const sure: string[] = [];
  const maybe: string[] = [];
  for (const word of index.wordsWith(longest)) {
    const text = { text: word, lower: word };
    if (!wildcardSpans(wildcard, text).next().done) sure.push(word);
    // Without case there are no camels: only the text itself tells where their humps are.
    else if (!wildcardSpans(anywhere, text).next().done) maybe.push(word);
  }
  if (sure.length + maybe.length > MOST_WORDS) return { sure: NONE, maybe: ALL };
  const certain = surely(sure, withWords(index, sure));
  return { sure: certain.sure, maybe: union(certain.maybe, withWords(index, maybe)) };
}

/** Words that the index keeps whole are surely there; very long ones may be taken for others. */
function surely(words: readonly string[], found: DocumentSet): Candidates {
  const isExact = words.every((word) => word.length <= LONGEST_TERM);
  return isExact ? { sure: found, maybe: NONE } : { sure: NONE, maybe: found };
}

function partOf(index: TextIndex, word: string): string[] {
  return index.wordsWith(word).filter((candidate) => snakeParts(candidate).includes(word));
}

function withWords(index: TextIndex, words: readonly string[]): DocumentSet {
  return words.length === 0 ? NONE : collected((take) => index.documentsWith(words, take));
}

function matching(index: TextIndex, expression: string): DocumentSet {
  return expression === "" ? NONE : collected((take) => index.documentsMatching(expression, take));
}

function collected(tell: (take: (id: number) => void) => void): DocumentSet {
  const found = new Bitset();
  tell((id) => found.add(id));
  return found;
}

function intersection(sets: readonly DocumentSet[]): DocumentSet {
  return sets.length === 0 ? ALL : { has: (id) => sets.every((set) => set.has(id)) };
}

function union(a: DocumentSet, b: DocumentSet): DocumentSet {
  return { has: (id) => a.has(id) || b.has(id) };
}

/** The letters and digits of a word as bits. */
function lettersOf(word: string): number {
  let bits = 0;
  for (let i = 0; i < word.length; i++) bits |= 1 << (word.charCodeAt(i) & 31);
  return bits;
}

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits >>> 0; rest !== 0; rest &= rest - 1) count++;
  return count;
}
