import * as z from "zod";
import { ToolError } from "../../errors.ts";
import { diffFiles, type FileDiff } from "../../git/diff.ts";
import { parseRange } from "../../git/range.ts";
import { checkCommitish, emptyTree, resolveCommits } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import { globMatcher } from "../../platform/glob.ts";
import { head } from "../../platform/text.ts";
import { firstFitting, leading } from "../budget.ts";
import { fenced, oneLine } from "../markdown.ts";
import { FORMAT, ONE_ROOT, oneRepository } from "../roots.ts";
import { defineTool, type ToolContext } from "../tool.ts";

const FILE = z.strictObject({
  path: z.string(),
  status: z.enum(["modified", "added", "deleted", "renamed"]),
  oldPath: z.string().optional(),
  additions: z.int().min(0),
  deletions: z.int().min(0),
  truncated: z.boolean(),
  binary: z.boolean().optional(),
  unmerged: z.boolean().optional(),
  diff: z.string(),
});

const OUTPUT = z.strictObject({
  range: z.string(),
  totalFiles: z.int().min(0),
  totalAdditions: z.int().min(0),
  totalDeletions: z.int().min(0),
  files: z.array(FILE),
  truncatedFiles: z.int().min(1).optional(),
  excludedFiles: z.array(z.string()).optional(),
  excludedFilesOmitted: z.int().min(1).optional(),
  more: z.string().optional(),
});
type Output = z.infer<typeof OUTPUT>;

const DEFAULT_EXCLUDES = [
  ...["*.lock", "*.lockb", "bun.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml"],
  ...["*.min.js", "*.min.css", "vendor/**", "node_modules/**", "dist/**"],
];
const DEFAULT_LINES = 50;
const DEFAULT_FILES = 30;
const MOST_FILES = 500;
const MOST_EXCLUDED = 20;
const LONGEST_LINE = 400;
/** For who asks for one file whole. */
const LONGEST_LINE_ASKED = 100_000;

const INPUT = z.strictObject({
  range: z.string().max(600).optional(),
  fileFilter: z.string().max(4096).optional(),
  maxLinesPerFile: z.int().min(1).max(2000).optional(),
  maxFiles: z.int().min(1).max(MOST_FILES).optional(),
  excludePatterns: z.array(z.string().max(256)).max(100).optional(),
  ...ONE_ROOT,
  ...FORMAT,
});
type Input = z.output<typeof INPUT>;

/** `git_diff_summary`: the files of a diff, their counts, and as much of their hunks as is worth reading. */
export const gitDiffSummary = defineTool({
  name: "git_diff_summary",
  toolset: "git",
  title: "Summary of a diff",
  description:
    "Files of a diff with counts and hunks. range: default unstaged changes; 'staged'; 'HEAD' (the last " +
    "commit); A..B; A...B; one ref (working tree against it). Lock files, dist and vendor are left out unless " +
    "excludePatterns says otherwise. Defaults: 30 files, 50 lines each, cut to fit; give maxFiles or " +
    "maxLinesPerFile for more, fileFilter (a glob) for one file.",
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: INPUT,
  output: OUTPUT,
  async run(input, context) {
    // Patterns are checked before anything is run.
    const excluded = globMatcher(input.excludePatterns ?? DEFAULT_EXCLUDES);
    const range = parsedRange(input.range);
    const repository = await oneRepository(context, input);
    const { label, revisions } = await revisionsOf(context, repository, range);
    const { app: { git }, signal } = context;
    const read = (paths?: readonly string[]) =>
      reading(() => diffFiles(git, repository, revisions, { signal, paths }));
    const all = await read();
    const chosen = filterOf(input.fileFilter, all);
    const files = all.filter(({ path }) => chosen(path) && !excluded(path));
    const left = all.filter(({ path }) => chosen(path) && excluded(path)).map(({ path }) => path);
    return fitted(label, await readWhole(files, input, read), left, input);
  },
  render(payload) {
    const lines = [`# Diff: ${payload.range}`, "", headline(payload)];
    for (const file of payload.files) lines.push("", ...sectionOf(file));
    if (payload.more) lines.push("", `_${payload.more}_`);
    return lines.join("\n");
  },
});

