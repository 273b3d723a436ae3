/** Wildcards in time that grows with the text and not with the pattern's tries. */
import type { WildcardPart } from "../query/ast.ts";
import { endsPart, isWordUnit, lowerCase, type Prepared, type Span, startsPart } from "./text.ts";

/** A stretch of a pattern between two stars; null stands for any one character. */
type Segment = (string | null)[];

/** A pattern cut at its stars. */
export interface Wildcard {
  segments: Segment[];
  /** The pattern begins with a star. */
  openStart: boolean;
  /** The pattern ends with a star. */
  openEnd: boolean;
}

/** Prepares a pattern. */
export function wildcardOf(parts: readonly WildcardPart[]): Wildcard {
  const segments: Segment[] = [[]];
  for (const part of parts) {
    if (part === "*") segments.push([]);
    else if (part === "?") segments.at(-1)!.push(null);
    else segments.at(-1)!.push(...lowerCase(part.text).split(""));
  }
  return {
    segments: segments.filter((segment) => segment.length > 0),
    openStart: parts[0] === "*",
    openEnd: parts.at(-1) === "*",
  };
}

/** Whether the whole of a value fits; `*` stands for anything. The value is in lower case. */
export function fitsWhole({ segments, openStart, openEnd }: Wildcard, value: string): boolean {
  let at = 0;
  for (const [nth, segment] of segments.entries()) {
    const [first, last] = [nth === 0, nth === segments.length - 1];
    if (last && !openEnd) {
      const start = value.length - segment.length;
      return start >= at && (!first || openStart || start === 0) && fitsAt(segment, value, start, anyUnit);
    }
    const found = first && !openStart
      ? fitsAt(segment, value, 0, anyUnit) ? 0 : -1
      : indexOf(segment, value, at, value.length, anyUnit);
    if (found < 0) return false;
    at = found + segment.length;
  }
  return openEnd || segments.length > 0 || value === "";
}

/**
 * Where words of a text fit: `*` and `?` stand for characters of a word, and where there is no star at an end, a
 * word or a part of it has to begin or end.
 *
 * @param atPart Whether a part begins (or ends) at an offset; by the letters of the text unless given.
 */
export function* wildcardSpans(
  wildcard: Wildcard,
  { text, lower }: Prepared,
  atPart: { starts: typeof startsPart; ends: typeof endsPart } = { starts: startsPart, ends: endsPart },
): Generator<Span> {
  const [head, ...tail] = wildcard.segments;
  if (head === undefined) return;
  const wordEnd = wordEnds(lower);
  const closes = (segment: Segment, end: number) =>
    wildcard.openEnd || !isWord(segment.at(-1)!) || atPart.ends(text, end);
  let from = 0;
  while (true) {
    const start = indexOf(head, lower, from, lower.length, isWordUnit);
    if (start < 0) return;
    from = start + 1;
    if (!wildcard.openStart && isWord(head[0]) && !atPart.starts(text, start)) continue;
    let end = start + head.length;
    let found = start;
    for (const [nth, segment] of tail.entries()) {
      // What a star bridges is one word.
      const limit = wordEnd(end) + segment.length;
      const last = nth === tail.length - 1;
      found = indexOf(segment, lower, end, limit, isWordUnit);
      while (found >= 0 && last && !closes(segment, found + segment.length)) {
        found = indexOf(segment, lower, found + 1, limit, isWordUnit);
      }
      if (found < 0) break;
      end = found + segment.length;
    }
    // A later start whose head ends in the same word fails too.
    if (found < 0) from = Math.max(from, wordEnd(start + head.length) - head.length + 1);
    else if (tail.length > 0 || closes(head, end)) {
      yield [start, end];
      from = Math.max(from, end);
    }
  }
}

/** The offset behind the word that goes on at an offset; asked again in the same word it knows. */
function wordEnds(lower: string): (at: number) => number {
  let [first, end] = [0, -1];
  return (at) => {
    if (at >= first && at <= end) return end;
    first = end = at;
    while (end < lower.length && isWordUnit(lower.charCodeAt(end))) end++;
    return end;
  };
}

function isWord(char: string | null): boolean {
  return char === null || isWordUnit(char.charCodeAt(0));
}

/** What `?` stands for in a value; in text it is {@linkcode isWordUnit}. */
function anyUnit(_unit: number): boolean {
  return true;
}

type UnitTest = (unit: number) => boolean;

function fitsAt(segment: Segment, value: string, at: number, single: UnitTest): boolean {
  if (at + segment.length > value.length) return false;
  return segment.every((char, nth) =>
    char === null ? single(value.charCodeAt(at + nth)) : value[at + nth] === char
  );
}

/** First place at or behind `from` where a segment fits and ends before `limit`. */
function indexOf(segment: Segment, value: string, from: number, limit: number, single: UnitTest): number {
  const question = segment.indexOf(null);
  const prefix = (question < 0 ? segment : segment.slice(0, question)).join("");
  const end = Math.min(limit, value.length) - segment.length;
  for (let at = from; at <= end; at++) {
    if (prefix !== "") at = value.indexOf(prefix, at);
    if (at < 0 || at > end) return -1;
    if (fitsAt(segment, value, at, single)) return at;
  }
  return -1;
}
