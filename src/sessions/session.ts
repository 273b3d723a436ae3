/** What a session is: its names, its record, and the rule for ids. */
import * as path from "node:path";
import { ToolError } from "../errors.ts";

/** A session's place in its life. `merged` is recognised from git, never set by hand. */
export type SessionStatus = "open" | "reviewed" | "merged";

/** A change that git has been asked for and the record not yet told of: what recovery starts from. */
export interface Pending {
  op: "create" | "remove";
  /** Place beside the worktree: where it is made before it is moved in, or moved out to before it is deleted. */
  aside: string;
  /** `remove`: the branch tip that may be deleted; null when the branch is kept or gone. */
  tip: string | null;
  /** `remove`: all that is worth keeping has been kept, so the rest may go. */
  safe?: boolean;
  /** `remove`: submodule clones with commits of their own, and where they are kept. */
  modules?: { from: string; to: string };
}

/** One session as the store keeps it. */
export interface Session {
  id: string;
  /** Short branch name, `session-<id>`. */
  branch: string;
  /** Absolute path of the worktree. */
  worktree: string;
  /** Short name of the branch its work is measured against and expected to go to. */
  base: string;
  /** Full object name of the commit it started at. */
  start: string;
  status: SessionStatus;
  /** Milliseconds since the epoch. */
  createdAt: number;
  updatedAt: number;
  pending?: Pending;
}

/** Directory of all session worktrees, in the repository's main working tree. */
export const WORKTREES_DIR = ".worktrees";
const PREFIX = "session-";
const PATTERN = /^[a-z0-9][a-z0-9-]*[a-z0-9]$/;

/**
 * Trims and lower-cases an id, then checks it.
 *
 * @throws {ToolError} `invalid_session_id`, worded as shared clients know it.
 */
export function parseSessionId(raw: string): string {
  const id = raw.trim().toLowerCase();
  const wrong = (why: string) => new ToolError("invalid_session_id", `invalid session ID: ${why}`);
  if (id.length < 2 || id.length > 50) throw wrong("session ID must be 2-50 characters");
  if (!PATTERN.test(id)) throw wrong("session ID must contain only lowercase letters, numbers, and hyphens");
  return id;
}

/** The branch of a session. */
export function branchOf(id: string): string {
  return `${PREFIX}${id}`;
}

/** The worktree path of a session in the main working tree at `mainRoot`. */
export function worktreeOf(mainRoot: string, id: string): string {
  return path.join(mainRoot, WORKTREES_DIR, `${PREFIX}${id}`);
}

/** The id a worktree path or branch belongs to; null when it is not one of ours. */
export function idOf(mainRoot: string, worktree: string): string | null {
  const id = path.basename(worktree).slice(PREFIX.length);
  return PATTERN.test(id) && id.length <= 50 && worktreeOf(mainRoot, id) === worktree ? id : null;
}

const ASIDE = `aside-${PREFIX}`;

/** Whether a name in `.worktrees` is one that {@linkcode asideOf} gives. */
export function isAside(name: string): boolean {
  return name.startsWith(ASIDE) && /-[0-9a-f]{8}$/.test(name);
}

/**
 * A fresh place beside the worktrees. Its name, and with it the name git gives the worktree inside `.git`, is
 * never used twice, so that a git left behind by a killed server can only get at what is its own.
 */
export function asideOf(mainRoot: string, id: string): string {
  return path.join(mainRoot, WORKTREES_DIR, `${ASIDE}${id}-${crypto.randomUUID().slice(0, 8)}`);
}
