/** Repositories below the top of another one: submodules, and the nested roots that a caller names. */
import * as path from "node:path";
import { asToolError } from "../errors.ts";
import type { Repository } from "../git/repository.ts";
import type { GitRunner } from "../git/runner.ts";
import { submodulePaths } from "../git/submodules.ts";
import { resolveInReal } from "../platform/jail.ts";
import { log } from "../platform/log.ts";
import type { Workspace } from "./workspace.ts";

/** A nested repository, or why it is none. */
export interface Nested {
  /** As it was named. */
  label: string;
  /** Absolute path. */
  path: string;
  repository: Repository | null;
  /** For a reader; `escapes` and `none` are told apart because tools word them in their own way. */
  problem?: string;
  kind?: "escapes" | "none" | "other";
}

/** How a tool words what is no repository. */
export interface NestedWords {
  escapes: string;
  none: string;
}

const SUBMODULE: NestedWords = {
  escapes: "(submodule path escapes repository — rejected)",
  none: "(no .git — submodule not checked out?)",
};
const NESTED: NestedWords = {
  escapes: "(path escapes git toplevel — rejected)",
  none: "(not a git work tree — skip)",
};

/** The submodules that a repository declares, in the order of `.gitmodules`, each once. */
export async function readSubmodules(
  git: GitRunner,
  workspace: Workspace,
  repository: Repository,
  signal?: AbortSignal,
): Promise<Nested[]> {
  const paths = await submodulePaths(git, repository, { signal });
  const found = await Promise.all(paths.map((label) => openBelow(workspace, repository, label, SUBMODULE)));
  return found.map((nested) => {
    // Without a git directory of its own a path belongs to the repository around it.
    if (nested.repository === null || nested.repository.root !== repository.root) return nested;
    return { ...nested, repository: null, problem: SUBMODULE.none, kind: "none" };
  });
}

/** A directory named relative to the top of a repository, or absolute. */
export async function openNested(
  workspace: Workspace,
  repository: Repository,
  label: string,
): Promise<Nested> {
  return await openBelow(workspace, repository, label.trim(), NESTED);
}

async function openBelow(
  workspace: Workspace,
  repository: Repository,
  label: string,
  words: NestedWords,
): Promise<Nested> {
  const common = { label, path: path.resolve(repository.root, label), repository: null };
  try {
    const real = await resolveInReal(repository.root, label);
    return { ...common, repository: await workspace.openReal(real) };
  } catch (error) {
    const { code, message } = asToolError(error);
    if (code === "cancelled") throw error;
    if (code === "internal_error") log("error", message);
    if (code === "path_escapes_repository") return { ...common, problem: words.escapes, kind: "escapes" };
    if (code === "not_a_git_repository") return { ...common, problem: words.none, kind: "none" };
    return { ...common, problem: message, kind: "other" };
  }
}
