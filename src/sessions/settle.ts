/**
 * Settling what a record still has pending: undoing a creation that never finished, finishing a removal that
 * had begun. Everything here may run again after a kill at any point, and beside a git that a killed server
 * left running for a moment.
 */
import { dirname, join } from "node:path";
import { messageOf, ToolError } from "../errors.ts";
import { listRefs } from "../git/refs.ts";
import { readStatus } from "../git/status.ts";
import { listWorktrees } from "../git/worktrees.ts";
import { lstatOrNull } from "../platform/jail.ts";
import { log } from "../platform/log.ts";
import { mapBounded, PARALLELISM } from "../platform/pool.ts";
import type { SessionScope } from "./scope.ts";
import { type Session, WORKTREES_DIR } from "./session.ts";
import type { StoredSession } from "./store.ts";
import { openTree } from "./work.ts";

const DISCARD_MS = 3_000;

/** How a pending change was settled. */
export type Settlement = "undone" | "kept" | "removed";

/** Settles one record; call it under the lock. */
export async function settle(scope: SessionScope, stored: StoredSession): Promise<Settlement> {
  const { session } = stored;
  const settlement = session.pending?.op === "remove"
    ? await settleRemoval(scope, session)
    : await settleCreation(scope, session);
  if (settlement === "kept") {
    const { pending: _, ...plain } = session;
    await scope.store.put(scope.main.commonDir, plain, stored.version);
  }
  log("info", `session '${session.id}': interrupted ${session.pending?.op} was ${settlement}`);
  return settlement;
}

/** Nobody was told of the session, so it goes, unless somebody found it and worked in it. */
async function settleCreation(scope: SessionScope, session: Session): Promise<Settlement> {
  const tip = await tipOf(scope, session);
  if ((tip !== null && tip !== session.start) || await holdsChanges(scope, session)) return "kept";
  await moveAside(session);
  await forget(scope, session, tip);
  return "undone";
}

/** Until all that is worth keeping has been kept the worktree is given back; from then on the rest follows. */
async function settleRemoval(scope: SessionScope, session: Session): Promise<Settlement> {
  if (!session.pending!.safe) {
    await giveBack(session);
    return "kept";
  }
  await forget(scope, session, session.pending!.tip);
  return "removed";
}

/** Moves the worktree directory back into its place, if it was moved and the place is free. */
async function giveBack(session: Session): Promise<void> {
  const { aside } = session.pending!;
  if (await lstatOrNull(session.worktree) !== null || await lstatOrNull(aside) === null) return;
  await Deno.rename(aside, session.worktree);
}

/**
 * Moves the worktree directory out of its place in one step; does nothing when there is none.
 *
 * @throws {ToolError} `worktree_in_use` when the system refuses the move.
 */
