/** Cherry-picking: commits, ranges and branches replayed onto a branch, all of them or none. */
import { type ErrorCode, messageOf, ToolError } from "../errors.ts";
import { type CommitObject, CommitWriter, readCommits } from "../git/commit_objects.ts";
import { type Conflict, describeConflicts } from "../git/conflicts.ts";
import { withMerger } from "../git/merge_tree.ts";
import { inQuarantine } from "../git/quarantine.ts";
import { checkCommitish, resolveBranches, resolveCommits } from "../git/refs.ts";
import { type Replay, replay } from "../git/replay.ts";
import { openDestination } from "./destination.ts";
import { type ChangeScope, Landing } from "./landing.ts";
import { parseRange, type Range } from "../git/range.ts";

/** What to pick. */
export interface PickRequest {
  sources: readonly string[];
  onto?: string;
  dryRun: boolean;
}

/** What a source stood for. */
export interface PickedSource {
  source: string;
  kind: "sha" | "range" | "branch";
  /** How many commits it expanded to, and how many of them the destination did not reach yet. */
  resolvedCommits: number;
  keptCommits: number;
  /** Short name of the local branch. */
  branch?: string;
}

/** The commit at which a pick stopped. */
export interface PickConflict {
  commit: string;
  paths: string[];
  detail: string;
  conflicts: Conflict[];
}

/** What became of a pick. */
export interface PickReport {
  ok: boolean;
  onto: string;
  headSha: string;
  picked: number;
  applied: number;
  sources: PickedSource[];
  conflict?: PickConflict;
  backupRefs: string[];
  dirty: boolean;
}

/**
 * Picks what the sources stand for, in their order, oldest first within each. After a conflict nothing has
 * changed.
 *
 * @throws {ToolError} What {@linkcode openDestination} throws, `source_not_found`, `range_resolution_failed`,
 * `cherry_pick_failed`, `checkout_failed`.
 */
export async function pickCommits(scope: ChangeScope, request: PickRequest): Promise<PickReport> {
  const parsed = request.sources.map((source) => {
    if (source.includes("..")) return { source, range: parseRange(source, "unsafe_ref_token") };
    return { source: checkCommitish(source), range: null };
  });
  if (!request.dryRun) return await picking(scope, request, parsed);
  return await inQuarantine(scope.tree, (env) => {
    const options = { ...scope.options, env: { ...scope.options.env, ...env } };
    return picking({ ...scope, options }, request, parsed);
  });
}

interface ParsedSource {
  source: string;
  range: Range | null;
}

async function picking(
  scope: ChangeScope,
  { onto, dryRun }: PickRequest,
  parsed: readonly ParsedSource[],
): Promise<PickReport> {
  const { git, tree, options } = scope;
  const wanted = { branch: onto, dryRun, detached: "onto_detached_head" } as const;
  const destination = await openDestination(git, tree, wanted, options);
  const { expanded, kept } = await expandAll(scope, parsed, destination.oid);
  const landing = new Landing(scope, destination);
  const report = {
    onto: destination.branch,
    picked: kept.length,
    sources: expanded,
    dirty: destination.dirty,
  };
  const objects = await readCommits(git, tree, [destination.oid, ...kept], options);
  const [start, ...commits] = objects;
  const stopped = { ...report, ok: false, headSha: destination.oid, applied: 0, backupRefs: [] };
  const merge = commits.find(({ parents }) => parents.length > 1);
  if (merge) return { ...stopped, conflict: mergeCommit(merge) };
  const done = await withMerger(git, tree, options, async (merger) => {
    const result = await replaying(() =>
      replay(merger, new CommitWriter(git, tree, options), start, commits)
    );
    const conflict = result.stopped && await conflictOf(scope, result.stopped);
    return { ...result, conflict };
  });
  if (done.conflict) return { ...stopped, conflict: done.conflict };
  if (!dryRun) {
    await landing.move(destination.branch, destination.oid, done.tip, "cherry-pick", true).catch((error) => {
      throw failed(error);
    });
    await landing.finish();
  }
  const headSha = dryRun ? destination.oid : done.tip;
  return { ...report, ok: true, headSha, applied: done.applied, backupRefs: landing.backupRefs };
}

