/** The branch that a merge or a pick goes to, and everything that has to hold before it may be touched. */
import { ToolError } from "../errors.ts";
import { type BranchUse, branchUses, canonicalBranch } from "../git/branch_use.ts";
import { refuseUnderWay } from "../git/operation.ts";
import { checkCommitish, resolveCommits } from "../git/refs.ts";
import type { Repository } from "../git/repository.ts";
import type { GitOptions, GitRunner } from "../git/runner.ts";
import { readStatus } from "../git/status.ts";
import { listWorktrees, type Worktree } from "../git/worktrees.ts";
import { waitForIndex } from "../git/write_lock.ts";

/** Where commits are going to land. */
export interface Destination {
  /** Short name of the local branch. */
  branch: string;
  /** Full object name of its tip. */
  oid: string;
  /** The branch this working tree is on; null when detached or bare. */
  current: string | null;
  /** Full object name of a detached HEAD, which nothing else may name. */
  detachedAt: string | null;
  /** The working tree has changes; only a dry run goes on then. */
  dirty: boolean;
  worktrees: Worktree[];
  /** Where branches are checked out or come back to, by short name. */
  uses: Map<string, BranchUse>;
}

/** What {@linkcode openDestination} is asked for. */
export interface DestinationRequest {
  /** Left out, the branch of the working tree. */
  branch?: string;
  dryRun: boolean;
  /** The error for a detached HEAD when no branch is named. */
  detached: "into_detached_head" | "onto_detached_head";
}

const SHOWN_PATHS = 10;

/**
 * Looks at the destination and changes nothing.
 *
 * @throws {ToolError} `unsafe_ref_token`, `into_detached_head` or `onto_detached_head`, `merge_in_progress` and
 * its like, `working_tree_dirty`, `destination_not_found`, `checkout_failed`, `repo_locked`.
 */
export async function openDestination(
  git: GitRunner,
  tree: Repository,
  { branch, dryRun, detached }: DestinationRequest,
  options: GitOptions,
): Promise<Destination> {
  const named = branch === undefined ? undefined : checkCommitish(branch).replace(/^refs\/heads\//, "");
  const status = tree.bare ? null : await readStatus(git, tree, options);
  const current = status?.branch ?? null;
  const given = named ?? current ?? (tree.bare ? await bareHead(git, tree, options) : null);
  if (given === null) {
    throw new ToolError(detached, `HEAD of '${tree.root}' is detached and no branch is named`);
  }
  const dirty = (status?.entries.length ?? 0) > 0;
  if (!tree.bare) await refuseUnderWay(tree);
  if (!dryRun && !tree.bare) {
    await waitForIndex(tree, options.signal);
    if (dirty) throw dirtyTree(tree, status!.entries.map(({ path }) => path));
  }
  const name = given === current ? given : await canonicalBranch(git, tree, given, options);
  const [oid] = /[~^]/.test(name) ? [null] : await resolveCommits(git, tree, [`refs/heads/${name}`], options);
  if (oid === null) {
    throw new ToolError("destination_not_found", `'${given}' is not a local branch of '${tree.root}'`, {
      details: { ref: given },
    });
  }
  const worktrees = await listWorktrees(git, tree, options.signal);
  const uses = await branchUses(tree, worktrees);
  const use = uses.get(name);
  if (use && name !== current) {
    const detail = use.checkedOut
      ? `branch '${name}' is checked out at '${use.place}'`
      : `branch '${name}' is being rebased or bisected at '${use.place}'`;
    throw new ToolError("checkout_failed", detail, {
      next: `Call again with workspaceRoot '${use.place}'.`,
      details: { ref: name, detail },
    });
  }
  const detachedAt = status && current === null ? status.head : null;
  return { branch: name, oid, current, detachedAt, dirty, worktrees, uses };
}

async function bareHead(git: GitRunner, tree: Repository, options: GitOptions): Promise<string | null> {
  const args = ["symbolic-ref", "--quiet", "--short", "HEAD"];
  const { code, stdout } = await git.exec(tree, args, { ...options, okCodes: [1] });
  return code === 0 ? stdout.trim() : null;
}

function dirtyTree(tree: Repository, paths: readonly string[]): ToolError {
  const more = paths.length > SHOWN_PATHS ? ` and ${paths.length - SHOWN_PATHS} more` : "";
  return new ToolError(
    "working_tree_dirty",
    `'${tree.root}' has uncommitted changes: ${paths.slice(0, SHOWN_PATHS).join(", ")}${more}`,
    { details: { paths: paths.slice(0, SHOWN_PATHS), changedFiles: paths.length } },
  );
}
