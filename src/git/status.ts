/** What a working tree holds beside its commit: `git status --porcelain=v2`. */
import { delimiter } from "node:path";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/** A parsed status. */
export interface Status {
  /** Full object name of HEAD; null before the first commit. */
  head: string | null;
  /** Short branch name; null when HEAD is detached. */
  branch: string | null;
  /** The upstream as git shortens it: `origin/main`; null without one. */
  upstream: string | null;
  /** Commits that HEAD has and the upstream lacks, and the other way; null when the upstream's ref is gone. */
  divergence: Divergence | null;
  entries: StatusEntry[];
}

/** How far two commits have gone apart. */
export interface Divergence {
  ahead: number;
  behind: number;
}

/** One line of status: a changed, renamed, unmerged or untracked path. */
export interface StatusEntry {
  kind: "changed" | "renamed" | "unmerged" | "untracked" | "ignored";
  /** Index and working-tree letters, `.` for unchanged; `??` when untracked. */
  xy: string;
  /** Relative to the top; an untracked directory ends in `/`. */
  path: string;
  /** Where a renamed path came from. */
  from?: string;
  /** Four characters, `N...` for anything but a submodule. */
  submodule?: string;
}

/**
 * Runs status; untracked directories count as one entry, as git shows them by default.
 *
 * @param options With `submodules` git also looks into submodules, where it follows their own config: judge
 * that first; without it only their commits are compared. With `ignored` ignored paths are listed too.
 */
export async function readStatus(
  git: GitRunner,
  repository: Repository,
  options: GitOptions & { submodules?: boolean; ignored?: boolean } = {},
): Promise<Status> {
  const inside = `--ignore-submodules=${options.submodules ? "none" : "dirty"}`;
  const ignored = options.ignored ? ["--ignored=traditional"] : [];
  const args = [...STATUS, inside, ...ignored];
  return parseStatus((await git.exec(repository, args, options)).stdout);
}

/**
 * The status of many repositories from one git, whose shell (git-config(1), `alias.*`) starts one after the
 * other: a good deal quicker than to start each from here. Null for one that fails.
 */
export async function readStatuses(
  git: GitRunner,
  repositories: readonly Repository[],
  options: GitOptions = {},
): Promise<(Status | null)[]> {
  if (repositories.length === 0) return [];
  const roots = repositories.map(({ root }) => root);
  const ceilings = [...new Set(repositories.map(({ ceiling }) => ceiling ?? ""))].join(delimiter);
  const { file } = await git.binary();
  const args = ["-c", `alias.${EACH}=${STATUS_OF_EACH}`, EACH, file, ...roots];
  const { stdout } = await git.exec({ root: roots[0], ceiling: ceilings }, args, options);
  const statuses = parseStatuses(stdout);
  return roots.map((_, at) => statuses[at] ?? null);
}

const STATUS = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"];
const EACH = "status-of-each";
/** Behind each status stands a record of ours, `=` and the exit code. Git repeats the arguments at the end. */
const STATUS_OF_EACH = [
  "!unset GIT_DIR GIT_WORK_TREE; git=$1; shift",
  `for place; do "$git" -C "$place" ${STATUS.join(" ")} --ignore-submodules=dirty`,
  String.raw`printf '\000=%d\000' $?`,
  "done",
  ":",
].join("; ");

/** Parses `git status --porcelain=v2 --branch -z`; see git-status(1), Porcelain Format Version 2. */
export function parseStatus(text: string): Status {
  return parseStatuses(`${text}\0=0\0`)[0] ?? emptyStatus();
}

/** Parses several such texts, each ended by an empty record and `=<exit code>`: null for those that failed. */
export function parseStatuses(text: string): (Status | null)[] {
  const statuses: (Status | null)[] = [];
  let status = emptyStatus();
  const records = text.split("\0");
  for (let i = 0; i < records.length; i++) {
    const record = records[i];
    switch (record[0]) {
      case "#":
        readHeader(record, status);
        break;
      case "1":
        status.entries.push(entryOf("changed", record, 8));
        break;
      case "2":
        status.entries.push({ ...entryOf("renamed", record, 9), from: records[++i] ?? "" });
        break;
      case "u":
        status.entries.push(entryOf("unmerged", record, 10));
        break;
      case "?":
        status.entries.push({ kind: "untracked", xy: "??", path: record.slice(2) });
        break;
      case "!":
        status.entries.push({ kind: "ignored", xy: "!!", path: record.slice(2) });
        break;
      case "=":
        statuses.push(record === "=0" ? status : null);
        status = emptyStatus();
        break;
    }
  }
  return statuses;
}

function emptyStatus(): Status {
  return { head: null, branch: null, upstream: null, divergence: null, entries: [] };
}

function readHeader(record: string, status: Status): void {
  const [, name, value] = /^# branch\.(\w+) (.*)$/s.exec(record) ?? [];
  if (name === "oid" && value !== "(initial)") status.head = value;
  if (name === "head" && value !== "(detached)") status.branch = value;
  if (name === "upstream") status.upstream = value;
  if (name === "ab") {
    const [ahead, behind] = value.split(" ").map((count) => Math.abs(Number(count)));
    status.divergence = { ahead, behind };
  }
}

/** The path is the `field`th blank-separated field and everything behind it. */
function entryOf(kind: StatusEntry["kind"], record: string, field: number): StatusEntry {
  let at = 0;
  for (let i = 0; i < field; i++) at = record.indexOf(" ", at) + 1;
  return { kind, xy: record.slice(2, 4), path: record.slice(at), submodule: record.slice(5, 9) };
}
