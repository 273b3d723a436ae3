/** Looking for one thing in a text: every kind of match that a query knows. */
import { ToolError } from "../../errors.ts";
import { editDistance } from "../../platform/distance.ts";
import type { Match } from "../query/ast.ts";
import { type LinearRegex, linearRegex } from "./regex.ts";
import { lowerCase, type Prepared, snakeParts, type Span, WORDS, wordsOf } from "./text.ts";
import { wildcardOf, wildcardSpans } from "./wildcard.ts";

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
      return near(match.words.flatMap((word) => wordsOf(lowerCase(word))), match.slop);
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
  const [head, ...tail] = lowerCase(wanted.trim()).split(/\s+/);
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
  while (at < text.length && /\s/.test(text[at])) at++;
  return at;
}

interface Place {
  start: number;
  end: number;
  /** Which word of the query, and where it would put the first one. */
  nth: number;
  base: number;
}

/** Words at most `slop` moves from standing one behind the other, as Lucene counts it. */
function near(words: readonly string[], slop: number): TextPattern {
  return fromSpans(function* ({ lower }) {
    const places = placesOf(lower, words);
    places.sort((a, b) => a.base - b.base);
    const latest = new Map<number, Place>();
    let behind = -1;
    for (const place of places) {
      latest.set(place.nth, place);
      const all = [...latest.values()];
      if (all.length < words.length || new Set(all.map(({ start }) => start)).size < all.length) continue;
      const start = Math.min(...all.map((one) => one.start));
      if (place.base - Math.min(...all.map(({ base }) => base)) > slop || start < behind) continue;
      behind = Math.max(...all.map(({ end }) => end));
      yield [start, behind];
    }
  });
}

function placesOf(lower: string, words: readonly string[]): Place[] {
  const places: Place[] = [];
  let position = 0;
  for (const { 0: word, index } of lower.matchAll(WORDS)) {
    const parts = snakeParts(word);
    words.forEach((wanted, nth) => {
      if (parts.includes(wanted)) {
        places.push({ start: index, end: index + word.length, nth, base: position - nth });
      }
    });
    position++;
  }
  return places;
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
