/** Names under which what a call takes away or rewrites stays reachable. */
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

const PREFIX = "refs/orchestragent/backup";

/** A fresh prefix for the backups that one call makes of a branch. */
export function backupPrefix(branch: string): string {
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  return `${PREFIX}/${branch}/${stamp}-${crypto.randomUUID().slice(0, 4)}`;
}

/** Creates refs, all or none. */
export async function createRefs(
  git: GitRunner,
  repository: Repository,
  refs: ReadonlyMap<string, string>,
  options: GitOptions = {},
): Promise<void> {
  if (refs.size === 0) return;
  const stdin = [...refs].map(([ref, oid]) => `create ${ref} ${oid}\n`).join("");
  await git.exec(repository, ["update-ref", "--stdin"], { ...options, write: true, stdin });
}
