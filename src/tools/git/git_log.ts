import * as z from "zod";
import { asToolError, endsCall, ToolError } from "../../errors.ts";
import { type Commit, countLog, type LogQuery, readLog } from "../../git/log.ts";
import { parseRange } from "../../git/range.ts";
import { checkCommitish, headOf, resolveCommits } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import { age, isDate } from "../../git/since.ts";
import { basename } from "node:path";
import { leadsOutside, relativeTo } from "../../platform/jail.ts";
import { clipped, plain } from "../../platform/text.ts";
import { firstFitting, shrinking } from "../budget.ts";
import { span } from "../markdown.ts";
import { fanOut, FORMAT, MANY_ROOTS, rootsOf } from "../roots.ts";
import { defineTool, type ToolContext } from "../tool.ts";

const COMMIT = z.strictObject({
  sha7: z.string(),
  shaFull: z.string(),
  subject: z.string(),
  author: z.string(),
  email: z.string().optional(),
  date: z.string(),
  ageRelative: z.string().optional(),
  filesChanged: z.int().min(1).optional(),
  insertions: z.int().min(1).optional(),
  deletions: z.int().min(1).optional(),
});

const GROUP = z.strictObject({
  workspace_root: z.string(),
  repo: z.string(),
  branch: z.string(),
  commits: z.array(COMMIT).optional(),
  truncated: z.boolean().optional(),
  omittedCount: z.int().min(1).optional(),
  error: z.string().optional(),
  detail: z.string().optional(),
});
type Group = z.infer<typeof GROUP>;

const OUTPUT = z.strictObject({
  groups: z.array(GROUP),
  since: z.string(),
  omittedRoots: z.int().min(1).optional(),
  more: z.string().optional(),
});
type Output = z.infer<typeof OUTPUT>;

const DEFAULT_SINCE = "7.days";
const DEFAULT_COMMITS = 50;
/** Fifty commits of an ordinary project need more room than other answers. */
const BUDGET = 11_800;
const MAX_SUBJECT = 200;

const INPUT = z.strictObject({
  since: z.string().max(200).default(DEFAULT_SINCE),
  paths: z.array(z.string().min(1).max(4096)).max(256).optional(),
  grep: z.string().max(1000).optional(),
  author: z.string().max(1000).optional(),
  maxCommits: z.int().min(1).max(500).optional().describe("per root, default 50"),
  skip: z.int().min(0).max(1_000_000).default(0),
  branch: z.string().max(600).optional(),
  ...MANY_ROOTS,
  ...FORMAT,
});
type Input = z.output<typeof INPUT>;

/** `git_log`: the newest commits of one root or of all. */
export const gitLog = defineTool({
  name: "git_log",
  toolset: "git",
  title: "Commit history",
  description:
    "Commits of one root or of all, newest first, with author, date and size. since takes git's dates " +
    "('2.weeks', '2026-04-01'); grep is a case-insensitive regex on messages; branch takes any ref or A..B. " +
    "When truncated, omittedCount says how many more there are: page with skip.",
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: INPUT,
  output: OUTPUT,
  async run(input, context) {
    const query = queryOf(input);
    const roots = await rootsOf(context, input);
    const now = Date.now() / 1000;
    const found = await fanOut(context, roots, (root) => groupOf(context, root, query, input));
    if (input.maxCommits !== undefined) return answer(found, { count: input.maxCommits, now }, query.since);
    return firstFitting(shorterAnswers(found, now, query.since), BUDGET);
  },
  render({ groups, since, omittedRoots, more }) {
    const lines = ["# Git log"];
    for (const group of groups) lines.push("", ...sectionOf(group, since));
    if (omittedRoots) lines.push("", `_(${omittedRoots} roots not shown)_`);
    if (more) lines.push("", `_${more}_`);
    return lines.join("\n");
  },
});

