/** Removing a session: never work that is not safe elsewhere, unless forced, and then only after a backup. */
import { ToolError } from "../errors.ts";
import { takeUp } from "./adopt.ts";
import { backUp } from "./backup.ts";
import { asOnlyWriter, type SessionScope } from "./scope.ts";
import { asideOf, parseSessionId, type Session } from "./session.ts";
import { forget, moveAside, settle } from "./settle.ts";
import { resolveCommit } from "../git/refs.ts";
import type { StoredSession } from "./store.ts";
import { inspectWork, refuseLocked, type SessionWork } from "./work.ts";

/** What a removal did, or why it did nothing. */
export interface Removal {
  id: string;
  /** Milliseconds since the epoch; null when the session is still there. */
  removedAt: number | null;
  unmergedCommits: number;
  uncommittedFiles: number;
  /** Refs that keep what the removal took away. */
  backupRefs: string[];
  /** A branch that was left: another one that the worktree was on, or the session's own if it had to stay. */
  keptBranch: string | null;
}

/**
 * Removes a session's worktree, branch and record.
 *
 * Without `force` a session with uncommitted files or unmerged commits stays, and the counts say why. With
 * it, both are kept under `refs/orchestragent/backup/` first.
 *
 * @throws {ToolError} `invalid_session_id`, `session_not_found`, `worktree_locked`, `worktree_in_use`,
 * `nested_repository`, `repo_locked`, and what git and the store throw. After an error the session is whole.
 */
export async function removeSession(
  scope: SessionScope,
  rawId: string,
  options: { force?: boolean; signal?: AbortSignal } = {},
): Promise<Removal> {
  const id = parseSessionId(rawId);
  return await asOnlyWriter(scope, options, async () => {
    const stored = await find(scope, id);
    const work = await inspectWork(scope, stored.session, options.signal);
    refuseLocked(work);
    const { unmergedCommits, uncommittedFiles } = work;
    const report = { id, unmergedCommits, uncommittedFiles };
    const unsafe = unmergedCommits > 0 || uncommittedFiles > 0;
    if (unsafe && !options.force) return { ...report, removedAt: null, backupRefs: [], keptBranch: null };
    refuseForeign(stored.session, work);
    const backupRefs = await backUp(scope, stored.session, work, { signal: options.signal });
    await takeAway(scope, stored, work);
    const { branch } = stored.session;
    const stays = await resolveCommit(scope.git, scope.main, `refs/heads/${branch}`) !== null;
    return { ...report, removedAt: Date.now(), backupRefs, keptBranch: stays ? branch : work.otherBranch };
  });
}

/** The record, settled, or taken up from git when only the record is missing. */
async function find(scope: SessionScope, id: string): Promise<StoredSession> {
  const { store, main } = scope;
  const stored = await store.get(main.commonDir, id);
  if (stored?.session.pending) await settle(scope, stored);
  else if (stored === null) await takeUp(scope, id);
  const settled = stored && !stored.session.pending ? stored : await store.get(main.commonDir, id);
  if (settled === null) throw new ToolError("session_not_found", `session not found: ${id}`);
  return settled;
}

/** Something else than the session's worktree stands in its place: not ours to delete. */
function refuseForeign(session: Session, work: SessionWork): void {
  if (!work.present || work.tree) return;
  throw new ToolError("worktree_path_exists", `'${session.worktree}' is no longer this session's worktree`, {
    next: "Look at that directory and move it away; then the session can be removed.",
  });
}

/** From here on cancelling is not heeded: half a removal would help nobody. */
async function takeAway(scope: SessionScope, stored: StoredSession, work: SessionWork) {
  const { main, store } = scope;
  const aside = asideOf(main.root, stored.session.id);
  const session: Session = { ...stored.session, pending: { op: "remove", aside, tip: work.tip } };
  const version = await store.put(main.commonDir, session, stored.version);
  if (version === null) throw new ToolError("session_not_found", `session not found: ${session.id}`);
  try {
    await moveAside(session);
  } catch (error) {
    await settle(scope, { session, version });
    throw error;
  }
  await forget(scope, session, work.tip);
}
