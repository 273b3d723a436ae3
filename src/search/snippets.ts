/** The lines around what was found. */
import type { Prepared, Span } from "./match/text.ts";
import type { TextPattern } from "./match/pattern.ts";

/** Consecutive lines of a file; 1-based, both ends included. */
export interface Chunk {
  startLine: number;
  endLine: number;
  /** Each line as `12: text` with a line feed. */
  content: string;
}

/** A place with something in it. */
export interface Hit {
  /** Offsets of its first character and of the one behind its last. */
  start: number;
  end: number;
  /** 0-based line of its first character, and of its last. */
  first: number;
  last: number;
  /** It looks like the place where the thing is defined. */
  defines: boolean;
}

/** Hits of one pattern that are looked at in one file. */
const MOST_HITS = 20_000;
/** The same while files are only compared. */
const MOST_SCREENED = 40;
const LONGEST_LINE = 400;
const DEFINES =
  /\b(?:abstract|class|interface|struct|enum|union|trait|impl|record|object|protocol|module|namespace|package|typedef|type|def|defp|defmodule|defmacro|fn|fun|func|function|sub|proc|procedure|macro|const|let|var|val|static|define)\b[\s*&"'(]*$/;
const ASSIGNED =
  /^\s*(?:[:=]\s*(?:async\s*)?(?:function\b|\(|class\b|lambda\b)|\([^;]*\)\s*(?:\{|->|=>|:\s*$))/;

/** Where patterns stand in a text, one for each line, in their order. */
export function hitsOf(prepared: Prepared, patterns: readonly TextPattern[]): Hit[] {
  const { text } = prepared;
  const spans = patterns.flatMap((pattern) => firstOf(pattern.spans(prepared), MOST_HITS));
  spans.sort((a, b) => a[0] - b[0]);
  const hits: Hit[] = [];
  let [line, known] = [0, 0];
  for (const span of spans) {
    const [start, end] = span;
    line += feedsIn(text, known, start);
    known = start;
    const last = line + feedsIn(text, start, end - 1);
    const defines = isDefinition(text, span);
    const before = hits.at(-1);
    if (before?.first === line) {
      before.last = Math.max(before.last, last);
      before.end = Math.max(before.end, end);
      before.defines ||= defines;
    } else hits.push({ start, end, first: line, last, defines });
  }
  return hits;
}

/** Whether one of the first places looks like a definition. */
export function definesIn(prepared: Prepared, patterns: readonly TextPattern[]): boolean {
  return patterns.some((pattern) =>
    firstOf(pattern.spans(prepared), MOST_SCREENED).some((span) => isDefinition(prepared.text, span))
  );
}

/**
 * The lines around hits, at most `most` stretches of them: definitions first, then the first ones. What touches
 * is one chunk.
 *
 * @param contextLines Lines around a hit, half of them before it.
 */
export function chunksOf(text: string, hits: readonly Hit[], contextLines: number, most: number): Chunk[] {
  const half = Math.floor(contextLines / 2);
  const windows: Window[] = [];
  for (const hit of [...hits].sort((a, b) => Number(b.defines) - Number(a.defines))) {
    if (windows.length === most) break;
    const window = windowAround(text, hit, half);
    if (windows.some((other) => window.from >= other.from && window.to <= other.to)) continue;
    windows.push(window);
  }
  windows.sort((a, b) => a.from - b.from);
  const merged: Window[] = [];
  for (const window of windows) {
    const last = merged.at(-1);
    if (!last || window.from > last.to + 1) merged.push({ ...window });
    else if (window.to > last.to) [last.to, last.end] = [window.to, window.end];
  }
  return merged.map(({ from, to, start, end }) => ({
    startLine: from + 1,
    endLine: to + 1,
    content: numberedLines(text, start, end, from, hits),
  }));
}

/** Lines, 0-based and both included, with the offsets of their text. */
interface Window {
  from: number;
  to: number;
  start: number;
  end: number;
}

function windowAround(text: string, hit: Hit, half: number): Window {
  let start = text.lastIndexOf("\n", hit.start - 1) + 1;
  if (hit.start === 0) start = 0;
  let from = hit.first;
  for (; from > hit.first - half && start > 0; from--) {
    start = start === 1 ? 0 : text.lastIndexOf("\n", start - 2) + 1;
  }
  let end = lineEnd(text, Math.max(hit.start, hit.end - 1));
  let to = hit.last;
  // A line feed at the very end starts no further line.
  for (; to < hit.last + half && end < text.length - 1; to++) end = lineEnd(text, end + 1);
  return { from, to, start, end };
}

function lineEnd(text: string, at: number): number {
  const feed = text.indexOf("\n", at);
  return feed < 0 ? text.length : feed;
}

function feedsIn(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf("\n", from); at >= 0 && at < to; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

function firstOf<T>(items: Iterable<T>, most: number): T[] {
  const first: T[] = [];
  for (const item of items) {
    first.push(item);
    if (first.length === most) break;
  }
  return first;
}

function numberedLines(
  text: string,
  start: number,
  end: number,
  first: number,
  hits: readonly Hit[],
): string {
  let offset = start;
  return text.slice(start, end).split("\n").map((line, at) => {
    const hit = hits.find((one) => one.start >= offset && one.start <= offset + line.length);
    const shown = shortened(line, hit ? hit.start - offset : 0);
    offset += line.length + 1;
    return `${first + at + 1}: ${shown}\n`;
  }).join("");
}

/** So much of a long line that a column of it is to be seen. */
function shortened(line: string, column: number): string {
  if (line.length <= LONGEST_LINE) return line;
  const start = column < LONGEST_LINE * 0.75 ? 0 : column - Math.floor(LONGEST_LINE / 4);
  const piece = line.slice(start, start + LONGEST_LINE).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
  return `${start > 0 ? "…" : ""}${piece}${start + LONGEST_LINE < line.length ? "…" : ""}`;
}

/** Whether what stands before a match, or behind it, is how definitions are written in most languages. */
function isDefinition(text: string, [start, end]: Span): boolean {
  const lineStart = start === 0 ? 0 : text.lastIndexOf("\n", start - 1) + 1;
  const before = text.slice(Math.max(lineStart, start - 80), start);
  if (/[\w.]$/.test(before)) return false;
  if (DEFINES.test(before)) return !/^\w/.test(text.slice(end, end + 1));
  return /^\s*(?:[\w<>,*&\s]*\s)?$/.test(before) &&
    ASSIGNED.test(text.slice(end, end + 120).split("\n", 1)[0]);
}
