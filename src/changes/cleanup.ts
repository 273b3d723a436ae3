/** Clearing away what has been merged: worktrees and branches, and only those nobody can miss. */
import * as path from "node:path";
import { messageOf } from "../errors.ts";
import { branchUses, canonicalBranch } from "../git/branch_use.ts";
import { hiddenEdits } from "../git/hidden_edits.ts";
import { GITLINK, listIndex } from "../git/index_entries.ts";
import { nestedRepositories } from "../git/nested.ts";
import { operationUnderWay } from "../git/operation.ts";
import { privateCommits } from "../git/private_commits.ts";
import { isProtected } from "../git/protected_branches.ts";
import { resolveCommits } from "../git/refs.ts";
import type { GitOptions } from "../git/runner.ts";
import { readStatus } from "../git/status.ts";
import { listWorktrees } from "../git/worktrees.ts";
import { asOnlyWriter } from "../git/write_lock.ts";
import { idOf } from "../sessions/session.ts";
import type { ChangeScope } from "./landing.ts";

/** What to clear away. */
export interface CleanupRequest {
  /** Short names of the local branches that were merged. */
  branches: readonly string[];
  /** Full object name of the commit they were merged into, and the short name of its branch. */
  into: string;
  destination: string;
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
  if (branch === request.destination) return { kept: `'${branch}' is the destination` };
  const all = await listWorktrees(git, tree, options.signal);
  const use = (await branchUses(tree, all)).get(branch);
  const result: Cleanup = {};
  if (use !== undefined) {
    const { place, checkedOut } = use;
    if (!request.removeWorktrees || !checkedOut) return { kept: `in use at '${place}'` };
    if (place === tree.root || place === all[0].path) return { kept: `'${place}' is in use` };
    if (!await scope.mayTouch(place)) return { kept: `'${place}' lies outside of the allowed roots` };
    if (isProtected(path.basename(place))) return { kept: `worktree '${place}' is protected` };
    const session = idOf(all[0].path, place);
    if (session !== null) {
      if (!request.deleteBranches) {
        return { kept: `session '${session}' goes with its branch: use remove_session` };
      }
      if (!await request.removeSession(session)) return { kept: `session '${session}' holds other work` };
      return { branchDeleted: true, worktreeRemoved: place };
    }
    const kept = await asOnlyWriter(tree, options, async () => {
      const work = await workIn(scope, place);
      if (work !== null) return work;
      await git.exec(tree, ["worktree", "remove", place], { ...options, write: true });
      return null;
    });
    if (kept !== null) return { kept };
    result.worktreeRemoved = place;
  }
  if (request.deleteBranches && await deleteMerged(scope, request.into, branch)) result.branchDeleted = true;
  return result;
}

/** What git would delete with a worktree although nobody else may have it; null when there is nothing. */
async function workIn(
  { git, repositories, tree, options }: ChangeScope,
  place: string,
): Promise<string | null> {
  const there = await repositories.open(place, options.signal);
  if (await operationUnderWay(there) !== null) return `an operation is under way in '${place}'`;
  const { entries } = await readStatus(git, there, { ...options, ignored: true });
  const changed = entries.filter(({ kind }) => kind !== "ignored");
  if (changed.length > 0) return `'${place}' has uncommitted or untracked files: ${changed[0].path}`;
  const ignored = entries.map((entry) => entry.path);
  // A directory of ignored files is what builds leave behind; a single one may be all there is of it.
  const single = ignored.find((name) => !name.endsWith("/"));
  if (single !== undefined) return `'${place}' holds the ignored file '${single}'`;
  const [nested] = await nestedRepositories(there, ignored);
  if (nested !== undefined) return `'${place}' holds the repository '${nested}'`;
  const unusual = await listIndex(git, there, options);
  if (unusual.some(({ mode }) => mode === GITLINK)) return `'${place}' has submodules`;
  const [hidden] = await hiddenEdits(git, there, unusual, options);
  if (hidden !== undefined) return `'${place}' has an edit that git was told to overlook: '${hidden}'`;
  const own = await privateCommits(git, tree, there.ownDir, options);
  return own.length > 0 ? `'${place}' has refs of its own` : null;
}

/** `git branch -d` asks the upstream, not the destination, so the question is asked here. */
async function deleteMerged(scope: ChangeScope, into: string, branch: string): Promise<boolean> {
  const { git, tree, options } = scope;
  const write: GitOptions = { ...options, write: true };
  return await asOnlyWriter(tree, options, async () => {
    const [tip] = await resolveCommits(git, tree, [`refs/heads/${branch}`], options);
    if (tip === null || branch !== await canonicalBranch(git, tree, branch, options)) return false;
    const args = ["merge-base", "--is-ancestor", tip, into];
    if ((await git.exec(tree, args, { ...options, okCodes: [1] })).code !== 0) return false;
    // Only if it still is what was looked at.
    await git.exec(tree, ["update-ref", "-d", `refs/heads/${branch}`, tip], write);
    await git.exec(tree, ["config", "--local", "--remove-section", `branch.${branch}`], {
      ...write,
      okCodes: [1, 5, 128],
    });
    return true;
  });
}
