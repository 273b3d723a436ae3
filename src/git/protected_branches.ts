/** Branches that no clean-up deletes. */

const NAMES = new Set([
  ...["main", "master", "dev", "develop", "stable", "trunk", "prod", "production", "head"],
]);
const PATTERN = /^(release|hotfix)[-/].+$/;

/** Whether a branch, or the last part of a worktree's path, has a protected name. A blank one counts as such. */
export function isProtected(name: string): boolean {
  const folded = name.trim().replace(/^refs\/heads\//, "").toLowerCase();
  return folded === "" || NAMES.has(folded) || PATTERN.test(folded);
}
