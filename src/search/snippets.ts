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

/** A line with something on it. */
export interface Hit {
  /** 0-based; a match over several lines has its first and its last. */
  first: number;
  last: number;
  /** It looks like the place where the thing is defined. */
  defines: boolean;
}

/** Hits of one pattern that are looked at in one file. */
const MOST_HITS = 500;
const LONGEST_LINE = 400;
const DEFINES =
  /\b(?:abstract|class|interface|struct|enum|union|trait|impl|record|object|protocol|module|namespace|package|typedef|type|def|defp|defmodule|defmacro|fn|fun|func|function|sub|proc|procedure|macro|const|let|var|val|static|define)\b[\s*&"'(]*$/;
const ASSIGNED =
  /^\s*(?:[:=]\s*(?:async\s*)?(?:function\b|\(|class\b|lambda\b)|\([^;]*\)\s*(?:\{|->|=>|:\s*$))/;

/** Where patterns stand in a text, by lines in their order. */
export function hitsOf(text: Prepared, patterns: readonly TextPattern[]): Hit[] {
  const starts = lineStarts(text.text);
  const hits = new Map<number, Hit>();
  for (const pattern of patterns) {
    let left = MOST_HITS;
    for (const span of pattern.spans(text)) {
      const first = lineAt(starts, span[0]);
      const last = lineAt(starts, Math.max(span[0], span[1] - 1));
      const known = hits.get(first);
      const defines = isDefinition(text.text, span, starts[first]);
      hits.set(first, {
        first,
        last: Math.max(last, known?.last ?? 0),
        defines: defines || (known?.defines ?? false),
      });
      if (--left === 0) break;
    }
  }
  return [...hits.values()].sort((a, b) => a.first - b.first);
}

/**
 * The lines around hits, at most `most` stretches of them: definitions first, then the first ones. What touches
 * is one chunk.
 *
 * @param contextLines Lines around a hit, half of them before it.
 */
export function chunksOf(text: string, hits: readonly Hit[], contextLines: number, most: number): Chunk[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const half = Math.floor(contextLines / 2);
  const windows: { from: number; to: number }[] = [];
  for (const hit of [...hits].sort((a, b) => Number(b.defines) - Number(a.defines))) {
    const from = Math.max(0, hit.first - half);
    const to = Math.min(lines.length - 1, hit.last + half);
    // One window more is one chunk more only where it stands apart from the others.
    if (windows.some((window) => from >= window.from && to <= window.to)) continue;
    if (windows.length === most) continue;
    windows.push({ from, to });
  }
  windows.sort((a, b) => a.from - b.from);
  const merged: { from: number; to: number }[] = [];
  for (const window of windows) {
    const last = merged.at(-1);
    if (last && window.from <= last.to + 1) last.to = Math.max(last.to, window.to);
    else merged.push({ ...window });
  }
  return merged.map(({ from, to }) => ({
    startLine: from + 1,
    endLine: to + 1,
    content: lines.slice(from, to + 1).map((line, at) => `${from + at + 1}: ${shortened(line)}\n`).join(""),
  }));
}

function shortened(line: string): string {
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
}

/** Whether what stands before a match, or behind it, is how definitions are written in most languages. */
function isDefinition(text: string, [start, end]: Span, lineStart: number): boolean {
  const before = text.slice(Math.max(lineStart, start - 80), start);
  if (/[\w.]$/.test(before)) return false;
  if (DEFINES.test(before)) return !/^\w/.test(text.slice(end, end + 1));
  return /^\s*(?:[\w<>,*&\s]*\s)?$/.test(before) && ASSIGNED.test(text.slice(end, end + 120).split("\n")[0]);
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** The last line that starts at or before an offset. */
function lineAt(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
