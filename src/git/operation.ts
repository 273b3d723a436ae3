/** Operations of git that were begun in a working tree and not ended yet. */
import { join } from "node:path";
import { ToolError } from "../errors.ts";
import { lstatOrNull } from "../platform/jail.ts";
import type { Repository } from "./repository.ts";

/** An operation that owns the index until it is continued or aborted. */
export type Operation = "merge" | "cherry_pick" | "revert" | "rebase";

const MARKS: readonly (readonly [string, Operation])[] = [
  ["rebase-merge", "rebase"],
  ["rebase-apply", "rebase"],
  ["MERGE_HEAD", "merge"],
  ["CHERRY_PICK_HEAD", "cherry_pick"],
  ["REVERT_HEAD", "revert"],
];

/** What is under way in a working tree; null when nothing is. */
export async function operationUnderWay(tree: Repository): Promise<Operation | null> {
  const found = await Promise.all(MARKS.map(([file]) => lstatOrNull(join(tree.ownDir, file))));
  return MARKS[found.findIndex((info) => info !== null)]?.[1] ?? null;
}

/**
 * Refuses to work in the middle of another operation.
 *
 * @throws {ToolError} `merge_in_progress`, `cherry_pick_in_progress`, `revert_in_progress`, `rebase_in_progress`.
 */
export async function refuseUnderWay(tree: Repository): Promise<void> {
  const operation = await operationUnderWay(tree);
  if (operation === null) return;
  const name = operation.replace("_", "-");
  throw new ToolError(CODES[operation], `a ${name} is under way in '${tree.root}'`, {
    next: `Finish it with 'git ${name} --continue' or undo it with 'git ${name} --abort', then call again.`,
  });
}

const CODES = {
  merge: "merge_in_progress",
  cherry_pick: "cherry_pick_in_progress",
  revert: "revert_in_progress",
  rebase: "rebase_in_progress",
} as const;
