/** What work a session holds that would be lost, or only hidden, if it were removed now. */
import { join } from "node:path";
import { ToolError } from "../errors.ts";
import { hiddenEdits } from "../git/hidden_edits.ts";
import { GITLINK, type IndexEntry, listIndex } from "../git/index_entries.ts";
import { moduleDirectories, nestedRepositories, unpushedCommits } from "../git/nested.ts";
import { privateCommits } from "../git/private_commits.ts";
import { listRefs } from "../git/refs.ts";
import { adminDirectory } from "../git/repository_layout.ts";
import type { Repository } from "../git/repository.ts";
import { readStatus, type StatusEntry } from "../git/status.ts";
import { INITIALIZING, listWorktrees, type Worktree } from "../git/worktrees.ts";
import { isWithin, lstatOrNull } from "../platform/jail.ts";
import { changedIncluded } from "./include.ts";
import type { SessionScope } from "./scope.ts";
import type { Session } from "./session.ts";
import { unmergedCommits } from "./unmerged.ts";

/** A session as git and the disk show it now. */
export interface SessionWork {
  /** The worktree, opened; null when its directory is gone or no longer a worktree. */
  tree: Repository | null;
  /** Something stands at the worktree's path. */
  present: boolean;
  registered: Worktree | null;
  /** Tip of the session's own branch; null when that is gone. */
  tip: string | null;
  /** Where the worktree's HEAD is: commit and short branch name, null for none. */
  head: { oid: string | null; branch: string | null };
  /** There are submodules, or repositories like them, in the working tree. */
  hasSubmodules: boolean;
  /** Short name of the branch the worktree is on when it is not the session's own; that one is kept. */
  otherBranch: string | null;
  /** Entries of git status, and the two kinds of files that it does not tell of. */
  uncommittedFiles: number;
  /** Ignored files listed in .worktreeinclude that were changed. */
  changedIncluded: string[];
  /** Edited files that git was told not to look at. */
  hiddenEdits: string[];
  /** Files that git was told not to look at, edited or not. */
  unwatched: IndexEntry[];
  /** Submodules with changed or untracked files of their own. */
  dirtySubmodules: string[];
  /** Other repositories inside, with commits that exist nowhere else. */
  nested: string[];
  /** Commits that are in neither the base nor its upstream, however named; those of submodules too. */
  unmergedCommits: number;
  /** Commits that removal would leave without a name: what a backup has to keep. */
  unnamedTips: string[];
  /** Directory of the worktree's submodule clones when one of them has commits of its own; else null. */
  modules: string | null;
}

/**
 * Looks at a session.
 *
 * @throws {ToolError} `unsafe_repo_config` when a submodule's config would run programs; what git throws.
 */
export async function inspectWork(
  scope: SessionScope,
  session: Session,
  signal?: AbortSignal,
): Promise<SessionWork> {
  const { git, main } = scope;
  const [worktrees, refs, tree] = await Promise.all([
    listWorktrees(git, main, signal),
    listRefs(git, main, [`refs/heads/${session.branch}`], signal),
    openTree(scope, session, signal),
  ]);
  const registered = worktrees.find((worktree) => worktree.path === session.worktree) ?? null;
  const inside = worktrees.map(({ path }) => path)
    .filter((path) => path !== session.worktree && isWithin(session.worktree, path));
  const ownDir = tree?.ownDir ?? await adminDirectory(main, session.worktree);
  const [files, modules, secret] = await Promise.all([
    tree ? inspectFiles(scope, tree, signal) : null,
    ownDir ? inspectModules(scope, join(ownDir, "modules"), signal) : { directory: null, commits: 0 },
    ownDir ? privateCommits(git, main, ownDir, { signal }) : [],
  ]);
  const own = refs.get(`refs/heads/${session.branch}`);
  // A branch that only points to another one is none of ours to delete.
  const tip = own && own.target === "" ? own.oid : null;
  const head = files?.status ? { oid: files.status.head, branch: files.status.branch } : headOf(registered);
  const detached = head.branch === null ? head.oid : null;
  const tips = [tip, detached, ...secret].filter((oid) => oid !== null);
  const unmerged = await unmergedCommits(scope, session, [...new Set(tips)], signal);
  return {
    tree,
    present: await lstatOrNull(session.worktree) !== null,
    registered,
    tip,
    head,
    otherBranch: head.branch === session.branch ? null : head.branch,
    ...files?.work ?? NO_FILES,
    nested: [...files?.work.nested ?? [], ...inside],
    unmergedCommits: unmerged.count + modules.commits + (files?.nestedCommits ?? 0),
    unnamedTips: unmerged.unnamed,
    modules: modules.directory,
  };
}

const NO_FILES = {
  hasSubmodules: false,
  uncommittedFiles: 0,
  changedIncluded: [],
  hiddenEdits: [],
  unwatched: [],
  dirtySubmodules: [],
  nested: [],
};

