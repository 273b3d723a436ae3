/**
 * The query language: the syntax of Lucene's classic query parser, with its way of combining. `a AND b OR c` is
 * `+a +b c`, and words without an operator are alternatives.
 */
import { ToolError } from "../../errors.ts";
import { BLANKS, trimmed } from "../match/text.ts";
import {
  type Clause,
  type Field,
  FIELDS,
  type Leaf,
  type Match,
  type Query,
  type WildcardPart,
} from "./ast.ts";

const LONGEST = 4_000;
const DEEPEST = 40;
const MOST_CLAUSES = 128;
/** Matches that every word of the index, or every line of a file, is held against. */
const MOST_COSTLY = 12;
const MOST_NEAR = 16;
const MOST_PARTS = 64;
const MOST_WILDCARDS = 16;
const MOST_EDITS = 2;
/** What ends a word unless it is escaped. */
const ENDS_WORD = /[\s()"^~]/;

/**
 * Parses a query.
 *
 * @throws {ToolError} `INVALID_REQUEST` with the position, 1-based, and what was expected there.
 */
export function parseQuery(text: string): Query {
  if (text.length > LONGEST) {
    throw new ToolError("INVALID_REQUEST", `the query is longer than ${LONGEST} characters`, {
      next: "Ask for less at once.",
    });
  }
  return new Parser(text).parse();
}

class Parser {
  readonly #text: string;
  #at = 0;
  #clauses = 0;
  #costly = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): Query {
    this.#skipBlanks();
    if (this.#over()) throw this.#error("the query is empty", "a word or a phrase");
    const query = this.#query(null, 0);
    if (!this.#over()) {
      throw this.#error("unexpected ')'", "the end of the query; write \\) for the character");
    }
    return query;
  }

  #query(field: Field | null, depth: number): Query {
    if (depth > DEEPEST) throw this.#error("too many nested groups", `at most ${DEEPEST}`);
    const clauses: Clause[] = [];
    while (true) {
      this.#skipBlanks();
      if (this.#over() || this.#text[this.#at] === ")") break;
      const and = this.#operator(/AND(?![^\s()"])|&&/y);
      const or = !and && this.#operator(/OR(?![^\s()"])|\|\|/y);
      if ((and || or) && clauses.length === 0) {
        throw this.#error(`'${and ? "AND" : "OR"}' has nothing before it`, "a word or a phrase");
      }
      this.#skipBlanks();
      if ((and || or) && this.#look(/(?:AND|OR)(?![^\s()])|&&|\|\|/y)) {
        throw this.#error("two operators follow each other", "a word or a phrase");
      }
      const occur = this.#sign();
      this.#skipBlanks();
      if (this.#over() || this.#text[this.#at] === ")") {
        throw this.#error("the query ends too early", "a word or a phrase behind the operator");
      }
      if (++this.#clauses > MOST_CLAUSES) throw this.#error("too many words", `at most ${MOST_CLAUSES}`);
      const before = clauses.at(-1);
      if (and && before?.occur === "should") before.occur = "must";
      const query = this.#clause(field, depth);
      clauses.push({ occur: occur ?? (and ? "must" : "should"), query });
    }
    if (clauses.length === 0) throw this.#error("there is nothing in the group", "a word or a phrase");
    // One thing that may hold is the thing itself.
    return clauses.length === 1 && clauses[0].occur !== "not"
      ? clauses[0].query
      : { kind: "boolean", clauses };
  }

  #sign(): Clause["occur"] | null {
    if (this.#operator(/NOT(?![^\s()"])|!/y)) return "not";
    if (this.#operator(/\+/y)) return "must";
    return this.#operator(/-/y) ? "not" : null;
  }

  #clause(outer: Field | null, depth: number): Query {
    const field = this.#field() ?? outer;
    if (this.#take("(")) {
      const query = this.#query(field, depth + 1);
      if (!this.#take(")")) throw this.#error("the group is not closed", "')'");
      this.#boost();
      return query;
    }
    const start = this.#at;
    const leaf: Leaf = { kind: "leaf", field, match: this.#match() };
    const isCostly = leaf.match.kind === "fuzzy" || leaf.match.kind === "regex";
    if (isCostly && ++this.#costly > MOST_COSTLY) {
      this.#at = start;
      throw this.#error("too many fuzzy words and regular expressions", `at most ${MOST_COSTLY}`);
    }
    this.#boost();
    return leaf;
  }

  /** `name:` of a field. `std::vector` and `http://` are text. */
  #field(): Field | null {
    const [all, name] = this.#look(/([A-Za-z_]+):(?![:\/])/y) ?? [];
    // A value that is a regular expression starts with a slash as well.
    const [withRegex, before] = this.#look(/([A-Za-z_]+):(?=\/[^/])/y) ?? [];
    const found = name ?? before;
    if (found === undefined) return null;
    const field = FIELDS.find((known) => known === found.toLowerCase());
    if (!field) {
      if (name === undefined) return null;
      throw this.#error(
        `unknown field '${found}'`,
        `one of ${FIELDS.join(", ")}; write \\: for the character`,
      );
    }
    this.#at += (all ?? withRegex!).length;
    this.#skipBlanks();
    if (this.#over()) throw this.#error(`'${found}:' has no value`, "a word or a phrase");
    return field;
  }

  #match(): Match {
    const start = this.#text[this.#at];
    if (start === '"') return this.#phrase();
    if (start === "[" || start === "{") return this.#range();
    const [regex, source] = this.#look(/\/((?:[^/\\\n]|\\.)+)\/(?=[\s)^]|$)/y) ?? [];
    if (regex !== undefined) {
      this.#at += regex.length;
      return { kind: "regex", source: source.replaceAll("\\/", "/") };
    }
    return this.#word();
  }

  #phrase(): Match {
    const open = this.#at++;
    let text = "";
    for (; this.#text[this.#at] !== '"'; this.#at++) {
      if (this.#over()) {
        this.#at = open;
        throw this.#error("the phrase is not closed", "'\"' at its end; write \\\" for the character");
      }
      if (this.#text[this.#at] === "\\" && this.#at + 1 < this.#text.length) this.#at++;
      text += this.#text[this.#at];
    }
    this.#at++;
    if (text.trim() === "") {
      this.#at = open;
      throw this.#error("the phrase is empty", "text between the quotation marks");
    }
    const slop = this.#tilde();
    if (trimmed(text).split(BLANKS).length > MOST_PARTS) {
      this.#at = open;
      throw this.#error("the phrase has too many words", `at most ${MOST_PARTS}`);
    }
    if (!slop) return { kind: "text", text, quoted: true };
    const words = trimmed(text).split(BLANKS);
    if (words.length > MOST_NEAR) {
      this.#at = open;
      throw this.#error("too many words in a phrase with '~'", `at most ${MOST_NEAR}`);
    }
    return { kind: "near", words, slop: Math.floor(slop) };
  }

  #range(): Match {
    const open = this.#at;
    const pattern =
      /([[{])\s*("(?:[^"\\]|\\.)*"|[^\s"\]}]+)\s+TO\s+("(?:[^"\\]|\\.)*"|[^\s"\]}]+)\s*([\]}])/y;
    const [all, from, low, high, to] = this.#look(pattern) ?? [];
    if (all === undefined) {
      this.#at = open;
      throw this.#error("this is no range", "'[from TO to]'; write \\[ for the character");
    }
    this.#at += all.length;
    const value = (text: string) =>
      text === "*" ? null : text.replace(/^"(.*)"$/s, "$1").replace(/\\(.)/gs, "$1");
    return { kind: "range", from: value(low), to: value(high), withFrom: from === "[", withTo: to === "]" };
  }

  #word(): Match {
    const open = this.#at;
    const parts: WildcardPart[] = [];
    let wildcards = 0;
    const add = (text: string) => {
      const last = parts.at(-1);
      if (typeof last === "object") last.text += text;
      else parts.push({ text });
    };
    while (!this.#over() && !ENDS_WORD.test(this.#text[this.#at])) {
      const char = this.#text[this.#at++];
      if (char === "\\") {
        if (this.#over()) throw this.#error("there is nothing behind the last '\\'", "a character");
        add(this.#text[this.#at++]);
      } else if (char === "*" || char === "?") {
        wildcards++;
        if (char !== "*" || parts.at(-1) !== "*") parts.push(char);
      } else add(char);
    }
    if (parts.length === 0) throw this.#error(`unexpected '${this.#text[this.#at]}'`, "a word or a phrase");
    if (wildcards > MOST_WILDCARDS) {
      this.#at = open;
      throw this.#error("too many wildcards in one word", `at most ${MOST_WILDCARDS}`);
    }
    if (wildcards > 0) {
      this.#tilde();
      return parts.length === 1 && parts[0] === "*" ? { kind: "all" } : { kind: "wildcard", parts };
    }
    const [{ text }] = parts as [{ text: string }];
    const edits = this.#tilde();
    if (edits === null) return { kind: "text", text, quoted: false };
    if (edits === "") return { kind: "fuzzy", word: text, edits: MOST_EDITS };
    // A share of the letters is how it was written once.
    const whole = edits > 0 && edits < 1
      ? Math.min(MOST_EDITS, Math.floor((1 - edits) * text.length))
      : edits;
    if (!Number.isInteger(whole) || whole > MOST_EDITS) {
      throw this.#error(`'~${edits}' is too far`, `0 to ${MOST_EDITS} edits`);
    }
    return whole === 0 ? { kind: "text", text, quoted: false } : { kind: "fuzzy", word: text, edits: whole };
  }

  /** `~` with its number; "" without one, null when there is no `~`. */
  #tilde(): number | "" | null {
    const [all, number] = this.#look(/~(\d+(?:\.\d+)?)?/y) ?? [];
    if (all === undefined) return null;
    this.#at += all.length;
    return number === undefined ? "" : Number(number);
  }

  /** `^2`: accepted, because it is part of the syntax; what counts for more is decided by what is found. */
  #boost(): void {
    if (!this.#take("^")) return;
    const [number] = this.#look(/\d+(?:\.\d+)?/y) ?? [];
    if (number === undefined) throw this.#error("'^' has no number", "a boost such as ^2");
    this.#at += number.length;
  }

  #operator(pattern: RegExp): boolean {
    const [found] = this.#look(pattern) ?? [];
    if (found === undefined) return false;
    this.#at += found.length;
    return true;
  }

  #look(pattern: RegExp): string[] | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text);
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #skipBlanks(): void {
    while (!this.#over() && /\s/.test(this.#text[this.#at])) this.#at++;
  }

  #over(): boolean {
    return this.#at >= this.#text.length;
  }

  #error(what: string, expected: string): ToolError {
    const position = this.#at + 1;
    return new ToolError(
      "INVALID_REQUEST",
      `the query cannot be understood at character ${position}: ${what}; expected ${expected}`,
      {
        next: 'Correct the query, or put text that is meant as it stands between "quotation marks".',
        details: { position },
      },
    );
  }
}