/** A path of the diff means itself; anything else is a pattern. */
function filterOf(filter: string | undefined, files: readonly FileDiff[]): (path: string) => boolean {
  if (!filter) return () => true;
  return files.some(({ path }) => path === filter) ? (path) => path === filter : globMatcher([filter]);
}

/** Reads again, alone, what a very long patch did not get to. */
async function readWhole(
  files: FileDiff[],
  { maxFiles = DEFAULT_FILES }: Input,
  read: (paths: readonly string[]) => Promise<FileDiff[]>,
): Promise<FileDiff[]> {
  const cut = files.slice(0, maxFiles).filter((file) => file.cut);
  if (cut.length === 0 || cut.length === files.length && files.length > maxFiles) return files;
  const again = await read(cut.flatMap(({ path, from }) => from === undefined ? [path] : [path, from]));
  const byPath = new Map(again.map((file) => [file.path, file]));
  return files.map((file) => file.cut ? byPath.get(file.path) ?? file : file);
}

type ParsedRange =
  | { kind: "unstaged" | "staged" | "head" }
  | { kind: "ref"; ref: string }
  | { kind: "range"; text: string; left: string; dots: string; right: string };

function parsedRange(given = ""): ParsedRange {
  const text = given.trim();
  if (text === "") return { kind: "unstaged" };
  if (/^(staged|cached)$/i.test(text)) return { kind: "staged" };
  if (/^head$/i.test(text)) return { kind: "head" };
  if (text.includes("..")) return { kind: "range", text, ...parseRange(text, "unsafe_range_token") };
  try {
    return { kind: "ref", ref: checkCommitish(text) };
  } catch (cause) {
    const range = text.slice(0, 200);
    throw new ToolError("unsafe_range_token", `'${range}' is not accepted as a range`, {
      cause,
      details: { range },
    });
  }
}

/** What `git diff` is given, and what to call it. */
async function revisionsOf(
  { app: { git }, signal }: ToolContext,
  repository: Repository,
  range: ParsedRange,
): Promise<{ label: string; revisions: string[] }> {
  const resolve = (names: string[]) => reading(() => resolveCommits(git, repository, names, { signal }));
  const need = (oid: string | null, name: string) => {
    if (oid !== null) return oid;
    throw new ToolError("git_diff_failed", `'${name}' names no commit`, {
      details: { detail: `unknown revision '${name}'` },
    });
  };
  switch (range.kind) {
    case "unstaged":
      return { label: "unstaged changes", revisions: [] };
    case "staged":
      return { label: "staged changes", revisions: ["--cached"] };
    case "head": {
      const [head, parent] = await resolve(["HEAD", "HEAD^1"]);
      const last = need(head, "HEAD");
      const label = `HEAD (last commit ${last.slice(0, 7)})`;
      return { label, revisions: [parent ?? emptyTree(last), last] };
    }
    case "ref": {
      const [oid] = await resolve([range.ref]);
      return { label: `${range.ref} (working tree against it)`, revisions: [need(oid, range.ref)] };
    }
    case "range": {
      const [left, right] = await resolve([range.left, range.right]);
      const both = `${need(left, range.left)}${range.dots}${need(right, range.right)}`;
      return { label: range.text, revisions: [both] };
    }
  }
}

async function reading<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ToolError) || error.code !== "git_failed") throw error;
    throw new ToolError("git_diff_failed", error.message, {
      details: { detail: error.message },
      cause: error,
    });
  }
}

function fitted(label: string, files: FileDiff[], excluded: string[], input: Input): Output {
  const { maxFiles = DEFAULT_FILES, maxLinesPerFile = DEFAULT_LINES } = input;
  const asked = input.maxFiles !== undefined || input.maxLinesPerFile !== undefined;
  const longest = asked ? LONGEST_LINE_ASKED : LONGEST_LINE;
  const answer = (lines: number, count: number) => answerOf(label, files, excluded, count, lines, longest);
  // Who asks for a size gets it.
  if (asked) return answer(maxLinesPerFile, maxFiles);
  const lines = [50, 40, 30, 25, 20, 16, 13, 10, 8, 6, 4, 3, 2, 1, 0];
  return firstFitting([
    ...lines.map((count) => () => answer(count, maxFiles)),
    ...[20, 15, 10, 5, 2, 1].map((count) => () => answer(0, count)),
  ]);
}

