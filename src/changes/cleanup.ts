/** Clearing away what has been merged: worktrees and branches, and only those nobody can miss. */
import * as path from "node:path";
import { messageOf } from "../errors.ts";
import { isProtected } from "../git/protected_branches.ts";
import { resolveCommits } from "../git/refs.ts";
import { listWorktrees } from "../git/worktrees.ts";
import { asOnlyWriter } from "../git/write_lock.ts";
import { idOf } from "../sessions/session.ts";
import type { ChangeScope } from "./landing.ts";

/** What to clear away. */
export interface CleanupRequest {
  /** Short names of the local branches that were merged. */
  branches: readonly string[];
  /** Full object name of the commit they were merged into. */
  into: string;
  deleteBranches: boolean;
  removeWorktrees: boolean;
  /** Removes a session by its id, with its branch; false when the session had to stay. */
  removeSession(id: string): Promise<boolean>;
}

/** What was cleared away for one branch, or why it was not. */
export interface Cleanup {
  branchDeleted?: true;
  /** Path of the worktree. */
  worktreeRemoved?: string;
  kept?: string;
}

/** Clears away what the merge left over; nothing here fails the merge. By branch. */
export async function cleanUp(scope: ChangeScope, request: CleanupRequest): Promise<Map<string, Cleanup>> {
  const done = new Map<string, Cleanup>();
  for (const branch of new Set(request.branches)) {
    try {
      done.set(branch, await clear(scope, request, branch));
    } catch (error) {
      done.set(branch, { kept: messageOf(error) });
    }
  }
  return done;
}

async function clear(scope: ChangeScope, request: CleanupRequest, branch: string): Promise<Cleanup> {
  const { git, tree, options } = scope;
  if (isProtected(branch)) return { kept: `'${branch}' is protected` };
  const all = await listWorktrees(git, tree, options.signal);
  const place = all.find((one) => one.branch === `refs/heads/${branch}` && !one.bare)?.path;
  const result: Cleanup = {};
  if (place !== undefined) {
    if (!request.removeWorktrees) return { kept: `checked out at '${place}'` };
    if (place === tree.root || place === all[0].path) return { kept: `'${place}' is in use` };
    if (!scope.mayTouch(place)) return { kept: `'${place}' lies outside of the allowed roots` };
    if (isProtected(path.basename(place))) return { kept: `worktree '${place}' is protected` };
    const session = request.deleteBranches ? idOf(all[0].path, place) : null;
    if (session !== null) {
      if (!await request.removeSession(session)) return { kept: `session '${session}' holds other work` };
      return { branchDeleted: true, worktreeRemoved: place };
    }
    await asOnlyWriter(
      tree,
      options,
      () => git.exec(tree, ["worktree", "remove", place], { ...options, write: true }),
    );
    result.worktreeRemoved = place;
  }
  if (request.deleteBranches && await deleteMerged(scope, request.into, branch)) result.branchDeleted = true;
  return result;
}

/** `git branch -d` asks the upstream, not the destination, so the question is asked here. */
async function deleteMerged(scope: ChangeScope, into: string, branch: string): Promise<boolean> {
  const { git, tree, options } = scope;
  return await asOnlyWriter(tree, options, async () => {
    const [tip] = await resolveCommits(git, tree, [`refs/heads/${branch}`], options);
    if (tip === null) return false;
    const args = ["merge-base", "--is-ancestor", tip, into];
    if ((await git.exec(tree, args, { ...options, okCodes: [1] })).code !== 0) return false;
    await git.exec(tree, ["branch", "--quiet", "-D", "--", branch], { ...options, write: true });
    return true;
  });
}
