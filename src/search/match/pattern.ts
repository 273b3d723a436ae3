/** Looking for one thing in a text: every kind of match that a query knows. */
import { ToolError } from "../../errors.ts";
import { editDistance } from "../../platform/distance.ts";
import type { Match } from "../query/ast.ts";
import { type LinearRegex, linearRegex } from "./regex.ts";
import {
  BLANKS,
  isBlankUnit,
  lowerCase,
  type Prepared,
  snakeParts,
  type Span,
  trimmed,
  WORDS,
  wordsOf,
} from "./text.ts";
import { wildcardOf, wildcardSpans } from "./wildcard.ts";

/** Words of a phrase with a slop: as many as there are bits. */
const MOST_WORDS = 32;

/** Finds one thing in texts. */
export interface TextPattern {
  test(text: Prepared): boolean;
  /** Where it stands, first to last, without overlaps. */
  spans(text: Prepared): Iterable<Span>;
}

/**
 * The pattern of a match.
 *
 * @throws {ToolError} `INVALID_REQUEST` for a regular expression that is none, or a range, which text has none of.
 */
export async function patternOf(match: Match): Promise<TextPattern> {
  switch (match.kind) {
    case "all":
      return { test: () => true, spans: () => [] };
    case "text":
      return fromSpans(literal(match.text));
    case "near":
      return near(match.words.flatMap((word) => wordsOf(lowerCase(word))).slice(0, MOST_WORDS), match.slop);
    case "wildcard": {
      const wildcard = wildcardOf(match.parts);
      return fromSpans((text) => wildcardSpans(wildcard, text));
    }
    case "fuzzy":
      return fuzzy(lowerCase(match.word), match.edits);
    case "regex":
      return regex(await linearRegex(match.source));
    case "range":
      throw new ToolError("INVALID_REQUEST", "a range is not something that text contains", {
        next: "Ranges work with date:[20240101 TO 20241231].",
      });
  }
}

/** Whether a word, or a part of it between underscores, is near enough to another. */
export function isNear(candidate: string, word: string, edits: number): boolean {
  return snakeParts(candidate).some((part) =>
    Math.abs(part.length - word.length) <= edits && editDistance(part, word, edits) <= edits
  );
}

function fromSpans(spans: (text: Prepared) => Iterable<Span>): TextPattern {
  return {
    spans,
    test(text) {
      for (const _ of spans(text)) return true;
      return false;
    },
  };
}

/** The text as it stands, without regard to case; a run of white space stands for any other. */
function literal(wanted: string): (text: Prepared) => Iterable<Span> {
  const [head, ...tail] = lowerCase(trimmed(wanted)).split(BLANKS);
  return function* ({ lower }) {
    for (let start = lower.indexOf(head); start >= 0;) {
      let end: number | null = start + head.length;
      for (const part of tail) {
        const next = skipBlanks(lower, end);
        end = next > end && lower.startsWith(part, next) ? next + part.length : null;
        if (end === null) break;
      }
      if (end !== null) yield [start, end];
      start = lower.indexOf(head, end ?? start + 1);
    }
  };
}

function skipBlanks(text: string, at: number): number {
  while (at < text.length && isBlankUnit(text.charCodeAt(at))) at++;
  return at;
}

/**
 * Words at most `slop` moves from standing one behind the other, as Lucene counts it: each word says where the
 * first one would have to stand, and these places are at most `slop` apart. At most 32 words.
 */
function near(words: readonly string[], slop: number): TextPattern {
  return fromSpans(function* ({ lower }) {
    const { masks, starts, ends } = tokensOf(lower, words);
    // For each word the last two places of the first one that it has spoken for.
    const latest = words.map(() => [NaN, NaN]);
    let behind = -1;
    for (let base = 1 - words.length; base < masks.length; base++) {
      let news = false;
      for (let nth = 0; nth < words.length; nth++) {
        if (!((masks[base + nth] ?? 0) >>> nth & 1)) continue;
        latest[nth] = [base, latest[nth][0]];
        news = true;
      }
      const positions = news ? positionsOf(latest, base - slop) : null;
      if (!positions) continue;
      const start = starts[Math.min(...positions)];
      if (start < behind) continue;
      behind = ends[Math.max(...positions)];
      yield [start, behind];
    }
  });
}

/** A position of its own for each word, with no place of the first one before `least`; null when there are none. */
function positionsOf(latest: readonly number[][], least: number): number[] | null {
  const taken = new Set<number>();
  for (const [nth, bases] of latest.entries()) {
    const base = bases.find((base) => base >= least && !taken.has(base + nth));
    if (base === undefined) return null;
    taken.add(base + nth);
  }
  return [...taken];
}

/** The words of a text: which of the wanted ones each of them is, as bits, and where it stands. */
function tokensOf(lower: string, wanted: readonly string[]) {
  const [masks, starts, ends]: number[][] = [[], [], []];
  const known = new Map<string, number>();
  for (const { 0: word, index } of lower.matchAll(WORDS)) {
    let mask = known.get(word);
    if (mask === undefined) {
      const parts = snakeParts(word);
      mask = wanted.reduce((bits, one, nth) => parts.includes(one) ? bits | 1 << nth : bits, 0);
      known.set(word, mask);
    }
    masks.push(mask);
    starts.push(index);
    ends.push(index + word.length);
  }
  return { masks, starts, ends };
}

function fuzzy(word: string, edits: number): TextPattern {
  return {
    test: ({ lower }) => [...new Set(wordsOf(lower))].some((candidate) => isNear(candidate, word, edits)),
    *spans({ lower }) {
      const verdicts = new Map<string, boolean>();
      for (const { 0: candidate, index } of lower.matchAll(WORDS)) {
        const verdict = verdicts.get(candidate) ?? isNear(candidate, word, edits);
        verdicts.set(candidate, verdict);
        if (verdict) yield [index, index + candidate.length];
      }
    },
  };
}

/** Line by line, as grep does it. */
function regex(expression: LinearRegex): TextPattern {
  return fromSpans(function* ({ text }) {
    // One look at the whole is much quicker than one at each line, and never misses what a line has.
    if (!expression.test(text)) return;
    for (let start = 0; start <= text.length;) {
      const feed = text.indexOf("\n", start);
      const end = feed < 0 ? text.length : feed;
      if (start < text.length && expression.test(text.slice(start, end))) yield [start, end];
      start = end + 1;
    }
  });
}
