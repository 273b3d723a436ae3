/** What every session operation works with: one repository, its sessions, and the lock between writers. */
import type { Repositories, Repository } from "../git/repository.ts";
import type { GitRunner } from "../git/runner.ts";
import { listWorktrees } from "../git/worktrees.ts";
import type { SessionStore } from "./store.ts";

/** The surroundings of session operations on one repository. */
export interface SessionScope {
  git: GitRunner;
  repositories: Repositories;
  /** The main working tree, or the bare repository itself. */
  main: Repository;
  store: SessionStore;
  /** The operator's choice of base branch; without it the repository is asked. */
  base?: string;
  /** Leave everything as it is: no recovery, no status written back, no helper objects. */
  readOnly: boolean;
}

/**
 * The repository whose `.worktrees` holds the sessions: the main working tree, also when `directory` lies in
 * a linked one, so that a session started from inside a session does not live and die with it.
 */
export async function mainRepository(
  git: GitRunner,
  repositories: Repositories,
  directory: string,
  signal?: AbortSignal,
): Promise<Repository> {
  const repository = await repositories.open(directory, signal);
  if (repository.ownDir === repository.commonDir) return repository;
  const [main] = await listWorktrees(git, repository, signal);
  return await repositories.open(main.path, signal);
}
