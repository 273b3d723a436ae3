/** Which worktree a branch stands in: checked out, or in the middle of being rebased or bisected there. */
import { join } from "node:path";
import type { Repository } from "./repository.ts";
import { adminDirectory } from "./repository_layout.ts";
import type { GitOptions, GitRunner } from "./runner.ts";
import type { Worktree } from "./worktrees.ts";

/** A worktree that has a hold on a branch. */
export interface BranchUse {
  /** Path of the worktree. */
  place: string;
  /** Checked out there; else a rebase or bisection will come back to it. */
  checkedOut: boolean;
}

/** Files that name the branch an operation under way comes back to; see git-rebase(1), git-bisect(1). */
const RETURNS = ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"];

/** By short branch name. */
export async function branchUses(
  repository: Repository,
  worktrees: readonly Worktree[],
): Promise<Map<string, BranchUse>> {
  const uses = new Map<string, BranchUse>();
  const short = (name: string) => name.replace(/^refs\/heads\//, "");
  for (const { path, branch, bare } of worktrees) {
    if (bare) continue;
    if (branch !== null) uses.set(short(branch), { place: path, checkedOut: true });
    const admin = await adminDirectory(repository, path) ?? repository.commonDir;
    for (const file of RETURNS) {
      const name = (await Deno.readTextFile(join(admin, file)).catch(() => "")).trim();
      if (name !== "" && !uses.has(short(name))) uses.set(short(name), { place: path, checkedOut: false });
    }
  }
  return uses;
}

/** The branch that a name stands for once symbolic refs are followed; the name itself when it is none. */
export async function canonicalBranch(
  git: GitRunner,
  repository: Repository,
  branch: string,
  options: GitOptions = {},
): Promise<string> {
  const args = ["symbolic-ref", "--quiet", `refs/heads/${branch}`];
  const { code, stdout } = await git.exec(repository, args, { ...options, okCodes: [1, 128] });
  const target = stdout.trim();
  return code === 0 && target.startsWith("refs/heads/") ? target.slice("refs/heads/".length) : branch;
}
