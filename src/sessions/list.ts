/** The records of a repository's sessions, brought up to date with what other processes left or made. */
import { ToolError } from "../errors.ts";
import { takeUpUnknown } from "./adopt.ts";
import { settlePending } from "./recover.ts";
import { parseSessionId } from "./session.ts";
import type { SessionScope } from "./scope.ts";
import type { StoredSession } from "./store.ts";

/** How long listing waits for a writer before it shows what is there, milliseconds. */
const SHORT_WAIT_MS = 50;

/** The records of all sessions, oldest first, after taking in what other processes left or made. */
export async function sessionRecords(scope: SessionScope, signal?: AbortSignal): Promise<StoredSession[]> {
  const { store, main } = scope;
  const first = await store.list(main.commonDir);
  if (scope.readOnly) return visible(first);
  const known = new Set(first.map(({ session }) => session.id));
  const [settled, taken] = await Promise.all([
    settlePending(scope, first, { signal, waitMs: SHORT_WAIT_MS }).catch(ignoreLocked),
    takeUpUnknown(scope, known, { signal, waitMs: SHORT_WAIT_MS }).catch(ignoreLocked),
  ]);
  return visible(settled.length + taken.length > 0 ? await store.list(main.commonDir) : first);
}

/**
 * The worktree of a session.
 *
 * @throws {ToolError} `invalid_session_id`, `session_not_found`.
 */
export async function worktreeOf(
  scope: SessionScope,
  rawId: string,
  signal?: AbortSignal,
): Promise<string> {
  const id = parseSessionId(rawId);
  const stored = await scope.store.get(scope.main.commonDir, id);
  if (stored && !stored.session.pending) return stored.session.worktree;
  const records = await sessionRecords(scope, signal);
  const found = records.find(({ session }) => session.id === id);
  if (!found) throw new ToolError("session_not_found", `session not found: ${id}`);
  return found.session.worktree;
}

/** A session that is being created is nobody's yet. */
function visible(records: readonly StoredSession[]): StoredSession[] {
  return records.filter(({ session }) => session.pending?.op !== "create");
}

/** Another process is at work, or nobody may be: what there is can be shown all the same. */
function ignoreLocked(error: unknown): never[] {
  if (error instanceof ToolError && (error.code === "repo_locked" || error.code === "repo_not_writable")) {
    return [];
  }
  throw error;
}
