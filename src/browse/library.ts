/** Everything that is served for browsing: the repositories by name, and the view of each. */
import * as path from "node:path";
import { asToolError, ToolError } from "../errors.ts";
import type { Repository } from "../git/repository.ts";
import type { GitRunner } from "../git/runner.ts";
import { realPathOf } from "../platform/jail.ts";
import { findRepositories, nameDirectories, pick, type Served } from "./catalogue.ts";
import { View } from "./view.ts";

/** What a call may look at; see the workspace. */
export interface Reach {
  /** The directories that a call may choose from. */
  list(): Promise<readonly string[]>;
  open(directory: string): Promise<Repository>;
  openReal(real: string): Promise<Repository>;
}

/** Codes that say that a repository is there and may not be looked at. */
const REFUSALS = new Set(["root_not_allowed", "unsafe_repo_config", "unsafe_repo_owner"]);

/** The served repositories; one per server. */
export class Library {
  readonly #git: GitRunner;
  readonly #directory: string | undefined;
  #views = new Map<string, View>();

  /** @param directory `-repos`, absolute; without it the roots of each call are served. */
  constructor(git: GitRunner, directory: string | undefined) {
    this.#git = git;
    this.#directory = directory;
  }

  /** The served repositories in the order of their names, looked up anew. */
  async list(reach: Reach): Promise<Served[]> {
    if (this.#directory !== undefined) return findRepositories(await realPathOf(this.#directory));
    const roots = await Promise.all((await reach.list()).map(async (root) => {
      try {
        return [(await reach.open(root)).root];
      } catch (error) {
        if (asToolError(error).code === "cancelled") throw error;
        return REFUSALS.has(asToolError(error).code) ? [path.resolve(root)] : [];
      }
    }));
    return nameDirectories(roots.flat());
  }

  /**
   * The repositories of these names, in their order, each once; without names all of them.
   *
   * @throws {ToolError} `NOT_FOUND` that speaks of every name that is wrong.
   */
  async choose(reach: Reach, names: readonly string[] | undefined): Promise<Served[]> {
    const all = await this.list(reach);
    if (!names || names.length === 0) return all;
    const wrong: string[] = [];
    const chosen = new Set<Served>();
    for (const name of names) {
      try {
        chosen.add(pick(all, name));
      } catch (error) {
        wrong.push(asToolError(error).message);
      }
    }
    if (wrong.length > 0) throw new ToolError("NOT_FOUND", wrong.join(" "));
    return [...chosen];
  }

  /**
   * The view of a served repository.
   *
   * @throws {ToolError} `ACCESS_DENIED` when its config or its place forbid it.
   */
  async view(reach: Reach, served: Served): Promise<View> {
    const repository = await this.#open(reach, served);
    const known = this.#views.get(repository.ownDir);
    if (known && known.repository.root === repository.root) return known;
    known?.close();
    const view = new View(this.#git, repository);
    this.#views.set(repository.ownDir, view);
    return view;
  }

  /** {@linkcode view} by name. */
  async viewOf(reach: Reach, name: string): Promise<View> {
    return await this.view(reach, pick(await this.list(reach), name));
  }

  /** Ends every git that was started for reading. */
  close(): void {
    for (const view of this.#views.values()) view.close();
    this.#views.clear();
  }

  async #open(reach: Reach, { name, directory }: Served): Promise<Repository> {
    try {
      return await reach.openReal(directory);
    } catch (error) {
      const { code, message, next } = asToolError(error);
      if (!REFUSALS.has(code)) throw error;
      throw new ToolError("ACCESS_DENIED", `Repository '${name}' may not be read: ${message}`, {
        next,
        cause: error,
      });
    }
  }
}
