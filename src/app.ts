/** The application: everything that lives as long as the server, built once and handed to every tool. */
import { join } from "node:path";
import { Library } from "./browse/library.ts";
import { exclude, patternsFor } from "./git/exclude.ts";
import { Repositories } from "./git/repository.ts";
import { type GitObserver, GitRunner } from "./git/runner.ts";
import { messageOf } from "./errors.ts";
import { log } from "./platform/log.ts";
import { endAllChildren } from "./platform/process.ts";
import { recover } from "./sessions/recover.ts";
import { mainRepository, type SessionScope } from "./sessions/scope.ts";
import { worktreeOf } from "./sessions/list.ts";
import type { SearchEngine } from "./search/engine.ts";
import { Background, INDEX_FILE } from "./search/index/background.ts";
import { SessionStore } from "./sessions/store.ts";
import { Workspace } from "./workspace/workspace.ts";

const RECOVERY_WAIT_MS = 1_000;

/** What the operator decided at start. */
export interface AppConfig {
  /** `-repo`, or the current directory; absolute. */
  repo: string;
  /** Whether `-repo` was given: without it the client's roots come first. */
  repoGiven: boolean;
  /** Directory of the session database, absolute. */
  database: string;
  base?: string;
  /** `-repos`: directory whose repositories are served for browsing, absolute. */
  repos?: string;
  /** URL of the program's own module, which the worker that indexes is started from. */
  program?: string;
  /** Further allowed roots, absolute. */
  roots: readonly string[];
  readOnly: boolean;
  trustRepoConfig: boolean;
  /** Run the hooks of the repository on commit and push. */
  hooks: boolean;
  /** Push to repositories of this machine. */
  allowFileRemotes: boolean;
  /** Write files that agents' clients start programs from. */
  allowAgentConfig: boolean;
}

/** What a call brings along for finding its roots. */
export interface WorkspaceCall {
  signal: AbortSignal;
  /** Directories of the client's roots. */
  clientRoots(): Promise<readonly string[]>;
}

/** The long-lived parts, opened when first needed so that starting costs nothing. */
export class App {
  readonly config: AppConfig;
  readonly git: GitRunner;
  readonly repositories: Repositories;
  readonly library: Library;
  readonly #places: readonly string[];
  #search: SearchEngine | undefined;
  #store: Promise<SessionStore> | undefined;
  /** By common git directory. */
  #recovered = new Map<string, Promise<void>>();

  /** @param env The server's environment; git children get the allowed part of it. */
  constructor(config: AppConfig, env: Record<string, string>, observer?: GitObserver) {
    this.config = config;
    const places = [config.repo, ...config.roots, ...(config.repos === undefined ? [] : [config.repos])];
    this.git = new GitRunner(env, places, observer);
    this.library = new Library(this.git, config.repos);
    this.#places = places;
    this.repositories = new Repositories(this.git, config.trustRepoConfig);
  }

  /** Where one call may act, and which roots it means. */
  workspace({ signal, clientRoots }: WorkspaceCall): Workspace {
    const { git, repositories } = this;
    const workspace: Workspace = new Workspace(this.config, {
      git,
      repositories,
      clientRoots,
      sessionWorktree: async (id) => await worktreeOf(await this.sessions(workspace), id, signal),
    }, signal);
    return workspace;
  }

  /**
   * The sessions of the repository: that of `-repo`, else of the call's first root. The first call of a
   * server's life repairs what killed processes left.
   *
   * @throws {ToolError} What opening the repository and the database throws; the next call tries again.
   */
  async sessions(workspace?: Workspace): Promise<SessionScope> {
    const { config, git, repositories } = this;
    const directory = config.repoGiven || !workspace ? config.repo : (await workspace.list())[0];
    const main = await mainRepository(git, repositories, directory);
    const scope: SessionScope = {
      git,
      repositories,
      main,
      store: await this.#openStore(),
      base: config.base,
      readOnly: config.readOnly,
    };
    if (!config.readOnly) {
      const recovered = this.#recovered.get(main.commonDir) ?? this.#recover(scope);
      this.#recovered.set(main.commonDir, recovered);
      await recovered;
    }
    return scope;
  }

  /** The search engine. */
  async search(): Promise<SearchEngine> {
    if (this.#search) return this.#search;
    // SQLite and the query language are of no use to most calls.
    const { LocalEngine } = await import("./search/local_engine.ts");
    const { database: directory, program } = this.config;
    if (!this.#search) await this.#hideIndex(directory);
    const background = new Background(directory, this.#places, program);
    return this.#search ??= new LocalEngine({ git: this.git, directory, background });
  }

  /** Ends children and closes the database; a second time it does nothing. The app is of no use afterwards. */
  async close(): Promise<void> {
    this.#search?.close();
    this.#search = undefined;
    this.library.close();
    await endAllChildren();
    const store = this.#store;
    this.#store = undefined;
    (await store?.catch(() => null))?.close();
  }

  /** The index is nobody's work, so it is not to be seen in `git status` either. */
  async #hideIndex(directory: string): Promise<void> {
    if (this.config.readOnly) return;
    try {
      const repository = await this.repositories.open(directory);
      await exclude(repository, await patternsFor(repository, join(directory, INDEX_FILE)));
    } catch (error) {
      // Outside of a repository there is nothing to hide it from.
      log("debug", `the index is not excluded: ${messageOf(error)}`);
    }
  }

  async #openStore(): Promise<SessionStore> {
    this.#store ??= SessionStore.open(this.config.database);
    try {
      return await this.#store;
    } catch (error) {
      this.#store = undefined;
      throw error;
    }
  }

  async #recover(scope: SessionScope): Promise<void> {
    try {
      const { settled, takenUp } = await recover(scope, { waitMs: RECOVERY_WAIT_MS });
      for (const { id, how } of settled) log("warn", `session '${id}': an interrupted change was ${how}`);
      for (const id of takenUp) log("info", `session '${id}' was taken up from git`);
    } catch (error) {
      // Whoever holds the lock will have put things right, and every listing looks again.
      log("warn", `could not look for interrupted work: ${messageOf(error)}`);
    }
  }
}
