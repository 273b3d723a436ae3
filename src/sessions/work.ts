/** What work a session holds that would be lost, or only hidden, if it were removed now. */
import { isContained } from "../git/containment.ts";
import { hiddenEdits } from "../git/hidden_edits.ts";
import { listRefs } from "../git/refs.ts";
import type { Repository } from "../git/repository.ts";
import { readStatus, type Status, type StatusEntry } from "../git/status.ts";
import { INITIALIZING, listWorktrees, type Worktree } from "../git/worktrees.ts";
import { lstatOrNull } from "../platform/jail.ts";
import { ToolError } from "../errors.ts";
import type { Base } from "./base.ts";
import { findBase } from "./base.ts";
import { changedIncluded } from "./include.ts";
import type { SessionScope } from "./scope.ts";
import type { Session } from "./session.ts";
import { type UnpushedModule, unpushedModules } from "./submodules.ts";

/** A session as git and the disk show it now. */
export interface SessionWork {
  /** The worktree, opened; null when its directory is gone or no longer a worktree. */
  tree: Repository | null;
  /** Something stands at the worktree's path. */
  present: boolean;
  registered: Worktree | null;
  /** Tip of the session's own branch; null when that is gone. */
  tip: string | null;
  /** Where the worktree's HEAD is when it is on no branch. */
  detached: string | null;
  /** Short name of the branch the worktree is on when it is not the session's own; that one is kept. */
  otherBranch: string | null;
  /** Entries of git status, and the two kinds of files that it does not tell of. */
  uncommittedFiles: number;
  /** Ignored files listed in .worktreeinclude that were changed. */
  changedIncluded: string[];
  /** Edited files that git was told not to look at. */
  hiddenEdits: string[];
  /** Submodules with changed or untracked files of their own. */
  dirtySubmodules: string[];
  /** Commits that are in neither the base nor its upstream, however named. */
  unmergedCommits: number;
  /** Commits that removal would leave without a name: what a backup has to keep. */
  unnamedTips: string[];
  modules: UnpushedModule[];
}

/** Looks at a session. */
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
  const tip = refs.get(`refs/heads/${session.branch}`)?.oid ?? null;
  const [status, included, hidden, modules] = tree
    ? await Promise.all([
      readStatus(git, tree, { signal }),
      changedIncluded(git, main, tree, signal),
      hiddenEdits(git, tree, { signal }),
      unpushedModules(git, main, tree, signal),
    ])
    : [null, [], [], []];
  const head = headOf(status, session, registered);
  const tips = [...new Set([tip, head.detached].filter((oid) => oid !== null))];
  const unmerged = await unmergedOf(scope, session, tips, signal);
  return {
    tree,
    present: await lstatOrNull(session.worktree) !== null,
    registered,
    tip,
    ...head,
    uncommittedFiles: (status?.entries.length ?? 0) + included.length + hidden.length,
    changedIncluded: included,
    hiddenEdits: hidden,
    dirtySubmodules: (status?.entries ?? []).filter(isDirtySubmodule).map((entry) => entry.path),
    unmergedCommits: modules.reduce((sum, { commits }) => sum + commits, unmerged.commits),
    unnamedTips: unmerged.unnamed,
    modules,
  };
}

/**
 * @throws {ToolError} `worktree_locked` when somebody locked the worktree; git's own mark of a worktree in
 * the making does not count.
 */
export function refuseLocked(work: SessionWork): void {
  const reason = work.registered?.locked ?? null;
  if (reason === null || reason === INITIALIZING) return;
  throw new ToolError(
    "worktree_locked",
    `worktree '${work.registered!.path}' is locked${reason && `: ${reason}`}`,
  );
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

function headOf(status: Status | null, session: Session, registered: Worktree | null) {
  const branch = status ? status.branch : registered?.branch?.replace("refs/heads/", "") ?? null;
  const head = status ? status.head : registered?.head ?? null;
  return {
    detached: branch === null ? head : null,
    otherBranch: branch === null || branch === session.branch ? null : branch,
  };
}

async function unmergedOf(scope: SessionScope, session: Session, tips: string[], signal?: AbortSignal) {
  if (tips.length === 0) return { commits: 0, unnamed: [] };
  const base = await baseOrNull(scope, session, signal);
  const safe = base ? [base.oid, ...(base.upstream ? [base.upstream] : [])] : [];
  const outside = (await Promise.all(tips.map(async (tip) => ({
    tip,
    commits: safe.includes(tip) ? 0 : await countOutside(scope, [tip], safe, signal),
  })))).filter(({ commits }) => commits > 0).map(({ tip }) => tip);
  const lost = (await Promise.all(outside.map(async (tip) => ({
    tip,
    contained: base !== null && await containedInAny(scope, tip, safe, signal),
  })))).filter(({ contained }) => !contained).map(({ tip }) => tip);
  return {
    commits: lost.length === 0 ? 0 : await countOutside(scope, lost, safe, signal),
    unnamed: outside,
  };
}

async function baseOrNull(scope: SessionScope, session: Session, signal?: AbortSignal): Promise<Base | null> {
  for (const wanted of [session.base, undefined]) {
    try {
      return await findBase(scope, wanted, signal);
    } catch (error) {
      if (!(error instanceof ToolError && error.code === "base_not_found")) throw error;
    }
  }
  return null;
}

async function countOutside(
  scope: SessionScope,
  tips: readonly string[],
  safe: readonly string[],
  signal?: AbortSignal,
): Promise<number> {
  const args = ["rev-list", "--count", ...tips, "--not", ...safe];
  return Number((await scope.git.exec(scope.main, args, { signal })).stdout);
}

async function containedInAny(
  scope: SessionScope,
  tip: string,
  bases: readonly string[],
  signal?: AbortSignal,
): Promise<boolean> {
  for (const base of bases) {
    const { stdout } = await scope.git.exec(scope.main, ["merge-base", base, tip], { okCodes: [1], signal });
    const mergeBase = stdout.trim() || null;
    if (await isContained(scope.git, scope.main, { base, tip, mergeBase }, { signal })) return true;
  }
  return false;
}
