/**
 * Moving branches to commits that are made already, wherever they are checked out, so that all of it can be
 * taken back. Nothing here merges: whatever could conflict has been settled as objects before.
 */
import * as path from "node:path";
import { messageOf, ToolError } from "../errors.ts";
import { backupPrefix, createRefs } from "../git/backup_refs.ts";
import { operationUnderWay } from "../git/operation.ts";
import type { Repositories, Repository } from "../git/repository.ts";
import type { GitOptions, GitRunner } from "../git/runner.ts";
import { readStatus } from "../git/status.ts";
import { log } from "../platform/log.ts";
import type { Destination } from "./destination.ts";

/** What a change works with. */
export interface ChangeScope {
  git: GitRunner;
  repositories: Repositories;
  /** The working tree that the call is for. */
  tree: Repository;
  /** Whether a directory lies where the server may write. */
  mayTouch(directory: string): boolean;
  options: GitOptions;
}

interface Move {
  branch: string;
  from: string;
  to: string;
  /** The backup that was made for it; a later move of the same branch needs none. */
  backup?: string;
}

/** Lands branches one by one and remembers the way back. */
export class Landing {
  readonly #scope: ChangeScope;
  readonly #destination: Destination;
  readonly #moves: Move[] = [];

  constructor(scope: ChangeScope, destination: Destination) {
    this.#scope = scope;
    this.#destination = destination;
  }

  /** Full names of the refs that keep the old tips. */
  get backupRefs(): string[] {
    return this.#moves.flatMap(({ backup }) => backup ?? []);
  }

  /** The worktree that has a branch checked out; null when none has. */
  worktreeOf(branch: string): string | null {
    const { worktrees } = this.#destination;
    return worktrees.find((one) => one.branch === `refs/heads/${branch}` && !one.bare)?.path ?? null;
  }

  /**
   * Whether a branch that stands in some worktree may be moved there: nobody has changes in it, nothing is
   * under way, and it lies where the server may write.
   */
  async mayMove(branch: string, tip: string): Promise<boolean> {
    const place = this.worktreeOf(branch);
    if (place === null) return true;
    const { git, tree, mayTouch, options } = this.#scope;
    if (place !== tree.root && !mayTouch(place)) return false;
    const there = await this.#open(place).catch(() => null);
    if (there === null || await operationUnderWay(there) !== null) return false;
    const status = await readStatus(git, there, options);
    return status.entries.length === 0 && status.head === tip && status.branch === branch;
  }

  /**
   * Keeps the old tip of a branch under a backup ref and moves the branch.
   *
   * @throws {ToolError} What git throws when files are in the way; the branch has not moved then.
   */
  async move(branch: string, from: string, to: string, why: string): Promise<void> {
    if (from === to) return;
    const move: Move = { branch, from, to };
    if (!this.#moves.some((other) => other.branch === branch)) {
      move.backup = `${backupPrefix(branch)}/tip`;
      await createRefs(
        this.#scope.git,
        this.#scope.tree,
        new Map([[move.backup, from]]),
        this.#scope.options,
      );
    }
    try {
      await this.#set(move, why);
      this.#moves.push(move);
    } catch (error) {
      await this.#dropBackup(move);
      throw error;
    }
  }

  /** How many moves were made: a mark to go back to. */
  get mark(): number {
    return this.#moves.length;
  }

  /** Takes back what was moved since the mark, the last first. */
  async undo(mark = 0): Promise<void> {
    for (const move of this.#moves.splice(mark).reverse()) {
      const { branch, from, to } = move;
      try {
        await this.#set({ branch, from: to, to: from }, "undo");
        await this.#dropBackup(move);
      } catch (error) {
        log("error", `branch '${branch}' could not be set back to ${from}: ${messageOf(error)}`);
      }
    }
  }

  /**
   * Puts the working tree on the destination when it is not there yet.
   *
   * @throws {ToolError} `checkout_failed`, after taking everything back.
   */
  async finish(): Promise<void> {
    const { git, tree, options } = this.#scope;
    const { branch, current } = this.#destination;
    if (tree.bare || branch === current) return;
    try {
      const args = ["checkout", "--quiet", "--no-guess", "--no-overwrite-ignore", branch, "--"];
      await git.exec(tree, args, { ...options, write: true });
    } catch (error) {
      await this.undo();
      const detail = messageOf(error);
      throw new ToolError("checkout_failed", `'${tree.root}' could not be put on '${branch}': ${detail}`, {
        details: { ref: branch, detail },
        cause: error,
      });
    }
  }

  async #set({ branch, from, to }: Move, why: string): Promise<void> {
    const { git, tree, options } = this.#scope;
    const place = this.worktreeOf(branch);
    // Past this point a cancelled call must not leave a half-moved working tree.
    const within: GitOptions = {
      ...options,
      signal: undefined,
      write: true,
      env: { ...options.env, GIT_REFLOG_ACTION: why },
    };
    if (place === null) {
      const args = ["update-ref", "-m", why, `refs/heads/${branch}`, to, from];
      await git.exec(tree, args, within);
      return;
    }
    const there = place === tree.root ? tree : await this.#open(place);
    // One step moves branch, index and files, or none of them.
    const args = ["checkout", "--quiet", "--no-track", "--no-overwrite-ignore", "-B", branch, to, "--"];
    await git.exec(there, args, within);
  }

  async #dropBackup({ backup, from }: Move): Promise<void> {
    if (backup === undefined) return;
    const { git, tree, options } = this.#scope;
    const args = ["update-ref", "-d", backup, from];
    await git.exec(tree, args, { ...options, signal: undefined, write: true }).catch((error) => {
      log("warn", `backup ref '${backup}' was left: ${messageOf(error)}`);
    });
  }

  #open(place: string): Promise<Repository> {
    const { repositories, tree, options } = this.#scope;
    if (path.resolve(place) === tree.root) return Promise.resolve(tree);
    return repositories.open(place, options.signal);
  }
}
