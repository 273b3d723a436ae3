/** What a conflict is about, in few words: its kind per path and the places where both sides differ. */
import type { ConflictedPath, MergeResult } from "./merge_tree.ts";
import type { Repository } from "./repository.ts";
import { bytesOf, type GitOptions, type GitRunner } from "./runner.ts";

/** How the sides disagree, in the words of git-status(1); `unclear` when only the message tells. */
export type ConflictKind =
  | "both-modified"
  | "both-added"
  | "both-deleted"
  | "added-by-us"
  | "added-by-them"
  | "deleted-by-us"
  | "deleted-by-them"
  | "unclear";

/** One place in a file; texts are cut to a few lines. */
export interface ConflictHunk {
  /** Line of the first conflict marker in the merged file, from 1. */
  line: number;
  ours: string;
  base?: string;
  theirs: string;
}

/** A conflicting path for a report. */
export interface Conflict {
  path: string;
  kind: ConflictKind;
  message?: string;
  hunks?: ConflictHunk[];
  hunksOmitted?: number;
}

const MAX_FILES_WITH_HUNKS = 10;
const MAX_HUNKS = 4;
const MAX_LINES = 12;
const MAX_LINE = 200;
/** Characters of hunks in all. */
const MAX_HUNK_TEXT = 6_000;
const MAX_CONTENT_BYTES = 8 * 1024 * 1024;

/** Reads the conflicting files of a merge and picks out what has to be decided. */
export async function describeConflicts(
  git: GitRunner,
  repository: Repository,
  { tree, conflicts }: MergeResult,
  options: GitOptions = {},
): Promise<Conflict[]> {
  const readable = conflicts.filter(({ path, stages }) =>
    stages.includes(2) && stages.includes(3) && !path.includes("\n")
  ).slice(0, MAX_FILES_WITH_HUNKS);
  const contents = await readBlobs(git, repository, readable.map(({ path }) => `${tree}:${path}`), options);
  let left = MAX_HUNK_TEXT;
  return conflicts.map((conflict) => {
    const content = contents[readable.indexOf(conflict)] ?? null;
    const found = content === null ? [] : conflictHunks(content);
    const hunks: ConflictHunk[] = [];
    for (const hunk of found.slice(0, MAX_HUNKS)) {
      const size = JSON.stringify(hunk).length;
      if (size > left) break;
      left -= size;
      hunks.push(hunk);
    }
    const omitted = found.length - hunks.length;
    return {
      path: conflict.path,
      kind: kindOf(conflict),
      ...(conflict.message ? { message: conflict.message } : {}),
      ...(hunks.length > 0 ? { hunks } : {}),
      ...(omitted > 0 ? { hunksOmitted: omitted } : {}),
    };
  });
}

const KINDS: Record<string, ConflictKind> = {
  "1,2,3": "both-modified",
  "2,3": "both-added",
  "1": "both-deleted",
  "2": "added-by-us",
  "3": "added-by-them",
  "1,3": "deleted-by-us",
  "1,2": "deleted-by-them",
};

function kindOf({ stages }: ConflictedPath): ConflictKind {
  return KINDS[stages.toSorted().join(",")] ?? "unclear";
}

/** The regions between conflict markers of a text; see git-merge(1), How Conflicts are Presented. */
export function conflictHunks(text: string): ConflictHunk[] {
  const hunks: ConflictHunk[] = [];
  let sides: Record<"ours" | "base" | "theirs", string[]> | null = null;
  let side: "ours" | "base" | "theirs" = "ours";
  let start = 0;
  text.split("\n").forEach((line, at) => {
    if (/^<{7}( |\r?$)/.test(line)) {
      [sides, side, start] = [{ ours: [], base: [], theirs: [] }, "ours", at + 1];
    } else if (sides === null) return;
    else if (/^\|{7}( |\r?$)/.test(line) && side === "ours") side = "base";
    else if (/^={7}\r?$/.test(line) && side !== "theirs") side = "theirs";
    else if (/^>{7}( |\r?$)/.test(line)) {
      const { ours, base, theirs } = sides;
      hunks.push({
        line: start,
        ours: cut(ours),
        ...(base.length > 0 ? { base: cut(base) } : {}),
        theirs: cut(theirs),
      });
      sides = null;
    } else sides[side].push(line);
  });
  return hunks;
}

function cut(lines: readonly string[]): string {
  const shown = lines.slice(0, MAX_LINES).map((line) =>
    line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line
  );
  if (lines.length > MAX_LINES) shown.push(`… ${lines.length - MAX_LINES} more lines`);
  return shown.join("\n");
}

/** The texts of blobs by name, all from one git; null for what is missing, binary or beyond the cap. */
async function readBlobs(
  git: GitRunner,
  repository: Repository,
  names: readonly string[],
  options: GitOptions,
): Promise<(string | null)[]> {
  if (names.length === 0) return [];
  const stdin = names.map((name) => `${name}\n`).join("");
  const { stdout } = await git.exec(repository, ["cat-file", "--batch"], {
    ...options,
    stdin,
    latin1: true,
    maxStdout: MAX_CONTENT_BYTES,
  });
  let at = 0;
  return names.map(() => {
    const end = stdout.indexOf("\n", at);
    const size = /^[0-9a-f]+ \w+ (\d+)$/.exec(stdout.slice(at, end))?.[1];
    if (end < 0) return null;
    at = end + 1;
    if (size === undefined) return null;
    const content = stdout.slice(at, at + Number(size));
    at += Number(size) + 1;
    if (content.length < Number(size) || content.includes("\0")) return null;
    return new TextDecoder().decode(bytesOf(content));
  });
}