async function inspectFiles(scope: SessionScope, tree: Repository, signal?: AbortSignal) {
  const { git, main } = scope;
  const entries = await listIndex(git, tree, { signal });
  const hasSubmodules = await judgeSubmodules(scope, tree, entries, signal);
  const unwatched = entries.filter((entry) => entry.unwatched);
  const [status, included, hidden] = await Promise.all([
    // As a write git notes in the index which files are unchanged, so that looking again is quick.
    readStatus(git, tree, { submodules: true, ignored: true, write: true, signal }),
    changedIncluded(git, main, tree, signal),
    hiddenEdits(git, tree, unwatched, { signal }),
  ]);
  const uncommitted = status.entries.filter((entry) => entry.kind !== "ignored");
  const untracked = status.entries.filter(({ kind, path }) => kind !== "changed" && path.endsWith("/"));
  const gitlinks = entries.filter((entry) => entry.mode === GITLINK);
  const nested = await nestedRepositories(tree, [...gitlinks, ...untracked].map((entry) => entry.path));
  const counts = await Promise.all(
    nested.map((path) => unpushedCommits(git, main, join(tree.root, path, ".git"), { signal })),
  );
  return {
    status,
    nestedCommits: counts.reduce((sum, count) => sum + count, 0),
    work: {
      hasSubmodules,
      uncommittedFiles: uncommitted.length + included.length + hidden.length,
      changedIncluded: included,
      hiddenEdits: hidden,
      unwatched,
      dirtySubmodules: uncommitted.filter(isDirtySubmodule).map((entry) => entry.path),
      nested: nested.filter((_, at) => counts[at] > 0),
    },
  };
}

/**
 * The same work, seen again in the place the worktree was moved to. Not for worktrees with submodules.
 *
 * @throws {ToolError} `worktree_in_use` when HEAD is not where it was.
 */
export async function lookAgain(scope: SessionScope, work: SessionWork, place: string): Promise<SessionWork> {
  const { git, main } = scope;
  const tree = { ...work.tree!, root: place };
  const [status, included, hidden] = await Promise.all([
    readStatus(git, tree),
    changedIncluded(git, main, tree),
    hiddenEdits(git, tree, work.unwatched),
  ]);
  if (status.head !== work.head.oid || status.branch !== work.head.branch) {
    throw new ToolError("worktree_in_use", "the session's HEAD moved while it was being removed");
  }
  return {
    ...work,
    tree,
    uncommittedFiles: status.entries.length + included.length + hidden.length,
    changedIncluded: included,
    hiddenEdits: hidden,
  };
}

/** `git status` looks into submodules, where their own config holds: it is judged. True when there are any. */
async function judgeSubmodules(
  scope: SessionScope,
  tree: Repository,
  entries: readonly IndexEntry[],
  signal?: AbortSignal,
): Promise<boolean> {
  let found = false;
  for (const { path, mode } of entries) {
    if (mode !== GITLINK || await lstatOrNull(join(tree.root, path, ".git")) === null) continue;
    found = true;
    const inner = await scope.repositories.open(join(tree.root, path), signal);
    await judgeSubmodules(scope, inner, await listIndex(scope.git, inner, { signal }), signal);
  }
  return found;
}

async function inspectModules(scope: SessionScope, directory: string, signal?: AbortSignal) {
  const gitDirs = await moduleDirectories(directory);
  const counts = await Promise.all(
    gitDirs.map((gitDir) => unpushedCommits(scope.git, scope.main, gitDir, { signal })),
  );
  const commits = counts.reduce((sum, count) => sum + count, 0);
  return { directory: commits > 0 ? directory : null, commits };
}

/**
 * Refuses what no backup can hold, before anything is touched.
 *
 * @throws {ToolError} `worktree_locked` (git's own mark of a worktree in the making does not count),
 * `worktree_path_exists`, `nested_repository`.
 */
export function refuseUnremovable(session: Session, work: SessionWork): void {
  const reason = work.registered?.locked ?? null;
  if (reason !== null && reason !== INITIALIZING) {
    throw new ToolError(
      "worktree_locked",
      `worktree '${session.worktree}' is locked${reason && `: ${reason}`}`,
    );
  }
  if (work.present && !work.tree) {
    throw new ToolError(
      "worktree_path_exists",
      `'${session.worktree}' is no longer this session's worktree`,
      {
        next: "Look at that directory and move it away; then the session can be removed.",
      },
    );
  }
  refuseInside(session, work.nested, "holds other git repositories or worktrees with work of their own");
  refuseInside(session, work.dirtySubmodules, "has submodules with uncommitted files");
}

function refuseInside(session: Session, paths: readonly string[], what: string): void {
  if (paths.length === 0) return;
  throw new ToolError("nested_repository", `'${session.worktree}' ${what}: ${paths.join(", ")}`, {
    details: { paths },
  });
}

/** The session's worktree, opened; null when there is none to open. */
export async function openTree(
  scope: SessionScope,
  session: Session,
  signal?: AbortSignal,
): Promise<Repository | null> {
  try {
    return await scope.repositories.worktree(scope.main, session.worktree, signal);
  } catch (error) {
    if (error instanceof ToolError && error.code === "not_a_git_repository") return null;
    throw error;
  }
}

/** The third and fourth letter tell of modified and of untracked content inside. */
function isDirtySubmodule(entry: StatusEntry): boolean {
  return /^S.(M.|.U)$/.test(entry.submodule ?? "");
}

function headOf(registered: Worktree | null) {
  return { oid: registered?.head ?? null, branch: registered?.branch?.replace("refs/heads/", "") ?? null };
}
