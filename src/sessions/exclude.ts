/** Keeping worktrees and the database out of `git status`. */
import { exclude, patternsFor } from "../git/exclude.ts";
import type { SessionScope } from "./scope.ts";
import { WORKTREES_DIR } from "./session.ts";

/** Adds what is missing of our patterns to the repository's `info/exclude`; call it under the lock. */
export async function excludeOwnFiles({ main, store }: SessionScope): Promise<void> {
  await exclude(main, [`/${WORKTREES_DIR}/`, ...await patternsFor(main, store.file)]);
}