function queryOf(input: Input): LogQuery {
  const since = input.since.trim() || DEFAULT_SINCE;
  if (!isDate(since)) {
    throw new ToolError("invalid_since", `since '${since.slice(0, 80)}' is no date`, { details: { since } });
  }
  const bad = input.paths?.find((path) => /[;|&`$<>\0]/.test(path));
  if (bad !== undefined) {
    throw new ToolError("invalid_paths", `path '${bad}' holds shell metacharacters`, {
      details: { path: bad },
    });
  }
  if (input.branch?.includes("..")) parseRange(input.branch, "unsafe_ref_token");
  else if (input.branch !== undefined) checkCommitish(input.branch);
  return {
    start: "HEAD",
    since,
    paths: input.paths ?? [],
    ...(input.grep ? { grep: input.grep } : {}),
    ...(input.author ? { author: input.author } : {}),
    skip: input.skip,
    limit: (input.maxCommits ?? DEFAULT_COMMITS) + 1,
  };
}

/** A root's commits as read, before they are cut to size. */
interface Found {
  group: Group;
  commits: Commit[];
  /** Commits there are behind the skipped ones. */
  total: number;
}

async function groupOf(context: ToolContext, root: string, query: LogQuery, input: Input): Promise<Found> {
  const { app: { git }, workspace, signal } = context;
  let group: Group = { workspace_root: root, repo: basename(root), branch: input.branch ?? "" };
  try {
    const repository = await workspace.open(root);
    group = { ...group, workspace_root: repository.root, repo: basename(repository.root) };
    const paths = await Promise.all(query.paths.map((path) => relativeTo(repository.root, path)));
    const outside = paths.find((path) => leadsOutside(repository.root, path));
    if (outside !== undefined) {
      throw new ToolError("path_escapes_repository", `path '${outside}' leads outside '${repository.root}'`);
    }
    const start = await startOf(context, repository, input.branch);
    const [commits, branch] = await Promise.all([
      readLog(git, repository, { ...query, paths, start }, { signal }).catch((error) =>
        input.branch === undefined ? emptyIfUnborn(context, repository, error) : Promise.reject(error)
      ),
      input.branch ?? headName(context, repository),
    ]);
    const all = commits.length >= query.limit
      ? await countLog(git, repository, { ...query, paths, start }, { signal })
      : query.skip + commits.length;
    return { group: { ...group, branch }, commits, total: all - query.skip };
  } catch (error) {
    if (endsCall(error)) throw error;
    const { code, message } = asToolError(error);
    const none = code === "not_a_git_repository";
    const known = code === "git_failed" || code === "git_timeout" ? "git_log_failed" : code;
    const failed = { error: none ? "not_a_git_repo" : known, detail: clipped(message, 500) };
    return { group: { ...group, ...failed }, commits: [], total: 0 };
  }
}

async function startOf(
  { app: { git }, signal }: ToolContext,
  repository: Repository,
  branch: string | undefined,
): Promise<string> {
  if (branch === undefined) return "HEAD";
  const range = branch.includes("..") ? parseRange(branch, "unsafe_ref_token") : null;
  const names = range ? [range.left, range.right] : [branch];
  const oids = await resolveCommits(git, repository, names, { signal });
  const missing = oids.indexOf(null);
  if (missing >= 0) throw new ToolError("git_log_failed", `'${names[missing]}' names no commit`);
  return range ? `${oids[0]}${range.dots}${oids[1]}` : oids[0]!;
}

/** A repository without commits has an empty history, not a broken one. */
async function emptyIfUnborn(
  { app: { git }, signal }: ToolContext,
  repository: Repository,
  error: unknown,
): Promise<Commit[]> {
  if (await headOf(git, repository, { signal }) === null) return [];
  throw error;
}

async function headName({ app: { git }, signal }: ToolContext, repository: Repository): Promise<string> {
  const args = ["symbolic-ref", "--quiet", "--short", "HEAD"];
  const { code, stdout } = await git.exec(repository, args, { signal, okCodes: [1] });
  return code === 0 ? stdout.trim() : "HEAD";
}

/** How much of each commit, and of how many, an answer shows. */
interface Shape {
  /** Commits of each root. */
  count: number;
  now: number;
  /** Without ages, which follow from the dates, and without addresses. */
  brief?: "age" | "age and email";
  subject?: number;
}

/** From the fullest to the barest: details of commits go before commits, and empty roots before others. */
function shorterAnswers(found: readonly Found[], now: number, since: string): (() => Output)[] {
  const least: Shape = { count: DEFAULT_COMMITS, now, brief: "age and email", subject: 72 };
  const telling = found.filter(({ group, commits }) => commits.length > 0 || group.error !== undefined);
  return [
    () => answer(found, { count: DEFAULT_COMMITS, now }, since),
    () => answer(found, { count: DEFAULT_COMMITS, now, brief: "age" }, since),
    () => answer(found, { count: DEFAULT_COMMITS, now, brief: "age and email" }, since),
    ...shrinking(DEFAULT_COMMITS, 0.93).map((count) => () => answer(found, { ...least, count }, since)),
    ...shrinking(telling.length, 0.8).map((roots) => () => {
      const shown = answer(telling.slice(0, roots), { ...least, count: 1 }, since);
      const more = [MORE_ROOTS, ...(shown.more ? [shown.more] : [])].join("; ");
      return { ...shown, ...(roots < found.length ? { omittedRoots: found.length - roots } : {}), more };
    }),
  ];
}

const MORE_ROOTS =
  "roots were left out, those without commits first: call git_log with workspaceRoot or rootIndex";

function answer(found: readonly Found[], shape: Shape, since: string): Output {
  let cut = false;
  const groups = found.map(({ group, commits, total }) => {
    if (group.error !== undefined) return group;
    const rows = commits.slice(0, shape.count).map((commit) => rowOf(commit, shape));
    const omitted = total - rows.length;
    cut ||= omitted > 0;
    return {
      ...group,
      commits: rows,
      ...(omitted > 0 ? { truncated: true as const, omittedCount: omitted } : {}),
    };
  });
  const ways = [
    ...(cut ? ["older commits: call git_log with skip = the commits seen so far"] : []),
    ...(shape.brief ? [`${shape.brief} left out for size: give maxCommits to have them`] : []),
  ];
  return { groups, since, ...(ways.length > 0 ? { more: ways.join("; ") } : {}) };
}

function rowOf(commit: Commit, { now, brief, subject = MAX_SUBJECT }: Shape): z.infer<typeof COMMIT> {
  const { files, insertions, deletions } = commit;
  return {
    sha7: commit.short,
    shaFull: commit.oid,
    subject: clipped(plain(commit.subject), subject),
    author: plain(commit.author),
    ...(brief === "age and email" ? {} : { email: plain(commit.email) }),
    date: commit.date,
    ...(brief ? {} : { ageRelative: age(now - commit.time) }),
    ...(files > 0 ? { filesChanged: files } : {}),
    ...(insertions > 0 ? { insertions } : {}),
    ...(deletions > 0 ? { deletions } : {}),
  };
}

function sectionOf(group: Group, since: string): string[] {
  const { workspace_root, repo, branch, commits, omittedCount, error, detail } = group;
  if (error !== undefined) return [`### ${workspace_root}`, `_error: ${error}_ ${detail ?? ""}`.trimEnd()];
  const lines = [`### ${repo} (${branch})  —  since: ${since}`, `_root: ${workspace_root}_`, ""];
  for (const row of commits ?? []) {
    const size = [
      ...(row.filesChanged ? [`${row.filesChanged} file(s)`] : []),
      ...(row.insertions ? [`+${row.insertions}`] : []),
      ...(row.deletions ? [`−${row.deletions}`] : []),
    ].join(" ");
    const who = row.email === undefined ? row.author : `${row.author} <${row.email}>`;
    const when = [...(row.ageRelative === undefined ? [] : [row.ageRelative]), row.date].join(", ");
    const tail = [who, when, ...(size ? [size] : [])].join(", ");
    lines.push(`- ${span(row.sha7)}  ${row.subject}  —  ${tail}`);
  }
  if (commits?.length === 0 && omittedCount === undefined) lines.push("_(no commits match)_");
  if (omittedCount) lines.push(`_(truncated — ${omittedCount} more commit(s) not shown)_`);
  return lines;
}
