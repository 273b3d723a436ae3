/** What a query means, and how that is written down again. */

/** Fields that a part of a query can be about. */
export const FIELDS = [
  ...["path", "file", "repo", "branch", "lang", "content"],
  ...["summary", "author", "committer", "commit", "tag", "date", "type"],
] as const;

/** One of {@linkcode FIELDS}. */
export type Field = typeof FIELDS[number];

/** A query: one thing to look for, or several with what each of them counts for. */
export type Query = Leaf | BooleanQuery;

/** Several queries; without a `must`, one `should` has to hold where there is any. */
export interface BooleanQuery {
  kind: "boolean";
  clauses: Clause[];
}

/** A part of a {@linkcode BooleanQuery}. */
export interface Clause {
  occur: "must" | "should" | "not";
  query: Query;
}

/** One thing to look for. */
export interface Leaf {
  kind: "leaf";
  /** Null for the default fields: content of files, messages of commits. */
  field: Field | null;
  match: Match;
}

/** How a value is compared. */
export type Match =
  /** Everything. */
  | { kind: "all" }
  /** The text anywhere; blanks stand for any white space. */
  | { kind: "text"; text: string; quoted: boolean }
  /** The words in any order, at most `slop` moves apart. */
  | { kind: "near"; words: string[]; slop: number }
  /** Pieces of text, any characters of a word (`*`) and single ones (`?`). */
  | { kind: "wildcard"; parts: WildcardPart[] }
  /** A word at most so many edits away. */
  | { kind: "fuzzy"; word: string; edits: number }
  /** A regular expression in RE2 syntax. */
  | { kind: "regex"; source: string }
  /** Values between two others; null is open. */
  | { kind: "range"; from: string | null; to: string | null; withFrom: boolean; withTo: boolean };

/** A piece of a wildcard pattern. */
export type WildcardPart = { text: string } | "*" | "?";

/** The query as it was understood: `+` for what has to hold, `-` for what must not. */
export function queryText(query: Query): string {
  if (query.kind === "leaf") return `${query.field ? `${query.field}:` : ""}${matchText(query.match)}`;
  const sign = { must: "+", should: "", not: "-" };
  return query.clauses.map(({ occur, query }) => {
    const text = queryText(query);
    return `${sign[occur]}${query.kind === "boolean" ? `(${text})` : text}`;
  }).join(" ");
}

function matchText(match: Match): string {
  switch (match.kind) {
    case "all":
      return "*";
    case "text":
      return match.quoted || match.text === "" ? quoted(match.text) : escaped(match.text);
    case "near":
      return `${quoted(match.words.join(" "))}~${match.slop}`;
    case "wildcard":
      return match.parts.map((part) => typeof part === "string" ? part : escaped(part.text)).join("");
    case "fuzzy":
      return `${escaped(match.word)}~${match.edits}`;
    case "regex":
      return `/${match.source.replaceAll("/", "\\/")}/`;
    case "range":
      return `${match.withFrom ? "[" : "{"}${endText(match.from)} TO ${endText(match.to)}${
        match.withTo ? "]" : "}"
      }`;
  }
}

function endText(end: string | null): string {
  if (end === null) return "*";
  return /^[\w.:-]+$/.test(end) ? end : quoted(end);
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

function escaped(text: string): string {
  if (/^(?:AND|OR|NOT)$/.test(text)) return `\\${text}`;
  return text.replace(/[\s()[\]{}"~^*?:\\]|^(?:[-+!/]|&&|\|\|)/g, "\\$&");
}
