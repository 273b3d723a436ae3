/** Comparing a value such as a path, a name or a date with what a query says of its field. */
import { editDistance } from "../../platform/distance.ts";
import type { Match } from "../query/ast.ts";
import { linearRegex } from "./regex.ts";
import { lowerCase, wordsOf } from "./text.ts";
import { fitsWhole, wildcardOf } from "./wildcard.ts";

/** How a plain word is compared with a value: anywhere in it, with all of it, or with its beginning. */
export type Plain = "part" | "whole" | "prefix";

/**
 * Whether one of the forms of a value matches, without regard to case. Wildcards have to fit a whole form, in
 * which `*` stands for anything.
 *
 * @throws {ToolError} `INVALID_REQUEST` for a regular expression that is none.
 */
export async function valueMatcher(match: Match, plain: Plain): Promise<(...forms: string[]) => boolean> {
  const test = await testOf(match, plain);
  return (...forms) => forms.some((form) => test(lowerCase(form)));
}

async function testOf(match: Match, plain: Plain): Promise<(value: string) => boolean> {
  switch (match.kind) {
    case "all":
      return () => true;
    case "text": {
      const wanted = lowerCase(match.text.trim());
      if (plain === "whole") return (value) => value === wanted;
      return plain === "prefix" ? (value) => value.startsWith(wanted) : (value) => value.includes(wanted);
    }
    case "near": {
      const words = match.words.map(lowerCase);
      return (value) => words.every((word) => value.includes(word));
    }
    case "wildcard": {
      const wildcard = wildcardOf(match.parts);
      return (value) => fitsWhole(wildcard, value);
    }
    case "fuzzy": {
      const wanted = lowerCase(match.word);
      return (value) => wordsOf(value).some((word) => editDistance(word, wanted, match.edits) <= match.edits);
    }
    case "regex": {
      const regex = await linearRegex(match.source);
      return (value) => regex.test(value);
    }
    case "range": {
      const [from, to] = [match.from, match.to].map((end) => end === null ? null : lowerCase(end));
      return (value) =>
        (from === null || (match.withFrom ? value >= from : value > from)) &&
        (to === null || (match.withTo ? value <= to : value < to));
    }
  }
}

/** The forms of a person: name, address, both, and each word of the name, because people search by one. */
export function personForms(name: string, email: string): string[] {
  return [name, email, `${name} <${email}>`, ...name.split(/\s+/)];
}

/** Forms of a path: itself and its last part. */
export function pathForms(path: string): string[] {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? [path] : [path, path.slice(slash + 1)];
}

/** Forms of a ref: its full name and the short one. */
export function refForms(ref: string): string[] {
  return [ref, ref.replace(/^refs\/(?:heads|tags|remotes)\//, "")];
}
