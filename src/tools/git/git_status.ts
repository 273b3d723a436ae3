import * as z from "zod";
import { readSubmodules } from "../../workspace/nested.ts";
import { inOrder, shortStatus } from "../../git/short_status.ts";
import { readStatus, type Status } from "../../git/status.ts";
import { asToolError, endsCall } from "../../errors.ts";
import { firstFitting, shrinking } from "../budget.ts";
import { fenced, inlineOrFenced, oneLine } from "../markdown.ts";
import { fanOut, FORMAT, MANY_ROOTS, rootsOf } from "../roots.ts";
import { defineTool, type ToolContext } from "../tool.ts";

const FILES = z.array(z.string()).optional();

const ROW = z.strictObject({
  label: z.string(),
  path: z.string(),
  statusText: z.string(),
  ok: z.boolean(),
  branch: z.string().optional(),
  is_dirty: z.boolean().optional(),
  staged_files: FILES,
  modified_files: FILES,
  untracked_files: FILES,
  conflicted_files: FILES,
  omittedFiles: z.int().min(1).optional(),
});
type Row = z.infer<typeof ROW>;

const OUTPUT = z.strictObject({
  groups: z.array(z.strictObject({ mcpRoot: z.string(), repos: z.array(ROW) })),
  omittedRepos: z.int().min(1).optional(),
  omittedDirtyRepos: z.int().min(1).optional(),
  more: z.string().optional(),
});
type Output = z.infer<typeof OUTPUT>;

const MOST_FILES = 10_000;
/** How many files of each repository are listed, tried from the first to the last until the answer fits. */
const FEWER_FILES = [1000, 300, 150, 100, 70, 40, 20, 10, 5, 2, 0];

/** `git_status`: what every repository of every root has uncommitted. */
export const gitStatus = defineTool({
  name: "git_status",
  toolset: "git",
  title: "Status of repositories",
  description:
    "git status --short -b of one root or, with allWorkspaceRoots, of all, and of their submodules: branch, " +
    "staged, modified and untracked files. Long lists are cut to fit; maxFiles lists more of each repository.",
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: z.strictObject({
    ...MANY_ROOTS,
    repo_path: z.string().max(4096).optional(),
    includeSubmodules: z.boolean().default(true),
    maxFiles: z.int().min(0).max(MOST_FILES).optional(),
    ...FORMAT,
  }),
  output: OUTPUT,
  async run(input, context) {
    // The remotes family calls it repo_path.
    const roots = await rootsOf(context, { ...input, workspaceRoot: input.workspaceRoot ?? input.repo_path });
    const groups = await fanOut(context, roots, (root) => groupOf(context, root, input.includeSubmodules));
    return fitted(groups, input.maxFiles);
  },
  render({ groups, omittedRepos, omittedDirtyRepos, more }) {
    const several = groups.length > 1;
    const lines = [several ? "# Multi-root git status" : "# Git status"];
    for (const { mcpRoot, repos } of groups) {
      if (several) lines.push("", `### MCP root: ${oneLine(mcpRoot)}`);
      for (const row of repos) lines.push("", `## ${oneLine(row.label)} — ${oneLine(row.path)}`, bodyOf(row));
    }
    if (omittedRepos) {
      const dirty = omittedDirtyRepos ? `, ${omittedDirtyRepos} of them with changes` : ", all clean";
      lines.push("", `_(${omittedRepos} repositories not shown${dirty})_`);
    }
    if (more) lines.push("", `_${more}_`);
    return lines.join("\n");
  },
});

/** A repository looked at, or why it could not be. */
interface Looked {
  label: string;
  path: string;
  status: Status | null;
  problem?: string;
}

interface Group {
  root: string;
  repos: Looked[];
}

