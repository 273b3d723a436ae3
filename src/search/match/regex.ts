/** Regular expressions that take time linear in the text, and the text that they cannot do without. */
import { messageOf, ToolError } from "../../errors.ts";

/** A compiled expression. */
export interface LinearRegex {
  test(text: string): boolean;
}

const LONGEST = 1_000;
const MOST_STEPS = 5_000;

/**
 * Compiles an expression in RE2 syntax; letters match without case unless it says `(?-i)`.
 *
 * @throws {ToolError} `INVALID_REQUEST` for one that is none, or too large.
 */
export async function linearRegex(source: string): Promise<LinearRegex> {
  const refuse = (why: string) =>
    new ToolError("INVALID_REQUEST", `the regular expression /${source.slice(0, 80)}/ ${why}`, {
      next: "Use RE2 syntax: no look-around, no back-references.",
    });
  if (source.length > LONGEST) throw refuse(`is longer than ${LONGEST} characters`);
  const { RE2JS } = await import("re2js");
  try {
    const compiled = RE2JS.compile(source, RE2JS.CASE_INSENSITIVE | RE2JS.MULTILINE);
    if (compiled.programSize() > MOST_STEPS) {
      throw refuse("is too large once its repetitions are written out");
    }
    return { test: (text) => compiled.test(text) };
  } catch (error) {
    throw error instanceof ToolError ? error : refuse(`cannot be understood: ${messageOf(error)}`);
  }
}

/**
 * Stretches of text, without case, that every match of an expression contains. Cautious: what is not plain is
 * taken to match anything.
 */
export function requiredText(source: string): string[] {
  // An alternative outside of a group makes everything optional, and flags may change what letters mean.
  let depth = 0;
  const found: string[] = [];
  let run = "";
  const close = () => {
    if (run !== "") found.push(run.toLowerCase());
    run = "";
  };
  for (let at = 0; at < source.length; at++) {
    const char = source[at];
    const next = source[at + 1];
    const optional = /^(?:[*?]|\{0)/.test(source.slice(at + 1));
    if (char === "\\") {
      at++;
      const plain = next !== undefined && /[^\w\s]/.test(next) && next < "\x7f";
      const maybe = /^(?:[*?]|\{0)/.test(source.slice(at + 1));
      if (plain && depth === 0 && !maybe) run += next;
      else {
        close();
        // What \Q and \x and \p take in is not looked at.
        if (/[QxpPC0-7]/.test(next ?? "")) return [];
      }
    } else if (char === "[") {
      close();
      const end = classEnd(source, at);
      if (end < 0) return [];
      at = end;
    } else if (char === "(") {
      close();
      depth++;
    } else if (char === ")") {
      close();
      depth--;
    } else if (char === "|") {
      if (depth === 0) return [];
      close();
    } else if (/[.^$*+?]/.test(char)) close();
    else if (char === "{") {
      close();
      const end = source.indexOf("}", at);
      if (end < 0) return [];
      at = end;
    } else if (depth > 0) continue;
    else if (optional) close();
    else if (char < "\x7f") {
      run += char;
      // The next one may repeat: it is there once, and what follows does not touch it.
      if (next === "+" || next === "{") close();
    } else close();
  }
  close();
  return found.filter((text) => text.trim() !== "");
}

/** The `]` that ends a class. */
function classEnd(source: string, open: number): number {
  let at = open + 1;
  if (source[at] === "^") at++;
  // Directly behind the bracket it is a character of the class.
  if (source[at] === "]") at++;
  for (; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source.startsWith("[:", at)) at = Math.max(at, source.indexOf(":]", at) + 1);
    else if (source[at] === "]") return at;
  }
  return -1;
}
