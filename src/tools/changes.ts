/** What the tools that move branches share: the schema of conflicts, clean-up, and how both are written out. */
import * as z from "zod";
import type { ChangeScope } from "../changes/landing.ts";
import { type Cleanup, cleanUp } from "../changes/cleanup.ts";
import type { Conflict } from "../git/conflicts.ts";
import type { Repository } from "../git/repository.ts";
import { removeSession } from "../sessions/remove.ts";
import { leading } from "./budget.ts";
import { fenced, oneLine } from "./markdown.ts";
import type { ToolContext } from "./tool.ts";

/** Schema of a conflicting path. */
export const CONFLICT = z.strictObject({
  path: z.string(),
  kind: z.string(),
  message: z.string().optional(),
  hunks: z.array(z.strictObject({
    line: z.int(),
    ours: z.string(),
    base: z.string().optional(),
    theirs: z.string(),
  })).optional(),
  hunksOmitted: z.int().min(1).optional(),
});

/** Arguments of clean-up. */
export const CLEANUP_INPUT = {
  deleteMergedBranches: z.boolean().default(false),
  deleteMergedWorktrees: z.boolean().default(false),
} as const;

/** What clean-up adds to the row of a source. */
export const CLEANUP_FIELDS = {
  branchDeleted: z.boolean().optional(),
  worktreeRemoved: z.string().optional(),
  cleanupSkipped: z.string().optional(),
} as const;

/** Fields of the answer of a tool that moves branches. */
export const CHANGE_FIELDS = {
  dryRun: z.boolean().optional(),
  workingTreeDirty: z.boolean().optional(),
  backupRefs: z.array(z.string()).optional(),
} as const;

/** What {@linkcode CHANGE_FIELDS} are made from. */
export interface ChangeFacts {
  dirty: boolean;
  backupRefs: readonly string[];
}

/** The fields, those that say nothing left out. */
export function changeFields({ dirty, backupRefs }: ChangeFacts, dryRun: boolean) {
  return {
    ...(dryRun ? { dryRun } : {}),
    ...(dirty ? { workingTreeDirty: true } : {}),
    ...(backupRefs.length > 0 ? { backupRefs: [...backupRefs] } : {}),
  };
}

/** The last lines of such an answer. */
export function closingLines(
  branch: string,
  headSha: string,
  { dryRun, workingTreeDirty, backupRefs }: {
    dryRun?: boolean;
    workingTreeDirty?: boolean;
    backupRefs?: string[];
  },
): string[] {
  return [
    `${branch} is at ${headSha}${dryRun ? "; this was a dry run" : ""}.`,
    ...(workingTreeDirty
      ? ["The working tree has changes: the real call would be refused (working_tree_dirty)."]
      : []),
    ...(backupRefs ? [`Kept: ${backupRefs.join(", ")}`] : []),
  ];
}

/** What was cleared away for a source, in words. */
export function cleanupWords(
  row: { branchDeleted?: boolean; worktreeRemoved?: string; cleanupSkipped?: string },
): string[] {
  return [
    ...(row.branchDeleted ? ["branch deleted"] : []),
    ...(row.worktreeRemoved ? [`worktree removed: ${row.worktreeRemoved}`] : []),
    ...(row.cleanupSkipped ? [`kept: ${row.cleanupSkipped}`] : []),
  ];
}

/** The surroundings of a change to the branches of a repository. */
export function changeScope({ app, workspace, signal }: ToolContext, tree: Repository): ChangeScope {
  const { git, repositories } = app;
  return {
    git,
    repositories,
    tree,
    mayTouch: (place) => workspace.mayTouch(place),
    options: { signal, network: true },
  };
}

/** Which clean-up was asked for. */
export interface CleanupWish {
  deleteMergedBranches: boolean;
  deleteMergedWorktrees: boolean;
}

/** Clears away merged branches and worktrees; by branch, in the fields of a source's row. */
export async function cleanUpAfter(
  context: ToolContext,
  tree: Repository,
  branches: readonly string[],
  into: { branch: string; oid: string },
  wish: CleanupWish,
): Promise<Map<string, Record<string, unknown>>> {
  const { app, workspace, signal } = context;
  if (!wish.deleteMergedBranches && !wish.deleteMergedWorktrees) return new Map();
  const done = await cleanUp(changeScope(context, tree), {
    branches,
    into: into.oid,
    destination: into.branch,
    deleteBranches: wish.deleteMergedBranches,
    removeWorktrees: wish.deleteMergedWorktrees,
    removeSession: async (id) => {
      const removal = await removeSession(await app.sessions(workspace), id, { signal });
      return removal.removedAt !== null;
    },
  });
  return new Map([...done].map(([branch, row]) => [branch, fieldsOf(row)]));
}

function fieldsOf({ branchDeleted, worktreeRemoved, kept }: Cleanup): Record<string, unknown> {
  return {
    ...(branchDeleted ? { branchDeleted } : {}),
    ...(worktreeRemoved === undefined ? {} : { worktreeRemoved }),
    ...(kept === undefined ? {} : { cleanupSkipped: kept }),
  };
}

/** Characters of conflicts in an answer. */
const CONFLICT_BUDGET = 6_000;

/** Conflicts cut to size: the first with their hunks, then the paths alone. */
export function boundedConflicts(conflicts: readonly Conflict[]): Conflict[] {
  const whole = leading(conflicts, CONFLICT_BUDGET);
  if (whole.length === conflicts.length) return whole;
  return leading(
    [...whole, ...conflicts.slice(whole.length).map(({ path, kind }) => ({ path, kind }))],
    7_000,
  );
}

/** As many paths as an answer has room for. */
export function boundedPaths(paths: readonly string[]): string[] {
  return leading(paths, 2_000);
}

/** Conflicts for a reader. */
export function conflictLines(conflicts: readonly z.infer<typeof CONFLICT>[]): string[] {
  return conflicts.flatMap(({ path, kind, message, hunks = [], hunksOmitted }) => [
    `  conflict: ${oneLine(path)} (${kind})${message ? ` — ${message}` : ""}`,
    ...hunks.map(({ line, ours, base, theirs }) => {
      const parts = [
        `<<< ours (line ${line})`,
        ours,
        ...(base === undefined ? [] : ["||| base", base]),
        "=== theirs",
        theirs,
      ];
      return fenced(parts.join("\n"), "text");
    }),
    ...(hunksOmitted ? [`  ${hunksOmitted} more conflict(s) in ${path}`] : []),
  ]);
}
