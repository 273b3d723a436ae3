/**
 * Whether the work of a branch is already in a base although its commits are not: after a squash merge, a
 * rebase merge, or cherry-picks.
 */
import { ToolError } from "../errors.ts";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/** The two sides of the question, as full object names. */
export interface ContainmentQuestion {
  base: string;
  tip: string;
  /** Their merge base; null for unrelated histories, whose work is never contained. */
  mergeBase: string | null;
  /** Do not write even the helper objects that the exact checks need. */
  readOnly?: boolean;
}

/**
 * True when merging `tip` would add nothing to `base`, or when every commit of it, or all of it as one
 * commit, stands in `base` under another name (same patch).
 */
export async function isContained(
  git: GitRunner,
  repository: Repository,
  question: ContainmentQuestion,
  options: GitOptions = {},
): Promise<boolean> {
  const { base, tip, mergeBase, readOnly } = question;
  if (mergeBase === null) return false;
  if (!readOnly && await mergeAddsNothing(git, repository, base, tip, options)) return true;
  if (await allPatchesIn(git, repository, base, tip, options)) return true;
  if (readOnly) return false;
  return await allPatchesIn(
    git,
    repository,
    base,
    await squashed(git, repository, tip, mergeBase, options),
    options,
  );
}

async function mergeAddsNothing(
  git: GitRunner,
  repository: Repository,
  base: string,
  tip: string,
  options: GitOptions,
): Promise<boolean> {
  const args = ["rev-parse", `${base}^{tree}`, `${tip}^{tree}`];
  const [baseTree, tipTree] = (await git.exec(repository, args, options)).stdout.trim().split("\n");
  if (baseTree === tipTree) return true;
  if (!(await git.binary()).atLeast(2, 38)) return false;
  const merge = await git.exec(
    repository,
    ["merge-tree", "--write-tree", "--no-messages", base, tip],
    { ...options, okCodes: [1] },
  );
  return merge.code === 0 && merge.stdout.trim() === baseTree;
}

/** `git cherry` marks with `-` what the base has as the same patch, with `+` what it lacks. */
async function allPatchesIn(
  git: GitRunner,
  repository: Repository,
  base: string,
  tip: string,
  options: GitOptions,
): Promise<boolean> {
  const { stdout } = await git.exec(repository, ["cherry", base, tip], options);
  return stdout !== "" && !stdout.split("\n").some((line) => line.startsWith("+"));
}

/** The whole branch as one commit on its merge base; the same branch always gives the same object. */
async function squashed(
  git: GitRunner,
  repository: Repository,
  tip: string,
  mergeBase: string,
  options: GitOptions,
): Promise<string> {
  const who = { NAME: "orchestragent-mcp", EMAIL: "orchestragent-mcp@localhost", DATE: "@0 +0000" };
  const env = Object.fromEntries(
    Object.entries(who).flatMap((
      [key, value],
    ) => [[`GIT_AUTHOR_${key}`, value], [`GIT_COMMITTER_${key}`, value]]),
  );
  const args = ["commit-tree", "--no-gpg-sign", `${tip}^{tree}`, "-p", mergeBase, "-m", "squash"];
  const oid = (await git.exec(repository, args, { ...options, env })).stdout.trim();
  if (oid === "") throw new ToolError("git_failed", "git commit-tree gave no object name");
  return oid;
}
