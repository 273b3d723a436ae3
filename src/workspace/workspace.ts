/**
 * Where a call acts: the roots it may choose from, the jail around them, and the order in which arguments,
 * presets and the client's own roots decide.
 */
import * as path from "node:path";
import { ToolError } from "../errors.ts";
import type { Repositories, Repository } from "../git/repository.ts";
import type { GitRunner } from "../git/runner.ts";
import { isWithin, realPathOf } from "../platform/jail.ts";
import { mainRepository } from "../sessions/scope.ts";
import { hintMatches, readPresets } from "./presets.ts";

/** How a call names its roots; all of it optional. */
export interface RootChoice {
  workspaceRoot?: string;
  sessionId?: string;
  rootIndex?: number;
  allWorkspaceRoots?: boolean;
  preset?: string;
}

/** What the operator allowed at start. */
export interface WorkspaceConfig {
  /** `-repo`, or the current directory; absolute. */
  repo: string;
  /** Whether `-repo` was given. */
  repoGiven: boolean;
  /** Every `-root`, absolute. */
  roots: readonly string[];
  /** `-repos`: what lies below it may be looked at and worked on, but is no root to choose unasked. */
  repos?: string;
}

/** What resolving needs of its surroundings. */
export interface WorkspaceDeps {
  git: GitRunner;
  repositories: Repositories;
  /** Directories of the client's roots; empty when it has none. */
  clientRoots(): Promise<readonly string[]>;
  /** The worktree of a live session. */
  sessionWorktree(id: string): Promise<string>;
}

/** A place where the server may act. */
interface Area {
  /** Real path. */
  directory: string;
  /** Named as a place of work: the whole repository that holds it is meant. */
  wholeRepository: boolean;
}

/** The roots of one call. */
export class Workspace {
  readonly #config: WorkspaceConfig;
  readonly #deps: WorkspaceDeps;
  readonly #signal: AbortSignal;
  readonly #opened = new Map<string, Promise<Repository>>();
  #areas: Promise<string[]> | undefined;
  #list: Promise<string[]> | undefined;

  constructor(config: WorkspaceConfig, deps: WorkspaceDeps, signal: AbortSignal) {
    this.#config = config;
    this.#deps = deps;
    this.#signal = signal;
  }

  /**
   * The directories that a call is for, in order; at least one. The order of precedence is workspaceRoot or
   * sessionId, rootIndex, allWorkspaceRoots, preset, the first root.
   *
   * @throws {ToolError} `root_index_out_of_range`, `root_not_allowed`, `invalid_arguments`, `session_not_found`.
   */
  async roots(choice: RootChoice): Promise<string[]> {
    const named = await this.#named(choice);
    if (named !== null) return [await this.#allowed(named)];
    const list = await this.list();
    if (choice.rootIndex !== undefined) {
      const root = list[choice.rootIndex];
      if (root !== undefined) return [root];
      const details = { rootIndex: choice.rootIndex, rootCount: list.length };
      throw new ToolError("root_index_out_of_range", `there is no root ${choice.rootIndex}`, { details });
    }
    if (choice.allWorkspaceRoots) return list;
    if (choice.preset !== undefined && list.length > 1) return [await this.#forPreset(choice.preset, list)];
    return list.slice(0, 1);
  }

  /** Like {@linkcode roots}, for a call that can only have one. */
  async root(choice: RootChoice): Promise<string> {
    return (await this.roots(choice))[0];
  }

  /**
   * The repository of a root; it has to lie within the jail as well, and so do its git directories.
   *
   * @throws {ToolError} `root_not_allowed`, and what {@linkcode Repositories.open} throws.
   */
  async open(root: string): Promise<Repository> {
    return await this.#fenced(root, await this.#repositoryAt(root));
  }

  /** {@linkcode open} for a path that is real already. */
  async openReal(real: string): Promise<Repository> {
    return await this.#fenced(real, await this.#deps.repositories.openReal(real, this.#signal));
  }

  async #fenced(root: string, repository: Repository): Promise<Repository> {
    const areas = await this.#allAreas();
    const outside = [repository.root, repository.commonDir].find((place) => !within(areas, place));
    if (outside === undefined) return repository;
    const message = `the repository of '${root}' has its files in '${outside}', outside of the allowed roots`;
    throw new ToolError("root_not_allowed", message, { details: { root, repository: outside } });
  }

  /** Whether a directory lies where the server may act. */
  async mayTouch(directory: string): Promise<boolean> {
    return within(await this.#allAreas(), directory);
  }

  /** All roots to choose from: the client's own that are allowed, else the operator's. */
  list(): Promise<string[]> {
    return this.#list ??= this.#listRoots();
  }

  async #listRoots(): Promise<string[]> {
    const { repo, repoGiven, roots, repos } = this.#config;
    const areas = await this.#allAreas();
    const fromClient: string[] = [];
    for (const root of await this.#deps.clientRoots()) {
      const real = await realPathOf(root);
      if (within(areas, real) && !fromClient.includes(root)) fromClient.push(root);
    }
    if (fromClient.length > 0) return fromClient;
    if (repoGiven || (roots.length === 0 && repos === undefined)) return [...new Set([repo, ...roots])];
    return roots.length > 0 ? [...new Set(roots)] : [repos!];
  }

  async #named({ workspaceRoot, sessionId }: RootChoice): Promise<string | null> {
    const given = workspaceRoot?.trim() || undefined;
    const explicit = given === undefined ? null : path.resolve(this.#config.repo, given);
    if (sessionId === undefined) return explicit;
    const worktree = await this.#deps.sessionWorktree(sessionId);
    if (explicit !== null && await realPathOf(explicit) !== await realPathOf(worktree)) {
      throw new ToolError(
        "invalid_arguments",
        `workspaceRoot '${given}' is not the worktree of session '${sessionId}' ('${worktree}')`,
        { next: "Give one of workspaceRoot and sessionId." },
      );
    }
    return worktree;
  }

  async #allowed(root: string): Promise<string> {
    const areas = await this.#allAreas();
    if (within(areas, await realPathOf(root))) return root;
    const shown = areas.filter((area) => path.basename(area) !== ".git").slice(0, 10);
    throw new ToolError("root_not_allowed", `'${root}' lies outside of the allowed roots`, {
      details: { root, allowedRoots: shown },
    });
  }

