/** Bringing records, worktrees and branches back together after kills, crashes and changes by hand. */
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import { lstatOrNull } from "../platform/jail.ts";
import { log } from "../platform/log.ts";
import { takeUpUnknown } from "./adopt.ts";
import type { SessionScope } from "./scope.ts";
import { asOnlyWriter } from "../git/write_lock.ts";
import { isAside, WORKTREES_DIR } from "./session.ts";
import { discard, settle, type Settlement } from "./settle.ts";
import type { StoredSession } from "./store.ts";

/** What recovery found and did. */
export interface RecoveryReport {
  settled: { id: string; how: Settlement }[];
  takenUp: string[];
  /** Records whose worktree directory is gone; remove_session forgets them. */
  missing: string[];
}

/** Settles every pending change, takes up unknown sessions, and deletes what was left lying aside. */
export async function recover(
  scope: SessionScope,
  options: { signal?: AbortSignal; waitMs?: number } = {},
): Promise<RecoveryReport> {
  const records = await scope.store.list(scope.main.commonDir);
  const settled = await settlePending(scope, records, options);
  const takenUp = await takeUpUnknown(scope, new Set(records.map(({ session }) => session.id)), options);
  const missing: string[] = [];
  for (const { session } of await scope.store.list(scope.main.commonDir)) {
    if (await lstatOrNull(session.worktree) === null) missing.push(session.id);
  }
  return { settled, takenUp, missing };
}

/** Settles the records that have something pending, if there are any and the lock can be had in time. */
export async function settlePending(
  scope: SessionScope,
  records: readonly StoredSession[],
  options: { signal?: AbortSignal; waitMs?: number },
): Promise<RecoveryReport["settled"]> {
  const lying = await leftovers(scope);
  if (lying.length === 0 && !records.some(({ session }) => session.pending)) return [];
  return await asOnlyWriter(scope.main, options, async () => {
    const settled: RecoveryReport["settled"] = [];
    for (const stored of await scope.store.list(scope.main.commonDir)) {
      if (!stored.session.pending) continue;
      try {
        settled.push({ id: stored.session.id, how: await settle(scope, stored) });
      } catch (error) {
        // One that cannot be settled now must not keep the others from being.
        log("warn", `session '${stored.session.id}': ${messageOf(error)}`);
      }
    }
    // Under the lock nothing is being made or removed, so what still lies there was left behind.
    for (const aside of await leftovers(scope)) await discard(aside, 0);
    return settled;
  });
}

/** Directories beside the worktrees that were not moved in, or moved out and not deleted. */
async function leftovers(scope: SessionScope): Promise<string[]> {
  const directory = join(scope.main.root, WORKTREES_DIR);
  const found: string[] = [];
  if (!(await lstatOrNull(directory))?.isDirectory) return found;
  for await (const entry of Deno.readDir(directory)) {
    if (entry.isDirectory && isAside(entry.name)) {
      found.push(join(directory, entry.name));
    }
  }
  return found;
}
