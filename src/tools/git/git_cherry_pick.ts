import * as z from "zod";
import { pickCommits, type PickReport } from "../../changes/pick.ts";
import { asOnlyWriter } from "../../git/write_lock.ts";
import {
  boundedConflicts,
  boundedPaths,
  changeScope,
  CLEANUP_FIELDS,
  CLEANUP_INPUT,
  cleanUpAfter,
  CONFLICT,
  conflictLines,
} from "../changes.ts";
import { span } from "../markdown.ts";
import { FORMAT, ONE_ROOT, oneRepository } from "../roots.ts";
import { defineTool } from "../tool.ts";

const RESULT = z.strictObject({
  source: z.string(),
  kind: z.enum(["sha", "range", "branch"]),
  resolvedCommits: z.int().min(0),
  keptCommits: z.int().min(0),
  ...CLEANUP_FIELDS,
});

const OUTPUT = z.strictObject({
  ok: z.boolean(),
  onto: z.string(),
  headSha: z.string(),
  picked: z.int().min(0),
  applied: z.int().min(0),
  dryRun: z.boolean().optional(),
  workingTreeDirty: z.boolean().optional(),
  results: z.array(RESULT),
  conflict: z.strictObject({
    stage: z.enum(["cherry-pick"]),
    commit: z.string(),
    paths: z.array(z.string()),
    pathsOmitted: z.int().min(1).optional(),
    detail: z.string(),
    conflicts: z.array(CONFLICT).optional(),
  }).optional(),
  backupRefs: z.array(z.string()).optional(),
});

/** `git_cherry_pick`: replays commits, ranges and branches onto a branch. */
export const gitCherryPick = defineTool({
  name: "git_cherry_pick",
  toolset: "git",
  title: "Cherry-pick commits",
  description:
    "Replay sources (commits, A..B ranges, or branches: their commits that onto lacks) onto a local branch " +
    "(default: the current one), oldest first. What is there already adds nothing: applied may be less than " +
    "picked. Needs a clean working tree. All or nothing: a conflict leaves no trace and is reported with its " +
    "hunks. dryRun tells what would happen and touches nothing.",
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  input: z.strictObject({
    sources: z.array(z.string().max(600)).min(1).max(50),
    onto: z.string().max(600).optional(),
    ...CLEANUP_INPUT,
    dryRun: z.boolean().default(false),
    ...ONE_ROOT,
    ...FORMAT,
  }),
  output: OUTPUT,
  async run(input, context) {
    const tree = await oneRepository(context, input);
    const { sources, onto, dryRun } = input;
    const work = () => pickCommits(changeScope(context, tree), { sources, onto, dryRun });
    const report = dryRun ? await work() : await asOnlyWriter(tree, { signal: context.signal }, work);
    const branches = report.sources.flatMap(({ branch }) => branch ?? []);
    const cleaned = report.ok && !dryRun
      ? await cleanUpAfter(context, tree, branches, { branch: report.onto, oid: report.headSha }, input)
      : new Map();
    return {
      ok: report.ok,
      onto: report.onto,
      headSha: report.headSha,
      picked: report.picked,
      applied: report.applied,
      ...(dryRun ? { dryRun } : {}),
      ...(report.dirty ? { workingTreeDirty: true as const } : {}),
      results: report.sources.map(({ branch, ...row }) => ({
        ...row,
        ...(branch ? cleaned.get(branch) : {}),
      })),
      ...(report.conflict ? { conflict: conflictOf(report.conflict) } : {}),
      ...(report.backupRefs.length > 0 ? { backupRefs: report.backupRefs } : {}),
    };
  },
  render({ ok, onto, headSha, picked, applied, dryRun, workingTreeDirty, results, conflict, backupRefs }) {
    const head = `# Cherry-pick onto ${span(onto)}`;
    const done = dryRun ? "would be applied" : "applied";
    const lines = [
      ok
        ? `${head}: ${applied} of ${picked} commit(s) ${done}`
        : `${head}: stopped on conflict after ${applied} commit(s)`,
      "",
    ];
    for (const row of results) {
      const extra = [
        ...(row.branchDeleted ? ["branch deleted"] : []),
        ...(row.worktreeRemoved ? [`worktree removed: ${row.worktreeRemoved}`] : []),
        ...(row.cleanupSkipped ? [`kept: ${row.cleanupSkipped}`] : []),
      ].map((text) => `, ${text}`).join("");
      lines.push(`- ${row.source}  —  ${row.kind}, ${row.keptCommits}/${row.resolvedCommits} picked${extra}`);
    }
    if (conflict) {
      lines.push(`Conflict at commit ${span(conflict.commit)} (${conflict.stage}), nothing was applied:`);
      lines.push(...conflictLines(conflict.conflicts ?? []));
      if (conflict.pathsOmitted) lines.push(`  ${conflict.pathsOmitted} more conflicting path(s)`);
      lines.push(`  detail: ${conflict.detail}`);
    }
    lines.push(`${onto} is at ${headSha}${dryRun ? "; this was a dry run" : ""}.`);
    if (workingTreeDirty) {
      lines.push("The working tree has changes: a pick would be refused (working_tree_dirty).");
    }
    if (backupRefs) lines.push(`Kept: ${backupRefs.join(", ")}`);
    return lines.join("\n");
  },
});

function conflictOf({ commit, paths, detail, conflicts }: NonNullable<PickReport["conflict"]>) {
  const shown = boundedPaths(paths);
  const omitted = paths.length - shown.length;
  return {
    stage: "cherry-pick" as const,
    commit,
    paths: shown,
    ...(omitted > 0 ? { pathsOmitted: omitted } : {}),
    detail,
    ...(conflicts.length > 0 ? { conflicts: boundedConflicts(conflicts) } : {}),
  };
}