  /** The first root whose preset file knows the name and whose hint fits; a broken file is passed over. */
  async #forPreset(name: string, list: readonly string[]): Promise<string> {
    for (const root of list) {
      try {
        const { presets } = await readPresets((await this.open(root)).root);
        if (Object.hasOwn(presets, name) && hintMatches(presets[name].workspaceRootHint, root)) return root;
      } catch (error) {
        if (error instanceof ToolError && error.code === "cancelled") throw error;
      }
    }
    return list[0];
  }

  /** Opening checks that nothing has changed; once a call is enough. */
  #repositoryAt(directory: string): Promise<Repository> {
    const known = this.#opened.get(directory) ??
      this.#deps.repositories.open(directory, this.#signal);
    this.#opened.set(directory, known);
    return known;
  }

  #allAreas(): Promise<string[]> {
    return this.#areas ??= this.#findAreas();
  }

  async #findAreas(): Promise<string[]> {
    const { repo, repoGiven, roots, repos } = this.#config;
    const areas: Area[] = [];
    const add = async (directory: string, wholeRepository: boolean) => {
      areas.push({ directory: await realPathOf(directory), wholeRepository });
    };
    if (repoGiven) await add(repo, true);
    for (const root of roots) await add(root, false);
    if (repos !== undefined) await add(repos, false);
    if (areas.length === 0) {
      for (const root of await this.#deps.clientRoots()) await add(root, true);
    }
    if (areas.length === 0) await add(repo, true);
    const found = await Promise.all(areas.map((area) => this.#placesOf(area)));
    return [...new Set(found.flat())];
  }

  async #placesOf({ directory, wholeRepository }: Area): Promise<string[]> {
    const { git, repositories } = this.#deps;
    try {
      const own = await this.#repositoryAt(directory);
      // A fence around a worktree or a submodule has its git directory elsewhere.
      if (!wholeRepository) return own.root === directory ? [directory, own.commonDir] : [directory];
      const main = own.ownDir === own.commonDir
        ? own
        : await mainRepository(git, repositories, directory, this.#signal);
      return [directory, own.root, own.commonDir, main.root];
    } catch (error) {
      if (error instanceof ToolError && error.code === "cancelled") throw error;
      // No repository, or none that may be opened: then the directory is all there is.
      return [directory];
    }
  }
}

function within(areas: readonly string[], place: string): boolean {
  return areas.some((area) => isWithin(area, place));
}