function answerOf(
  range: string,
  all: readonly FileDiff[],
  excluded: readonly string[],
  maxFiles: number,
  maxLines: number,
  longestLine: number,
): Output {
  const files = all.slice(0, maxFiles).map((file) => fileOf(file, maxLines, longestLine));
  const omitted = all.length - files.length;
  const listed = leading(excluded.slice(0, MOST_EXCLUDED), 1_500);
  const hidden = excluded.length - listed.length;
  const cut = files.filter(({ truncated }) => truncated);
  return {
    range,
    totalFiles: all.length,
    totalAdditions: all.reduce((sum, file) => sum + file.additions, 0),
    totalDeletions: all.reduce((sum, file) => sum + file.deletions, 0),
    files,
    ...(omitted > 0 ? { truncatedFiles: omitted } : {}),
    ...(listed.length > 0 ? { excludedFiles: listed } : {}),
    ...(hidden > 0 ? { excludedFilesOmitted: hidden } : {}),
    ...moreOf(cut.map(({ path }) => path), omitted, all.length),
  };
}

/** How to get what was left out. */
function moreOf(cut: readonly string[], omitted: number, all: number): { more?: string } {
  const most = Math.min(all, MOST_FILES);
  const larger = all - omitted < most ? `maxFiles=${most} or ` : "";
  const ways = [
    ...(omitted > 0 ? [`${omitted} file(s) not shown: ${larger}a narrower fileFilter`] : []),
    ...(cut.length > 0
      ? [`${cut.length} diff(s) cut: fileFilter='${cut[0]}' with maxLinesPerFile=2000`]
      : []),
  ];
  return ways.length > 0 ? { more: ways.join("; ") } : {};
}

function fileOf(file: FileDiff, maxLines: number, longestLine: number): Output["files"][number] {
  const { path, from, status, additions, deletions, lines } = file;
  const shown = lines.slice(0, maxLines);
  const text = shown.map((line) => line.length > longestLine ? `${head(line, longestLine)}…` : line);
  const clipped = text.some((line, at) => line !== shown[at]);
  return {
    path,
    status,
    ...(from === undefined ? {} : { oldPath: from }),
    additions,
    deletions,
    truncated: lines.length > shown.length || file.cut || clipped,
    ...(file.binary ? { binary: true as const } : {}),
    ...(file.unmerged ? { unmerged: true as const } : {}),
    diff: text.join("\n"),
  };
}

function headline(payload: Output): string {
  const { totalFiles, totalAdditions, totalDeletions, truncatedFiles, excludedFiles, excludedFilesOmitted } =
    payload;
  const parts = [
    `**${totalFiles} ${
      totalFiles === 1 ? "file" : "files"
    } changed** (+${totalAdditions} −${totalDeletions})`,
  ];
  if (excludedFiles) {
    const all = excludedFiles.length + (excludedFilesOmitted ?? 0);
    parts.push(
      `${all} file(s) excluded (${excludedFiles.map(oneLine).join(", ")}${
        excludedFilesOmitted ? ", …" : ""
      })`,
    );
  }
  if (truncatedFiles) parts.push(`${truncatedFiles} more file(s) omitted`);
  return parts.join(", ");
}

function sectionOf(file: Output["files"][number]): string[] {
  const from = file.oldPath === undefined ? "" : ` (from ${oneLine(file.oldPath)})`;
  const kind = [file.status, ...(file.binary ? ["binary"] : []), ...(file.unmerged ? ["unmerged"] : [])].join(
    ", ",
  );
  const lines = [`## ${oneLine(file.path)}${from} (+${file.additions} −${file.deletions}, ${kind})`];
  if (file.diff === "") lines.push(file.truncated ? "_(diff not shown)_" : "_(no diff content)_");
  else lines.push(fenced(file.diff, "diff"));
  if (file.truncated && file.diff !== "") {
    lines.push(`_(diff truncated at ${file.diff.split("\n").length} lines)_`);
  }
  return lines;
}
