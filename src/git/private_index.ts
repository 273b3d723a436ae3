/**
 * An index of our own beside the user's: commits are made from it, so that what the user has staged is in none
 * of them and a failure leaves no trace. See gitformat-index(5) and GIT_INDEX_FILE in git(1).
 */
import { join } from "node:path";
import { messageOf, ToolError } from "../errors.ts";
import { lstatOrNull } from "../platform/jail.ts";
import { log } from "../platform/log.ts";
import { copyIndex } from "./index_copy.ts";
import { emptyTree } from "./refs.ts";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";
import { waitForIndex } from "./write_lock.ts";

/** A copy of a working tree's index. */
export class PrivateIndex {
  readonly file: string;
  /** Makes git use the copy. */
  readonly env: Record<string, string>;
  #git: GitRunner;
  #tree: Repository;
  #stamp: string;

  private constructor(git: GitRunner, tree: Repository, file: string, stamp: string) {
    this.#git = git;
    this.#tree = tree;
    this.#stamp = stamp;
    this.file = file;
    this.env = { GIT_INDEX_FILE: file };
  }

  /** Runs `work` with a copy, which is deleted afterwards. */
  static async use<T>(
    git: GitRunner,
    tree: Repository,
    work: (index: PrivateIndex) => Promise<T>,
  ): Promise<T> {
    const file = join(tree.ownDir, `index-copy-${crypto.randomUUID().slice(0, 8)}`);
    try {
      const stamp = await stampOf(indexOf(tree));
      // A working tree in which nothing was ever staged has no index.
      if (stamp !== "") await copyIndex(indexOf(tree), file);
      return await work(new PrivateIndex(git, tree, file, stamp));
    } finally {
      await Deno.remove(file).catch(() => {});
      await Deno.remove(`${file}.lock`).catch(() => {});
    }
  }

  /**
   * Sets the paths that differ between two commits in the user's index, and leaves everything else in it.
   *
   * @param from The commit that the index was made for; null for none.
   * @throws {ToolError} `repo_locked` when another git keeps the index locked.
   */
  async update(from: string | null, to: string, options: GitOptions): Promise<void> {
    await waitForIndex(this.#tree, options.signal);
    const args = ["diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", from ?? emptyTree(to), to];
    const stdin = cacheInfo((await this.#git.exec(this.#tree, args, options)).stdout);
    if (stdin === "") return;
    const write = { ...options, write: true, stdin };
    await this.#git.exec(this.#tree, ["update-index", "-z", "--index-info"], write);
    this.#stamp = await stampOf(indexOf(this.#tree));
  }

  /**
   * Puts the copy in place of the index, through git's own lock file.
   *
   * @returns False when somebody holds that lock or has changed the index since it was copied.
   */
  async replace(): Promise<boolean> {
    const index = indexOf(this.#tree);
    const lock = `${index}.lock`;
    try {
      (await Deno.open(lock, { write: true, createNew: true })).close();
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) return false;
      throw new ToolError("repo_not_writable", `'${lock}' cannot be made: ${messageOf(error)}`);
    }
    let held = true;
    try {
      if (await stampOf(index) !== this.#stamp) return false;
      await copyIndex(this.file, lock);
      await Deno.rename(lock, index);
      held = false;
      this.#stamp = await stampOf(index);
      return true;
    } catch (error) {
      log("warn", `the index of '${this.#tree.root}' could not be replaced: ${messageOf(error)}`);
      return false;
    } finally {
      if (held) await Deno.remove(lock).catch(() => {});
    }
  }
}

function indexOf(tree: Repository): string {
  return join(tree.ownDir, "index");
}

async function stampOf(file: string): Promise<string> {
  const info = await lstatOrNull(file);
  return info ? `${info.ino}:${info.size}:${info.mtime?.getTime()}:${info.ctime?.getTime()}` : "";
}

/** Records of `diff-tree --raw -z` as `update-index --index-info` takes them. */
function cacheInfo(raw: string): string {
  const fields = raw.split("\0");
  let text = "";
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode, , oid] = fields[at].split(" ");
    text += `${mode} ${oid}\t${fields[at + 1]}\0`;
  }
  return text;
}
