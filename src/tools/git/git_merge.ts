import * as z from "zod";
import { mergeSources, type SourceOutcome } from "../../changes/merge.ts";
import { asOnlyWriter } from "../../git/write_lock.ts";
import {
  boundedConflicts,
  boundedPaths,
  CHANGE_FIELDS,
  changeFields,
  changeScope,
  CLEANUP_FIELDS,
  CLEANUP_INPUT,
  cleanUpAfter,
  cleanupWords,
  closingLines,
  CONFLICT,
  conflictLines,
} from "../changes.ts";
import { span } from "../markdown.ts";
import { FORMAT, ONE_ROOT, oneRepository } from "../roots.ts";
import { defineTool } from "../tool.ts";

const RESULT = z.strictObject({
  source: z.string(),
  ok: z.boolean(),
  outcome: z.enum(["fast_forward", "rebase_then_ff", "merge_commit", "up_to_date", "conflicts"]).optional(),
  mergedSha: z.string().optional(),
  ...CLEANUP_FIELDS,
  error: z.string().optional(),
  detail: z.string().optional(),
  conflictStage: z.enum(["rebase", "merge"]).optional(),
  conflictPaths: z.array(z.string()).optional(),
  conflictPathsOmitted: z.int().min(1).optional(),
  conflicts: z.array(CONFLICT).optional(),
  worktree: z.string().optional(),
});
type Result = z.infer<typeof RESULT>;

const STRATEGY = z.enum(["auto", "ff-only", "rebase", "merge"]);
const OUTPUT = z.strictObject({
  ok: z.boolean(),
  into: z.string(),
  strategy: STRATEGY,
  headSha: z.string(),
  applied: z.int().min(0),
  total: z.int().min(1),
  ...CHANGE_FIELDS,
  results: z.array(RESULT),
});

/** `git_merge`: brings branches into one, in the straightest way that works. */
export const gitMerge = defineTool({
  name: "git_merge",
  toolset: "git",
  title: "Merge branches",
  description:
    "Merge sources, in order, into a local branch (default: the current one). strategy auto: fast forward, " +
    "else rebase the source, else a merge commit. Needs a clean working tree. Stops at the first conflict, " +
    "which leaves no trace and is reported with its hunks; earlier sources stay merged. Old tips are kept " +
    "under backupRefs. dryRun tells what would happen and touches nothing. The deleteMerged flags clear away " +
    "sources that landed, never protected names (main, release/*, ...).",
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  input: z.strictObject({
    sources: z.array(z.string().max(600)).min(1).max(20),
    into: z.string().max(600).optional(),
    strategy: STRATEGY.default("auto"),
    message: z.string().max(100_000).optional(),
    ...CLEANUP_INPUT,
    dryRun: z.boolean().default(false),
    ...ONE_ROOT,
    ...FORMAT,
  }),
  output: OUTPUT,
  async run(input, context) {
    const tree = await oneRepository(context, input);
    const { sources, into, strategy, message, dryRun } = input;
    const work = () => mergeSources(changeScope(context, tree), { sources, into, strategy, message, dryRun });
    const report = dryRun ? await work() : await asOnlyWriter(tree, { signal: context.signal }, work);
    const landed = report.outcomes.filter(({ outcome, branch }) =>
      outcome !== "up_to_date" && branch !== undefined
    );
    const cleaned = report.ok && !dryRun
      ? await cleanUpAfter(context, tree, landed.map(({ branch }) => branch!), {
        branch: report.into,
        oid: report.headSha,
      }, input)
      : new Map();
    return {
      ok: report.ok,
      into: report.into,
      strategy,
      headSha: report.headSha,
      applied: report.outcomes.filter(({ ok }) => ok).length,
      total: sources.length,
      ...changeFields(report, dryRun),
      results: report.outcomes.map((outcome) => ({
        ...resultOf(outcome),
        ...(landed.includes(outcome) ? cleaned.get(outcome.branch!) : {}),
      })),
    };
  },
  render(payload) {
    const { into, applied, total, ok, dryRun, results, headSha, strategy } = payload;
    const stopped = results.at(-1)?.conflictStage
      ? " (stopped on conflict)"
      : ok
      ? ""
      : " (stopped on error)";
    const verb = dryRun ? "would be applied" : "applied";
    const lines = [`# Merge into ${span(into)}: ${applied}/${total} sources ${verb}${stopped}`, ""];
    for (const row of results) lines.push(...linesOf(row));
    const skipped = total - results.length;
    if (skipped > 0) lines.push(`${skipped} remaining source(s) skipped.`);
    return [...lines, `Strategy: ${strategy}.`, ...closingLines(into, headSha, payload)].join("\n");
  },
});

function resultOf({ source, ok, branch: _, conflicts, ...rest }: SourceOutcome): Result {
  if (conflicts === undefined) return { source, ok, ...rest };
  const paths = boundedPaths(conflicts.map(({ path }) => path));
  const omitted = conflicts.length - paths.length;
  return {
    source,
    ok,
    ...rest,
    ...(paths.length > 0 ? { conflictPaths: paths } : {}),
    ...(omitted > 0 ? { conflictPathsOmitted: omitted } : {}),
    conflicts: boundedConflicts(conflicts),
  };
}

function linesOf(row: Result): string[] {
  if (row.ok) {
    const parts = [
      ...(row.outcome ? [row.outcome] : []),
      ...(row.mergedSha ? [span(row.mergedSha.slice(0, 7))] : []),
      ...cleanupWords(row),
    ];
    return [`✓ ${row.source}  —  ${parts.join(", ")}`];
  }
  const stage = row.conflictStage ? `, at the ${row.conflictStage} stage` : "";
  return [
    `✗ ${row.source}  —  ${row.outcome ?? "failed"}${stage}`,
    ...conflictLines(row.conflicts ?? []),
    ...(row.conflictPathsOmitted ? [`  ${row.conflictPathsOmitted} more conflicting path(s)`] : []),
    `  Error: ${row.error}${row.detail ? ` — ${row.detail}` : ""}`,
  ];
}
