/** Globs over paths: one dialect wherever a caller gives a pattern. */
// @ts-types="@types/picomatch"
import picomatch from "picomatch";
import { ToolError } from "../errors.ts";

const LONGEST = 256;
/** Wildcards are matched by backtracking; this many in one name are quick on any path. */
const MOST_STARS = 4;

/**
 * Whether a `/`-separated path, or its last part, matches one of the patterns: `*` within a name, `**` across
 * directories, `?`, `[a-z]`, `{a,b}`.
 *
 * @throws {ToolError} `invalid_arguments` for a pattern that is too long or has too many wildcards.
 */
export function globMatcher(patterns: readonly string[]): (path: string) => boolean {
  const matchers = patterns.map(compiled);
  return (path) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    // A path given as it is means itself, whatever characters are in it.
    return patterns.includes(path) || matchers.some((matches) => matches(path) || matches(name));
  };
}

function compiled(pattern: string): (path: string) => boolean {
  const refuse = (why: string) =>
    new ToolError("invalid_arguments", `pattern '${pattern.slice(0, 80)}' ${why}`, {
      next: "Use a simpler pattern.",
    });
  if (pattern === "") throw refuse("is empty");
  if (pattern.length > LONGEST) throw refuse(`is longer than ${LONGEST} characters`);
  const busiest = Math.max(...pattern.split("/").map((part) => part.match(/\*+/g)?.length ?? 0));
  const crossings = pattern.match(/\*\*/g)?.length ?? 0;
  if (busiest > MOST_STARS || crossings > MOST_STARS) throw refuse(`has more than ${MOST_STARS} wildcards`);
  // Groups and repetition are no part of the dialect, and file names have parentheses.
  const literal = pattern.replace(/\\?[()|+]/g, (found) => found.length > 1 ? found : `\\${found}`);
  return picomatch(literal, { dot: true, noextglob: true, nonegate: true });
}
