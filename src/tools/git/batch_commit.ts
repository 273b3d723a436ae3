import * as z from "zod";
import type { BatchFile } from "../../changes/batch_staging.ts";
import { commitBatch, type EntryOutcome } from "../../changes/commit_batch.ts";
import { ToolError } from "../../errors.ts";
import { pushUpstream } from "../../git/push.ts";
import type { Repository } from "../../git/repository.ts";
import { asOnlyWriter } from "../../git/write_lock.ts";
import { inQuarantine } from "../../git/quarantine.ts";
import { clipped } from "../../platform/text.ts";
import { fenced, span } from "../markdown.ts";
import { FORMAT, ONE_ROOT, oneRepository } from "../roots.ts";
import { defineTool, type ToolContext } from "../tool.ts";

const PATH = z.string().min(1).max(4096);
const HUNK = z.strictObject({
  path: PATH,
  lines: z.strictObject({ from: z.int().min(1), to: z.int().min(1) }),
});

const RESULT = z.strictObject({
  index: z.int().min(0),
  ok: z.boolean(),
  sha: z.string().optional(),
  message: z.string(),
  files: z.array(z.string()),
  omittedFiles: z.int().min(1).optional(),
  additions: z.int().min(0).optional(),
  deletions: z.int().min(0).optional(),
  error: z.string().optional(),
  detail: z.string().optional(),
});

const OUTPUT = z.strictObject({
  ok: z.boolean(),
  committed: z.int().min(0),
  total: z.int().min(1),
  dryRun: z.boolean().optional(),
  results: z.array(RESULT),
  push: z.strictObject({
    ok: z.boolean(),
    branch: z.string().optional(),
    upstream: z.string().optional(),
    error: z.string().optional(),
    detail: z.string().optional(),
  }).optional(),
});

const MAX_FILES = 2000;
/** Of each entry; the caller knows what it sent. */
const SHOWN_FILES = 20;
const SHOWN_MESSAGE = 100;
const SHOWN_DETAIL = 1000;

const INPUT = z.strictObject({
  commits: z.array(
    z.strictObject({
      message: z.string().min(1).max(2_000_000),
      files: z.array(z.union([PATH, HUNK])).max(MAX_FILES).default([]),
      hunks: z.array(HUNK).max(500).optional(),
    }).refine(
      ({ files, hunks = [] }) => files.length + hunks.length > 0,
      "files or hunks must name something",
    ),
  )
    .min(1).max(50),
  push: z.enum(["never", "after"]).default("never"),
  dryRun: z.boolean().default(false),
  ...ONE_ROOT,
  ...FORMAT,
});
type Entry = z.output<typeof INPUT>["commits"][number];

/** `batch_commit`: several commits in one call, each of exactly what it lists. */
export const batchCommit = defineTool({
  name: "batch_commit",
  toolset: "git",
  title: "Commit in batches",
  description:
    "Make commits in order, each of exactly its files (paths from the top of the repository; deleted files " +
    "count) and of the changed lines that its hunks name (line numbers of the file on disk). What was staged " +
    "before stays staged and is in none of them. Stops at the first failure; earlier commits stay. " +
    "push='after' pushes to the upstream when all are made. dryRun tells what each commit would hold.",
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  input: INPUT,
  output: OUTPUT,
  async run(input, context) {
    const { app: { git, repositories, config }, signal } = context;
    const { commits, dryRun } = input;
    const tree = await oneRepository(context, input);
    refuseBare(tree);
    if (config.hooks) refuseForeignHooks(tree, config.trustRepoConfig);
    const entries = commits.map((entry) => ({ message: entry.message, files: filesOf(entry) }));
    const scope = { git, repositories, tree, hooks: config.hooks, options: { signal } };
    const outcomes = dryRun
      ? await inQuarantine(tree, (env) => commitBatch({ ...scope, options: { signal, env } }, entries, true))
      : await asOnlyWriter(tree, { signal }, () => commitBatch(scope, entries, false));
    const ok = outcomes.every((outcome) => outcome.ok);
    const pushed = ok && !dryRun && input.push === "after" ? await push(context, tree) : null;
    return {
      ok,
      committed: dryRun ? 0 : outcomes.filter((outcome) => outcome.ok).length,
      total: commits.length,
      ...(dryRun ? { dryRun } : {}),
      results: outcomes.map((outcome, index) => resultOf(outcome, index, commits[index])),
      ...(pushed ? { push: pushed } : {}),
    };
  },
  render({ ok, committed, total, dryRun, results, push }) {
    const what = dryRun
      ? `${results.filter((row) => row.ok).length}/${total} would be committed`
      : `${committed}/${total} committed`;
    const lines = [`# Batch commit: ${what}${ok ? "" : " (stopped on error)"}`, ""];
    for (const row of results) lines.push(...linesOf(row));
    const skipped = total - results.length;
    if (skipped > 0) lines.push(`${skipped} remaining commit(s) skipped.`);
    if (push?.ok) lines.push(`Push: ✓ ${push.branch} → ${push.upstream}`);
    else if (push) lines.push(`Push: ✗ ${push.error}${push.detail ? ` — ${push.detail}` : ""}`);
    return lines.join("\n");
  },
});