async function groupOf(context: ToolContext, root: string, submodules: boolean): Promise<Group> {
  const { app: { git }, workspace, signal } = context;
  try {
    const repository = await workspace.open(root);
    if (repository.bare) {
      const problem = "(bare repository — no working tree)";
      return { root, repos: [{ label: ".", path: repository.root, status: null, problem }] };
    }
    const [own, nested] = await Promise.all([
      readStatus(git, repository, { signal }),
      submodules ? readSubmodules(git, workspace, repository, signal) : [],
    ]);
    const repos = await Promise.all(nested.map(async ({ label, path, repository, problem }) => ({
      label,
      path,
      status: repository ? await readStatus(git, repository, { signal }) : null,
      ...(problem ? { problem } : {}),
    })));
    return { root, repos: [{ label: ".", path: repository.root, status: own }, ...repos] };
  } catch (error) {
    if (endsCall(error)) throw error;
    const { code, message } = asToolError(error);
    const problem = code === "not_a_git_repository" ? "not a git repository" : message;
    return { root, repos: [{ label: root, path: root, status: null, problem }] };
  }
}

function fitted(groups: readonly Group[], maxFiles: number | undefined): Output {
  if (maxFiles !== undefined) return shaped(groups, maxFiles, () => true);
  const isClean = ({ status, problem }: Looked) => !problem && status?.entries.length === 0;
  const telling = groups.flatMap((group) => group.repos).filter((repo) => !isClean(repo));
  return firstFitting([
    ...FEWER_FILES.map((files) => () => shaped(groups, files, () => true)),
    ...[20, 5, 0].map((files) => () => shaped(groups, files, (repo) => !isClean(repo))),
    ...shrinking(Math.floor(telling.length / 1.5)).map((count) => () => {
      const kept = new Set(telling.slice(0, count));
      return shaped(groups, 0, (repo) => kept.has(repo));
    }),
  ]);
}

function shaped(groups: readonly Group[], files: number, keep: (repo: Looked) => boolean): Output {
  const shown = groups.map(({ root, repos }) => ({
    mcpRoot: root,
    repos: repos.filter(keep).map((repo) => rowOf(repo, files)),
  })).filter(({ repos }) => repos.length > 0);
  const left = groups.flatMap(({ repos }) => repos).filter((repo) => !keep(repo));
  const dirty = left.filter(({ status }) => status === null || status.entries.length > 0);
  const cut = shown.some(({ repos }) => repos.some((row) => row.omittedFiles !== undefined));
  const ways = [
    ...(cut
      ? ["files were left out: call git_status with maxFiles, and workspaceRoot for one repository"]
      : []),
    ...(left.length > 0
      ? ["repositories were left out: call git_status with workspaceRoot or rootIndex"]
      : []),
  ];
  return {
    groups: shown,
    ...(left.length > 0 ? { omittedRepos: left.length } : {}),
    ...(dirty.length > 0 ? { omittedDirtyRepos: dirty.length } : {}),
    ...(ways.length > 0 ? { more: ways.join("; ") } : {}),
  };
}

function rowOf({ label, path, status, problem }: Looked, files: number): Row {
  if (status === null) return { label, path, statusText: problem ?? "", ok: false };
  const { header, lines } = shortStatus(status);
  const entries = inOrder(status.entries).slice(0, files);
  const omitted = status.entries.length - entries.length;
  const pick = (name: keyof Row, of: (xy: string, kind: string) => boolean) => {
    const paths = entries.filter(({ xy, kind }) => of(xy, kind)).map((entry) => entry.path);
    return paths.length > 0 ? { [name]: paths } : {};
  };
  return {
    label,
    path,
    statusText: [header, ...lines.slice(0, files), ...(omitted > 0 ? [`… ${omitted} more`] : [])].join("\n"),
    ok: true,
    ...(status.branch === null ? {} : { branch: status.branch }),
    is_dirty: status.entries.length > 0,
    ...pick("staged_files", (xy, kind) => tracked(kind) && xy[0] !== "."),
    ...pick("modified_files", (xy, kind) => tracked(kind) && xy[1] !== "."),
    ...pick("untracked_files", (_, kind) => kind === "untracked"),
    ...pick("conflicted_files", (_, kind) => kind === "unmerged"),
    ...(omitted > 0 ? { omittedFiles: omitted } : {}),
  };
}

function tracked(kind: string): boolean {
  return kind === "changed" || kind === "renamed";
}

function bodyOf({ ok, statusText }: Row): string {
  return ok && statusText.includes("\n")
    ? fenced(statusText, "text")
    : inlineOrFenced(statusText || "(clean)");
}
