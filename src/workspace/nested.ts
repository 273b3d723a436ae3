/** Repositories below the top of another one: submodules, and the nested roots that a caller names. */
import * as path from "node:path";
import { ToolError } from "../errors.ts";
import type { Repository } from "../git/repository.ts";
import type { GitRunner } from "../git/runner.ts";
import { submodulePaths } from "../git/submodules.ts";
import { lstatOrNull, resolveInRoot } from "../platform/jail.ts";
import type { Workspace } from "./workspace.ts";

/** A nested repository, or why it is none. */
export interface Nested {
  /** As it was named. */
  label: string;
  /** Absolute path. */
  path: string;
  repository: Repository | null;
  problem?: string;
}

/** The submodules that a repository declares, in the order of `.gitmodules`. */
export async function readSubmodules(
  git: GitRunner,
  workspace: Workspace,
  repository: Repository,
  signal?: AbortSignal,
): Promise<Nested[]> {
  const paths = await submodulePaths(git, repository, { signal });
  return await Promise.all(paths.map(async (label) => {
    const absolute = path.join(repository.root, label);
    const skipped = (problem: string) => ({ label, path: absolute, repository: null, problem });
    try {
      const real = await resolveInRoot(repository.root, label);
      if (await lstatOrNull(path.join(real, ".git")) === null) {
        return skipped("(no .git — submodule not checked out?)");
      }
      return { label, path: absolute, repository: await workspace.open(real) };
    } catch (error) {
      if (!(error instanceof ToolError) || error.code === "cancelled") throw error;
      const escapes = error.code === "path_escapes_repository";
      return skipped(escapes ? "(submodule path escapes repository — rejected)" : error.message);
    }
  }));
}

/** A directory named relative to the top of a repository, or absolute. */
export async function openNested(
  workspace: Workspace,
  repository: Repository,
  label: string,
): Promise<Nested> {
  const absolute = path.resolve(repository.root, label);
  const skipped = (problem: string) => ({ label, path: absolute, repository: null, problem });
  let real: string;
  try {
    real = await resolveInRoot(repository.root, label.trim());
  } catch (error) {
    if (error instanceof ToolError) return skipped("(path escapes git toplevel — rejected)");
    throw error;
  }
  if (!(await lstatOrNull(real))?.isDirectory) return skipped("(not a git work tree — skip)");
  try {
    return { label, path: absolute, repository: await workspace.open(real) };
  } catch (error) {
    if (!(error instanceof ToolError) || error.code === "cancelled") throw error;
    return skipped(error.code === "not_a_git_repository" ? "(not a git work tree — skip)" : error.message);
  }
}