function refuseBare({ bare, root }: Repository): void {
  if (!bare) return;
  throw new ToolError("not_a_git_repository", `'${root}' is a bare repository, without files to commit`, {
    next: "Name a working tree with workspaceRoot or sessionId.",
    details: { path: root },
  });
}

function refuseForeignHooks({ root, foreignHooks }: Repository, trusted: boolean): void {
  if (!foreignHooks || trusted) return;
  throw new ToolError("unsafe_repo_config", `the config of '${root}' takes hooks from outside of it`, {
    next:
      "Remove core.hooksPath, or have the operator start the server with --no-hooks or --trust-repo-config.",
    details: { keys: ["core.hookspath"] },
  });
}

function filesOf({ files, hunks = [] }: Entry): BatchFile[] {
  return [...files, ...hunks].map((file) => typeof file === "string" ? { path: file } : file);
}

function push({ app: { git, config, repositories }, workspace, signal }: ToolContext, tree: Repository) {
  const { hooks, allowFileRemotes } = config;
  const mayTouch = (directory: string) => workspace.mayTouch(directory);
  return pushUpstream(git, tree, { repositories, hooks, allowFileRemotes, mayTouch }, { signal });
}

function resultOf(outcome: EntryOutcome, index: number, entry: Entry): z.infer<typeof RESULT> {
  const { ok, sha, error, detail, staged } = outcome;
  const names = staged?.files ??
    filesOf(entry).map(({ path, lines }) => lines ? `${path}:${lines.from}-${lines.to}` : path);
  const hidden = names.length - SHOWN_FILES;
  return {
    index,
    ok,
    ...(sha === undefined ? {} : { sha }),
    message: clipped(entry.message, SHOWN_MESSAGE),
    files: names.slice(0, SHOWN_FILES),
    ...(hidden > 0 ? { omittedFiles: hidden } : {}),
    ...(staged ? { additions: staged.additions, deletions: staged.deletions } : {}),
    ...(error ? { error } : {}),
    ...(detail === undefined ? {} : { detail: clipped(detail, SHOWN_DETAIL) }),
  };
}

function linesOf(row: z.infer<typeof RESULT>): string[] {
  const subject = row.message.split("\n")[0];
  const files = [...row.files, ...(row.omittedFiles ? [`… ${row.omittedFiles} more`] : [])].join(", ");
  const size = row.additions === undefined ? "" : ` (+${row.additions} −${row.deletions})`;
  if (row.ok) return [`✓ ${row.sha ? `${span(row.sha)} ` : ""}${subject}${size}`, `  ${files}`];
  const detail = row.detail?.includes("\n") ? `\n${fenced(row.detail, "text")}` : row.detail ?? "";
  return [`✗ ${subject}`, `  ${files}`, `  Error: ${row.error}${detail ? ` — ${detail}` : ""}`];
}
