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
  mayTouch(directory: string): Promise<boolean>;
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
  #detachedBackup: string | undefined;

  constructor(scope: ChangeScope, destination: Destination) {
    this.#scope = scope;
    this.#destination = destination;
  }

  /** Full names of the refs that keep the old tips. */
  get backupRefs(): string[] {
    const kept = this.#moves.flatMap(({ backup }) => backup ?? []);
    return this.#detachedBackup ? [...kept, this.#detachedBackup] : kept;
  }

  /** The worktree that has a hold on a branch; null when none has. */
  worktreeOf(branch: string): string | null {
    return this.#destination.uses.get(branch)?.place ?? null;
  }

  /**
   * Whether a branch may be moved where it stands: nobody has changes there, nothing is under way, and it lies
   * where the server may write.
   */
  async mayMove(branch: string, tip: string): Promise<boolean> {
    const use = this.#destination.uses.get(branch);
    if (use === undefined) return true;
    const { git, tree, mayTouch, options } = this.#scope;
    if (!use.checkedOut || (use.place !== tree.root && !await mayTouch(use.place))) return false;
    const there = await this.#open(use.place).catch(() => null);
    if (there === null || await operationUnderWay(there) !== null) return false;
    const status = await readStatus(git, there, options);
    return status.entries.length === 0 && status.head === tip && status.branch === branch;
  }

  /**
   * Keeps the old tip of a branch under a backup ref and moves the branch, if it is still where it was.
   *
   * @param forward The old tip is an ancestor of the new one.
   * @throws {ToolError} What git throws when files are in the way; the branch has not moved then.
   */
  async move(branch: string, from: string, to: string, why: string, forward: boolean): Promise<void> {
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
      await this.#set(move, why, forward);
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
        await this.#set({ branch, from: to, to: from }, "undo", false);
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
    const { branch, current, detachedAt } = this.#destination;
    if (tree.bare || branch === current) return;
    const within: GitOptions = { ...options, signal: undefined, write: true };
    try {
      if (detachedAt !== null) {
        this.#detachedBackup = `${backupPrefix("detached")}/tip`;
        await createRefs(git, tree, new Map([[this.#detachedBackup, detachedAt]]), within);
      }
      const args = ["checkout", "--quiet", "--no-guess", "--no-overwrite-ignore", branch, "--"];
      await git.exec(tree, args, within);
    } catch (error) {
      await this.undo();
      if (this.#detachedBackup) await this.#dropRef(this.#detachedBackup, detachedAt!);
      const detail = messageOf(error);
      throw new ToolError("checkout_failed", `'${tree.root}' could not be put on '${branch}': ${detail}`, {
        details: { ref: branch, detail },
        cause: error,
      });
    }
  }

  async #set({ branch, from, to }: Move, why: string, forward: boolean): Promise<void> {
    const { git, tree, options } = this.#scope;
    const use = this.#destination.uses.get(branch);
    // Past this point a cancelled call must not leave a half-moved working tree.
    const within: GitOptions = {
      ...options,
      signal: undefined,
      write: true,
      env: { ...options.env, GIT_REFLOG_ACTION: why },
    };
    const moveRef = () =>
      git.exec(tree, ["update-ref", "--no-deref", "-m", why, `refs/heads/${branch}`, to, from], within);
    if (use === undefined) {
      await moveRef();
      return;
    }
    const there = await this.#open(use.place);
    const status = await readStatus(git, there, { ...options, signal: undefined });
    if (status.branch !== branch || status.head !== from) {
      throw new ToolError("git_failed", `somebody else has moved '${use.place}' or its branch meanwhile`);
    }
    if (forward) {
      await fastForward(git, there, to, within);
      return;
    }
    // Index and files first: git refuses when anything is in the way, ignored files among it.
    await git.exec(there, ["update-index", "-q", "--refresh"], { ...within, okCodes: [1] });
    await git.exec(there, ["read-tree", "-m", "-u", from, to], within);
    try {
      await moveRef();
    } catch (error) {
      await git.exec(there, ["read-tree", "-m", "-u", to, from], within);
      throw error;
    }
  }

  async #dropBackup({ backup, from }: Move): Promise<void> {
    if (backup !== undefined) await this.#dropRef(backup, from);
  }

  async #dropRef(ref: string, oid: string): Promise<void> {
    const { git, tree, options } = this.#scope;
    const args = ["update-ref", "-d", ref, oid];
    await git.exec(tree, args, { ...options, signal: undefined, write: true }).catch((error) => {
      log("warn", `backup ref '${ref}' was left: ${messageOf(error)}`);
    });
  }

  #open(place: string): Promise<Repository> {
    const { repositories, tree, options } = this.#scope;
    if (path.resolve(place) === tree.root) return Promise.resolve(tree);
    return repositories.open(place, options.signal);
  }
}

/** Git itself checks that HEAD has not moved; a refusal leaves no trace, not even in ORIG_HEAD. */
async function fastForward(git: GitRunner, tree: Repository, to: string, options: GitOptions): Promise<void> {
  const file = path.join(tree.ownDir, "ORIG_HEAD");
  const before = await Deno.readTextFile(file).catch(() => null);
  try {
    const quiet = ["--quiet", "--no-stat", "--no-autostash", "--no-overwrite-ignore"];
    await git.exec(tree, ["merge", "--ff-only", ...quiet, to], options);
  } catch (error) {
    if (before === null) await Deno.remove(file).catch(() => {});
    else await Deno.writeTextFile(file, before).catch(() => {});
    throw error;
  }
}
