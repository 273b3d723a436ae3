/** Removing a session: never work that is not safe elsewhere, unless forced, and then only after a backup. */
import { basename, join } from "node:path";
import { messageOf, ToolError } from "../errors.ts";
import { listRefs } from "../git/refs.ts";
import { log } from "../platform/log.ts";
import { takeUp } from "./adopt.ts";
import { backUp } from "./backup.ts";
import type { SessionScope } from "./scope.ts";
import { asOnlyWriter } from "../git/write_lock.ts";
import { asideOf, parseSessionId, type Pending, type Session } from "./session.ts";
import { forget, moveAside, settle } from "./settle.ts";
import type { StoredSession } from "./store.ts";
import { inspectWork, lookAgain, refuseUnremovable, type SessionWork } from "./work.ts";

/** What a removal did, or why it did nothing. */
export interface Removal {
  id: string;
  /** Milliseconds since the epoch; null when the session is still there. */
  removedAt: number | null;
  unmergedCommits: number;
  uncommittedFiles: number;
  /** Refs that keep what the removal took away. */
  backupRefs: string[];
  /** Directory that keeps submodule clones with commits of their own. */
  keptModules: string | null;
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
  return await asOnlyWriter(scope.main, options, async () => {
    const stored = await find(scope, id);
    const work = await inspectWork(scope, stored.session, options.signal);
    const { unmergedCommits, uncommittedFiles } = work;
    const report = { id, unmergedCommits, uncommittedFiles };
    const unsafe = unmergedCommits > 0 || uncommittedFiles > 0;
    if (unsafe && !options.force) return { ...NOTHING_DONE, ...report };
    refuseUnremovable(stored.session, work);
    const kept = await takeAway(scope, stored, work, options);
    if (kept === null) {
      return { ...NOTHING_DONE, id, unmergedCommits, uncommittedFiles: Math.max(1, uncommittedFiles) };
    }
    const { branch } = stored.session;
    const names = work.otherBranch ? [branch, work.otherBranch] : [branch];
    const refs = await listRefs(scope.git, scope.main, names.map((name) => `refs/heads/${name}`));
    const keptBranch = names.find((name) => refs.has(`refs/heads/${name}`)) ?? null;
    return { ...report, ...kept, removedAt: Date.now(), keptBranch };
  });
}

const NOTHING_DONE = { removedAt: null, backupRefs: [], keptModules: null, keptBranch: null };

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

/**
 * Moves the worktree out of reach, keeps its work, and removes the rest. What was written between the first
 * look and the move is found by looking again where nobody else can write any more. From here on cancelling
 * is not heeded: half a removal would help nobody.
 *
 * @returns What was kept; null when the session was given back because work has come in meanwhile.
 */
async function takeAway(
  scope: SessionScope,
  stored: StoredSession,
  work: SessionWork,
  { force }: { force?: boolean },
): Promise<Pick<Removal, "backupRefs" | "keptModules"> | null> {
  const { main, store } = scope;
  const aside = asideOf(main.root, stored.session.id);
  const keptModules = work.modules ? join(main.commonDir, KEPT_MODULES, basename(aside)) : null;
  const modules = keptModules ? { from: work.modules!, to: keptModules } : undefined;
  const pending: Pending = { op: "remove", aside, tip: work.tip, modules };
  let current = await next(scope, stored, pending);
  try {
    // A submodule knows its worktree by path, so a worktree with submodules is backed up where it stands.
    const early = work.hasSubmodules ? await backUp(scope, current.session, work) : [];
    await moveAside(current.session);
    const late = work.tree && !work.hasSubmodules ? await lookAgain(scope, work, aside) : work;
    if (late.uncommittedFiles > 0 && !force) {
      await settle(scope, current);
      return null;
    }
    const backupRefs = work.hasSubmodules ? early : await backUp(scope, current.session, late);
    current = await next(scope, current, { ...pending, safe: true });
    await forget(scope, current.session, work.tip);
    return { backupRefs, keptModules };
  } catch (error) {
    const now = await store.get(main.commonDir, stored.session.id);
    if (now?.session.pending) await settle(scope, now).catch((cause) => log("warn", messageOf(cause)));
    throw error;
  }
}

/** Directory in the common git directory for submodule clones that were worth keeping. */
const KEPT_MODULES = "orchestragent-backup";

async function next(scope: SessionScope, stored: StoredSession, pending: Pending): Promise<StoredSession> {
  const session: Session = { ...stored.session, pending };
  const version = await scope.store.put(scope.main.commonDir, session, stored.version);
  if (version === null) throw new ToolError("session_not_found", `session not found: ${session.id}`);
  return { session, version };
}
