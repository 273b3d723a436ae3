/** Where repositories stand: branch, changes, and how far each is from its upstream. */
import { asToolError, endsCall } from "../errors.ts";
import { divergenceFrom } from "../git/divergence.ts";
import type { GitRunner } from "../git/runner.ts";
import { shortStatus } from "../git/short_status.ts";
import { readStatus, readStatuses, type Status } from "../git/status.ts";
import { mapBounded, PARALLELISM } from "../platform/pool.ts";
import type { Nested } from "./nested.ts";

/** The branch of a remote that all repositories are compared with, instead of each with its own upstream. */
export interface FixedUpstream {
  remote: string;
  branch: string;
}

/** One repository of an inventory, or why it is none. */
export interface InventoryEntry {
  label: string;
  path: string;
  upstreamMode: "auto" | "fixed";
  /** The text of `git status --short --branch`. */
  branchStatus?: string;
  /** Branch name; `HEAD` when detached. */
  headAbbrev?: string;
  upstreamRef?: string;
  /** Commits, as decimal text. */
  ahead?: string;
  behind?: string;
  upstreamNote?: string;
  detached?: boolean;
  skipReason?: string;
}

/**
 * The entries of repositories, in order; their statuses are read by one git.
 *
 * @throws {ToolError} What ends a call; anything else is the entry's `skipReason`.
 */
export async function readInventory(
  git: GitRunner,
  nested: readonly Nested[],
  fixed: FixedUpstream | null,
  signal?: AbortSignal,
): Promise<InventoryEntry[]> {
  const options = { signal, oneOfMany: nested.length > 1 };
  const trees = nested.flatMap(({ repository }) => repository && !repository.bare ? [repository] : []);
  const read = trees.length > 1 ? await readStatuses(git, trees, options).catch(unlessEnding) : [];
  return await mapBounded(nested, PARALLELISM, async ({ label, path, repository, problem }) => {
    const common = { label, path, upstreamMode: modeOf(fixed) };
    if (repository === null) return { ...common, skipReason: problem };
    if (repository.bare) return { ...common, skipReason: "(bare repository — no working tree)" };
    try {
      const status = read[trees.indexOf(repository)] ?? await readStatus(git, repository, options);
      const upstream = fixed
        ? fixedFields(fixed, await divergenceFrom(git, repository, refOf(fixed), { signal }))
        : autoFields(status);
      return { ...common, ...stateOf(status), ...upstream };
    } catch (error) {
      if (endsCall(error)) throw error;
      return { ...common, skipReason: asToolError(error).message };
    }
  });
}

function unlessEnding(error: unknown): never[] {
  if (endsCall(error)) throw error;
  return [];
}

function stateOf(status: Status): Partial<InventoryEntry> {
  const { header, lines } = shortStatus(status);
  return {
    branchStatus: [header, ...lines].join("\n"),
    headAbbrev: status.branch ?? "HEAD",
    ...(status.branch === null ? { detached: true as const } : {}),
  };
}

function refOf({ remote, branch }: FixedUpstream): string {
  return `refs/remotes/${remote}/${branch}`;
}

type Upstream = Pick<InventoryEntry, "upstreamRef" | "ahead" | "behind" | "upstreamNote">;

function fixedFields({ remote, branch }: FixedUpstream, found: Status["divergence"]): Upstream {
  const upstreamRef = `${remote}/${branch}`;
  return found
    ? { upstreamRef, ...counts(found), upstreamNote: `tracking ${upstreamRef}` }
    : { upstreamRef, upstreamNote: `(no local ref ${upstreamRef} or unreadable)` };
}

function autoFields({ branch, upstream, divergence }: Status): Upstream {
  if (branch === null) return { upstreamNote: "detached HEAD — no upstream" };
  if (upstream === null) return { upstreamNote: "no upstream configured" };
  return divergence
    ? { upstreamRef: upstream, ...counts(divergence), upstreamNote: `tracking ${upstream}` }
    : { upstreamRef: upstream, upstreamNote: `upstream ${upstream} (counts unreadable)` };
}

function counts({ ahead, behind }: NonNullable<Status["divergence"]>) {
  return { ahead: String(ahead), behind: String(behind) };
}

/** Whether entries are compared with one upstream or each with its own. */
export function modeOf(fixed: FixedUpstream | null): "auto" | "fixed" {
  return fixed ? "fixed" : "auto";
}
