import * as z from "zod";
import { pickCommits, type PickReport } from "../../changes/pick.ts";
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
  ...CHANGE_FIELDS,
  results: z.array(RESULT),
  conflict: z.strictObject({
    stage: z.enum(["cherry-pick"]),
    commit: z.string(),
    paths: z.array(z.string()),
    pathsOmitted: z.int().min(1).optional(),
    detail: z.string(),
    conflicts: z.array(CONFLICT).optional(),
  }).optional(),
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
      ...changeFields(report, dryRun),
      results: report.sources.map(({ branch, ...row }) => ({
        ...row,
        ...(branch ? cleaned.get(branch) : {}),
      })),
      ...(report.conflict ? { conflict: conflictOf(report.conflict) } : {}),
    };
  },
  render(payload) {
    const { ok, onto, headSha, picked, applied, dryRun, results, conflict } = payload;
    const head = `# Cherry-pick onto ${span(onto)}`;
    const done = dryRun ? "would be applied" : "applied";
    const lines = [
      ok
        ? `${head}: ${applied} of ${picked} commit(s) ${done}`
        : `${head}: stopped on conflict after ${applied} commit(s)`,
      "",
    ];
    for (const row of results) {
      const words = [`${row.keptCommits}/${row.resolvedCommits} picked`, ...cleanupWords(row)].join(", ");
      lines.push(`- ${row.source}  —  ${row.kind}, ${words}`);
    }
    if (conflict) {
      lines.push(`Conflict at commit ${span(conflict.commit)} (${conflict.stage}), nothing was applied:`);
      lines.push(...conflictLines(conflict.conflicts ?? []));
      if (conflict.pathsOmitted) lines.push(`  ${conflict.pathsOmitted} more conflicting path(s)`);
      lines.push(`  detail: ${conflict.detail}`);
    }
    return [...lines, ...closingLines(onto, headSha, payload)].join("\n");
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
