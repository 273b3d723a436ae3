/**
 * Taking up sessions that git knows and this database does not: made by a server with another `-db`, or
 * before the database was lost. Git is the truth about worktrees; the database adds what git cannot know.
 */
import { join } from "node:path";
import { ToolError } from "../errors.ts";
import { lstatOrNull } from "../platform/jail.ts";
import { log } from "../platform/log.ts";
import { findBase } from "./base.ts";
import type { SessionScope } from "./scope.ts";
import { asOnlyWriter } from "../git/write_lock.ts";
import { branchOf, idOf, type Session, worktreeOf, WORKTREES_DIR } from "./session.ts";

/** Takes up every unknown session worktree; `known` are the ids that have a record already. */
export async function takeUpUnknown(
  scope: SessionScope,
  known: ReadonlySet<string>,
  options: { signal?: AbortSignal; waitMs?: number } = {},
): Promise<string[]> {
  const unknown = (await worktreeIds(scope)).filter((id) => !known.has(id));
  if (unknown.length === 0) return [];
  return await asOnlyWriter(scope.main, options, async () => {
    const taken: string[] = [];
    for (const id of unknown) {
      if (await scope.store.get(scope.main.commonDir, id) === null && await takeUp(scope, id)) taken.push(id);
    }
    return taken;
  });
}

/** Makes a record for the worktree of `id` if one of ours stands there; call it under the lock. */
export async function takeUp(scope: SessionScope, id: string): Promise<boolean> {
  const worktree = worktreeOf(scope.main.root, id);
  const link = await lstatOrNull(join(worktree, ".git"));
  // Through a link it would lead out of the repository.
  const directory = await lstatOrNull(join(scope.main.root, WORKTREES_DIR));
  if (!link?.isFile || !directory?.isDirectory) return false;
  let start: string;
  let base: string;
  try {
    const tree = await scope.repositories.worktree(scope.main, worktree);
    const found = await findBase(scope);
    const shared = await scope.git.exec(tree, ["merge-base", found.oid, "HEAD"], { okCodes: [1] });
    base = found.name;
    start = shared.stdout.trim() || found.oid;
  } catch (error) {
    if (error instanceof ToolError) return false;
    throw error;
  }
  const createdAt = (link.birthtime ?? link.mtime ?? new Date()).getTime();
  const session: Session = {
    id,
    branch: branchOf(id),
    worktree,
    base,
    start,
    status: "open",
    createdAt,
    updatedAt: Date.now(),
  };
  const taken = await scope.store.put(scope.main.commonDir, session, null) !== null;
  if (taken) log("info", `session '${id}' was found in git and taken up`);
  return taken;
}

/** The ids of all worktree directories that carry a session's name. */
async function worktreeIds(scope: SessionScope): Promise<string[]> {
  const directory = join(scope.main.root, WORKTREES_DIR);
  const ids: string[] = [];
  if (!(await lstatOrNull(directory))?.isDirectory) return ids;
  for await (const entry of Deno.readDir(directory)) {
    const id = entry.isDirectory ? idOf(scope.main.root, join(directory, entry.name)) : null;
    if (id !== null) ids.push(id);
  }
  return ids.sort();
}