/** What every source stands for, and the commits to pick: each once, without those the destination reaches. */
async function expandAll(
  scope: ChangeScope,
  parsed: readonly ParsedSource[],
  onto: string,
): Promise<{ expanded: PickedSource[]; kept: string[] }> {
  const { git, tree, options } = scope;
  const lists: { source: PickedSource; commits: string[] }[] = [];
  for (const one of parsed) lists.push(await expand(scope, one, onto));
  const all = [...new Set(lists.flatMap(({ commits }) => commits))];
  const fresh = new Set<string>();
  if (all.length > 0) {
    const stdin = [...all, `^${onto}`, ""].join("\n");
    const { stdout } = await git.exec(tree, ["rev-list", "--stdin"], { ...options, stdin });
    for (const commit of stdout.split("\n")) fresh.add(commit);
  }
  const kept: string[] = [];
  const expanded = lists.map(({ source, commits }) => {
    const own = [...new Set(commits)].filter((commit) => fresh.has(commit) && !kept.includes(commit));
    kept.push(...own);
    return { ...source, keptCommits: own.length };
  });
  return { expanded, kept };
}

async function expand(
  { git, tree, options }: ChangeScope,
  { source, range }: ParsedSource,
  onto: string,
): Promise<{ source: PickedSource; commits: string[] }> {
  const list = async (revisions: string) => {
    const args = ["rev-list", "--reverse", "--topo-order", revisions];
    const { stdout } = await git.exec(tree, args, options);
    return stdout.split("\n").filter((line) => line !== "");
  };
  const row = (kind: PickedSource["kind"], commits: string[], branch?: string) => ({
    source: { source, kind, resolvedCommits: commits.length, keptCommits: 0, ...(branch ? { branch } : {}) },
    commits,
  });
  if (range) {
    const [left, right] = await resolveCommits(git, tree, [range.left, range.right], options);
    if (left === null || right === null) {
      const missing = left === null ? range.left : range.right;
      throw unresolved("range_resolution_failed", source, `'${missing}' names no commit`);
    }
    return row("range", await list(`${left}${range.dots}${right}`));
  }
  const [{ oid, branch }] = await resolveBranches(git, tree, [source], options);
  if (oid === null) throw unresolved("source_not_found", source, `'${source}' names no commit`);
  return branch === null ? row("sha", [oid]) : row("branch", await list(`${onto}..${oid}`), branch);
}

function unresolved(code: ErrorCode, source: string, detail: string): ToolError {
  return new ToolError(code, `source '${source}' cannot be resolved: ${detail}`, {
    details: { source, detail },
  });
}

function mergeCommit({ oid }: CommitObject): PickConflict {
  const detail = `${oid.slice(0, 7)} is a merge commit, which cannot be picked: ` +
    "name the commits it brought in, or use git_merge";
  return { commit: oid, paths: [], detail, conflicts: [] };
}

async function conflictOf(
  { git, tree, options }: ChangeScope,
  { commit, result }: NonNullable<Replay["stopped"]>,
): Promise<PickConflict> {
  return {
    commit: commit.oid,
    paths: result.conflicts.map(({ path }) => path),
    detail: `could not apply ${commit.oid.slice(0, 7)} ${commit.message.split("\n")[0]}`,
    conflicts: await describeConflicts(git, tree, result, options),
  };
}

async function replaying(work: () => Promise<Replay>): Promise<Replay> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ToolError && error.code === "git_failed" ? failed(error) : error;
  }
}

function failed(error: unknown): ToolError {
  const detail = messageOf(error);
  return new ToolError("cherry_pick_failed", `the commits could not be put in place: ${detail}`, {
    details: { detail },
    cause: error,
  });
}
