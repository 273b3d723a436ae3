/** The text of `git status --short --branch`, made from a parsed status instead of a second git. */
import type { Status, StatusEntry } from "./status.ts";

/** The branch line and one line per path, each as git-status(1) words it (Short Format, Branch Header). */
export function shortStatus(status: Status): { header: string; lines: string[] } {
  return { header: `## ${headerOf(status)}`, lines: inOrder(status.entries).map(lineOf) };
}

/** By path, untracked ones last. */
export function inOrder(entries: readonly StatusEntry[]): StatusEntry[] {
  const untracked = ({ kind }: StatusEntry) => Number(kind === "untracked" || kind === "ignored");
  return entries.toSorted((a, b) =>
    untracked(a) - untracked(b) || (untracked(a) ? 0 : a.path < b.path ? -1 : a.path > b.path ? 1 : 0)
  );
}

function headerOf({ head, branch, upstream, divergence }: Status): string {
  if (branch === null) return "HEAD (no branch)";
  const name = head === null ? `No commits yet on ${branch}` : branch;
  if (upstream === null) return name;
  if (divergence === null) return `${name}...${upstream} [gone]`;
  const { ahead, behind } = divergence;
  const apart = [...(ahead ? [`ahead ${ahead}`] : []), ...(behind ? [`behind ${behind}`] : [])].join(", ");
  return `${name}...${upstream}${apart ? ` [${apart}]` : ""}`;
}

function lineOf(entry: StatusEntry): string {
  const path = quoted(entry.path);
  return `${entry.xy.replaceAll(".", " ")} ${
    entry.from === undefined ? path : `${quoted(entry.from)} -> ${path}`
  }`;
}

const ESCAPES: Record<string, string> = {
  "\n": "\\n",
  "\t": "\\t",
  "\r": "\\r",
  "\b": "\\b",
  "\f": "\\f",
  "\v": "\\v",
  "\x07": "\\a",
  '"': '\\"',
  "\\": "\\\\",
};

// deno-lint-ignore no-control-regex -- control characters are what has to be quoted
const NEEDS_QUOTES = /[\x00-\x20"\\\x7f]/;
// deno-lint-ignore no-control-regex -- the same
const NEEDS_ESCAPE = /[\x00-\x1f"\\\x7f]/g;

/** C-style quoting of a path, where git quotes with `core.quotePath=false`; blanks count in short format. */
export function quoted(path: string): string {
  if (!NEEDS_QUOTES.test(path)) return path;
  const inner = path.replace(
    NEEDS_ESCAPE,
    (character) => ESCAPES[character] ?? `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
  return `"${inner}"`;
}