export async function moveAside(session: Session): Promise<void> {
  if (await lstatOrNull(session.worktree) === null) return;
  try {
    await Deno.rename(session.worktree, session.pending!.aside);
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
 * still is at `tip`, what lies aside, the record.
 */
export async function forget(scope: SessionScope, session: Session, tip: string | null): Promise<void> {
  const { git, main, store } = scope;
  const places = [session.worktree, session.pending?.aside];
  if (session.pending?.modules) await keepModules(session.pending.modules);
  // A place that git does not know can be emptied while git is at work.
  const emptied = session.pending?.op === "remove" ? discard(session.pending.aside) : undefined;
  const worktrees = await listWorktrees(git, main);
  for (const { path } of worktrees.filter((worktree) => places.includes(worktree.path))) {
    // Twice forced, because a killed `worktree add` leaves its own lock mark; whoever is first here is right.
    await git.exec(main, ["worktree", "remove", "--force", "--force", path], { write: true, okCodes: [128] });
  }
  const ref = `refs/heads/${session.branch}`;
  const usedElsewhere = worktrees.some(({ path, branch }) => branch === ref && !places.includes(path));
  if (tip !== null && !usedElsewhere) await deleteBranch(scope, session, tip).catch(logFailure);
  if (session.pending) await (emptied ?? discard(session.pending.aside));
  await store.delete(main.commonDir, session.id);
  // The last session takes the directory with it; a directory in use stays.
  await Deno.remove(join(main.root, WORKTREES_DIR)).catch(() => {});
}

/**
 * Deletes a directory that lies aside. A git left behind may still be filling it, so this is tried for a
 * while; what cannot be deleted even then is left for a later call.
 */
export async function discard(aside: string, patienceMs = DISCARD_MS): Promise<void> {
  // Deleting many files is most of the work of a removal; two levels down there is something to share out.
  const below = (await Promise.all((await directoriesIn(aside)).map(directoriesIn))).flat();
  await mapBounded(
    below,
    PARALLELISM,
    (directory) => Deno.remove(directory, { recursive: true }).catch(() => {}),
  );
  for (const deadline = Date.now() + patienceMs;;) {
    try {
      return await Deno.remove(aside, { recursive: true });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound && await lstatOrNull(aside) === null) return;
      if (error instanceof Deno.errors.PermissionDenied) await makeDeletable(aside);
      if (Date.now() >= deadline) return log("warn", `could not delete '${aside}': ${messageOf(error)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Moves submodule clones out of the admin directory before it goes; the second time they are there already. */
async function keepModules({ from, to }: { from: string; to: string }): Promise<void> {
  if (await lstatOrNull(from) === null) return;
  await Deno.mkdir(dirname(to), { recursive: true });
  await Deno.rename(from, to);
}

async function directoriesIn(directory: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(directory)).catch(() => []);
  return entries.filter((entry) => entry.isDirectory).map((entry) => join(directory, entry.name));
}

/** Directories that were made read-only (a module cache is) hold on to what is in them. */
async function makeDeletable(directory: string): Promise<void> {
  await Deno.chmod(directory, 0o700).catch(() => {});
  for await (const entry of Deno.readDir(directory)) {
    if (entry.isDirectory) await makeDeletable(join(directory, entry.name));
  }
}

async function isEmpty(directory: string): Promise<boolean> {
  for await (const _ of Deno.readDir(directory)) return false;
  return true;
}

/** A branch that stays is no loss: the worktree is gone all the same, and the caller is told. */
function logFailure(error: unknown): void {
  log("warn", messageOf(error));
}

/** Deletes the branch only while it is at `tip`: a commit that came in between keeps its name. */
async function deleteBranch(scope: SessionScope, session: Session, tip: string): Promise<void> {
  const { git, main } = scope;
  await git.exec(main, ["update-ref", "--no-deref", "-d", `refs/heads/${session.branch}`, tip], {
    write: true,
  });
  const config = await Deno.readTextFile(join(main.commonDir, "config")).catch(() => "");
  if (config.includes(`[branch "${session.branch}"]`)) {
    await git.exec(main, ["config", "--local", "--remove-section", `branch.${session.branch}`], {
      write: true,
    });
  }
}

async function tipOf(scope: SessionScope, session: Session): Promise<string | null> {
  const name = `refs/heads/${session.branch}`;
  return (await listRefs(scope.git, scope.main, [name])).get(name)?.oid ?? null;
}

/** Whether somebody worked in the worktree since it was moved in whole. */
async function holdsChanges(scope: SessionScope, session: Session): Promise<boolean> {
  if (await lstatOrNull(session.worktree) === null) return false;
  let tree = await openTree(scope, session);
  if (!tree) {
    // Moved in, and the kill came before git was told.
    await scope.git.exec(scope.main, ["worktree", "repair", session.worktree], {
      write: true,
      okCodes: [1, 128],
    });
    tree = await openTree(scope, session);
  }
  if (!tree) return !await isEmpty(session.worktree);
  const status = await readStatus(scope.git, tree);
  return status.entries.length > 0 || (status.head !== null && status.head !== session.start);
}
