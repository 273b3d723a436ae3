/** Which branch sessions start from and are measured against. */
import { ToolError } from "../errors.ts";
import { checkCommitish, listRefs, type Ref, resolveCommit } from "../git/refs.ts";
import type { SessionScope } from "./scope.ts";

/** A base branch as it stands now. */
export interface Base {
  /** Short name: `main`, or `origin/main` when only the remote-tracking branch exists. */
  name: string;
  oid: string;
  /** Where its upstream stands as last fetched; null without one. Work that is there is safe too. */
  upstream: string | null;
}

const ORIGIN_HEAD = "refs/remotes/origin/HEAD";

/**
 * The base branch: `wanted` if given, else the operator's `-base`, else `main`, else what `origin/HEAD`
 * names, else `master`, else the current branch.
 *
 * @throws {ToolError} `base_not_found`.
 */
export async function findBase(scope: SessionScope, wanted?: string, signal?: AbortSignal): Promise<Base> {
  const named = wanted ?? scope.base;
  if (named !== undefined) {
    const base = await branchNamed(scope, named, signal);
    if (base) return base;
    throw new ToolError("base_not_found", `base branch '${named}' does not exist in '${scope.main.root}'`);
  }
  const refs = await listRefs(
    scope.git,
    scope.main,
    ["refs/heads/main", ORIGIN_HEAD, "refs/heads/master"],
    signal,
  );
  const origin = refs.get(ORIGIN_HEAD)?.target.replace("refs/remotes/", "");
  const base = await baseOf(scope, refs.get("refs/heads/main"), signal) ??
    (origin ? await branchNamed(scope, origin.replace(/^origin\//, ""), signal) : null) ??
    (origin ? await branchNamed(scope, origin, signal) : null) ??
    await baseOf(scope, refs.get("refs/heads/master"), signal) ??
    await currentBranch(scope, signal);
  if (base) return base;
  throw new ToolError("base_not_found", `'${scope.main.root}' has no branch with a commit to start from`);
}

/** The base of a session as it is now, another one if it is gone; null when there is none at all. */
export async function findBaseOrOther(
  scope: SessionScope,
  name: string,
  signal?: AbortSignal,
): Promise<Base | null> {
  for (const wanted of [name, undefined]) {
    try {
      return await findBase(scope, wanted, signal);
    } catch (error) {
      if (!(error instanceof ToolError && error.code === "base_not_found")) throw error;
    }
  }
  return null;
}

/** A local branch of that short name, else a remote-tracking one; null when there is neither. */
async function branchNamed(scope: SessionScope, name: string, signal?: AbortSignal): Promise<Base | null> {
  checkCommitish(name);
  const names = [`refs/heads/${name}`, `refs/remotes/${name}`];
  const refs = await listRefs(scope.git, scope.main, names, signal);
  return await baseOf(scope, refs.get(names[0]) ?? refs.get(names[1]), signal);
}

async function currentBranch(scope: SessionScope, signal?: AbortSignal): Promise<Base | null> {
  const { stdout } = await scope.git.exec(scope.main, ["symbolic-ref", "--quiet", "HEAD"], {
    okCodes: [1],
    signal,
  });
  const refs = await listRefs(scope.git, scope.main, [stdout.trim() || "HEAD"], signal);
  return await baseOf(scope, refs.get(stdout.trim()), signal);
}

async function baseOf(scope: SessionScope, ref: Ref | undefined, signal?: AbortSignal): Promise<Base | null> {
  if (!ref) return null;
  // Only what a remote is known to have is safe there; a local branch is not.
  const remote = ref.upstream.startsWith("refs/remotes/");
  const upstream = remote ? await resolveCommit(scope.git, scope.main, ref.upstream, signal) : null;
  return { name: ref.name.replace(/^refs\/(heads|remotes)\//, ""), oid: ref.oid, upstream };
}
