/**
 * Settling what a record still has pending: undoing a creation that never finished, finishing a removal that
 * had begun. Everything here may run again after a kill at any point.
 */
import { messageOf, ToolError } from "../errors.ts";
import { listRefs } from "../git/refs.ts";
import { readStatus } from "../git/status.ts";
import { listWorktrees } from "../git/worktrees.ts";
import { lstatOrNull } from "../platform/jail.ts";
import type { HeldLock } from "../platform/lock.ts";
import { log } from "../platform/log.ts";
import { join } from "node:path";
import type { SessionScope } from "./scope.ts";
import { type Session, WORKTREES_DIR } from "./session.ts";
import type { StoredSession } from "./store.ts";
import { openTree } from "./work.ts";

/** How a pending change was settled. */
export type Settlement = "undone" | "kept" | "removed";

/** Settles one record; call it under the lock. */
export async function settle(
  scope: SessionScope,
  stored: StoredSession,
  lock: HeldLock,
): Promise<Settlement> {
  const { session } = stored;
  const settlement = session.pending?.op === "remove"
    ? await settleRemoval(scope, session, lock)
    : await settleCreation(scope, session, lock);
  if (settlement === "kept") {
    const { pending: _, ...plain } = session;
    await scope.store.put(scope.main.commonDir, plain, stored.version);
  }
  log("info", `session '${session.id}': interrupted ${session.pending?.op} was ${settlement}`);
  return settlement;
}

/** Nobody was told of the session, so it goes, unless somebody found it and worked in it. */
async function settleCreation(scope: SessionScope, session: Session, lock: HeldLock): Promise<Settlement> {
  const tip = await tipOf(scope, session);
  if ((tip !== null && tip !== session.start) || await holdsChanges(scope, session)) return "kept";
  if (!await moveAway(session)) return "kept";
  await forget(scope, session, tip, lock);
  return "undone";
}

/** The move of the directory is what decides: before it nothing was lost, after it the rest follows. */
async function settleRemoval(scope: SessionScope, session: Session, lock: HeldLock): Promise<Settlement> {
  if (await lstatOrNull(session.worktree) !== null) return "kept";
  await forget(scope, session, session.pending!.tip, lock);
  return "removed";
}

/**
 * Moves the worktree directory to its trash place in one step.
 *
 * @returns False when what stands there is not a worktree and not empty: then it is not ours to move.
 * @throws {ToolError} `worktree_in_use` when the system refuses the move.
 */
export async function moveAway(session: Session): Promise<boolean> {
  const info = await lstatOrNull(session.worktree);
  if (info === null) return true;
  const ours = info.isDirectory &&
    (await lstatOrNull(join(session.worktree, ".git")) !== null || await isEmpty(session.worktree));
  if (!ours) return false;
  try {
    await Deno.rename(session.worktree, session.pending!.trash);
    return true;
  } catch (cause) {
    throw new ToolError(
      "worktree_in_use",
      `worktree '${session.worktree}' cannot be moved: ${messageOf(cause)}`,
      {
        cause,
      },
    );
  }
}

/**
 * Removes every trace of a session whose directory is out of the way: git's registration, the branch if it
 * still is at `tip`, the trash, the record.
 */
export async function forget(
  scope: SessionScope,
  session: Session,
  tip: string | null,
  lock: HeldLock,
): Promise<void> {
  const { git, main } = scope;
  const worktrees = await listWorktrees(git, main);
  if (worktrees.some((worktree) => worktree.path === session.worktree)) {
    // Twice forced: a killed `worktree add` leaves its own lock mark.
    const args = ["worktree", "remove", "--force", "--force", session.worktree];
    await git.exec(main, args, { write: true, lock });
  }
  const ref = `refs/heads/${session.branch}`;
  const usedElsewhere = worktrees.some(({ path, branch }) => branch === ref && path !== session.worktree);
  if (tip !== null && !usedElsewhere) await deleteBranch(scope, session, tip, lock);
  if (session.pending) await discard(session.pending.trash);
  await scope.store.delete(main.commonDir, session.id);
  // The last session takes the directory with it; a directory in use stays.
  await Deno.remove(join(main.root, WORKTREES_DIR)).catch(() => {});
}

/** Deletes a trash directory; what cannot be deleted now is left for a later start. */
export async function discard(trash: string): Promise<void> {
  try {
    await Deno.remove(trash, { recursive: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    log("warn", `could not delete '${trash}': ${messageOf(error)}`);
  }
}

/** Deletes the branch only while it is at `tip`: a commit that came in between keeps its name. */
async function deleteBranch(
  scope: SessionScope,
  session: Session,
  tip: string,
  lock: HeldLock,
): Promise<void> {
  const { git, main } = scope;
  if (await tipOf(scope, session) !== tip) return;
  await git.exec(main, ["update-ref", "-d", `refs/heads/${session.branch}`, tip], { write: true, lock });
  const section = `branch.${session.branch}`;
  const set = await git.exec(main, ["config", "--local", "--get-regexp", `^${section}\\.`], { okCodes: [1] });
  if (set.stdout !== "") {
    await git.exec(main, ["config", "--local", "--remove-section", section], { write: true });
  }
}

async function tipOf(scope: SessionScope, session: Session): Promise<string | null> {
  const name = `refs/heads/${session.branch}`;
  return (await listRefs(scope.git, scope.main, [name])).get(name)?.oid ?? null;
}

/** A checkout that did not finish has no index yet; one that did is asked whether anybody worked in it. */
async function holdsChanges(scope: SessionScope, session: Session): Promise<boolean> {
  const tree = await openTree(scope, session);
  if (!tree || await lstatOrNull(join(tree.ownDir, "index")) === null) return false;
  const status = await readStatus(scope.git, tree);
  return status.entries.length > 0 || (status.head !== null && status.head !== session.start);
}

async function isEmpty(directory: string): Promise<boolean> {
  for await (const _ of Deno.readDir(directory)) return false;
  return true;
}
