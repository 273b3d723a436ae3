/**
 * An index of our own beside the user's: commits are made from it, so that what the user has staged is in none
 * of them and a failure leaves no trace. See gitformat-index(5) and GIT_INDEX_FILE in git(1).
 */
import { join } from "node:path";
import { messageOf, ToolError } from "../errors.ts";
import { copyIndex, withIndexCopy } from "./index_copy.ts";
import type { Repository } from "./repository.ts";
import { bytesOf, type GitOptions, type GitRunner } from "./runner.ts";
import { waitForIndex } from "./write_lock.ts";

/** A copy of a working tree's index. */
export class PrivateIndex {
  readonly file: string;
  /** Makes git use the copy. */
  readonly env: Record<string, string>;
  #git: GitRunner;
  #tree: Repository;
  /** The user's index as it was when the copy stood for all of it; null once others have changed it. */
  #basis: string | null;
  /** The user's index as this class last left or saw it. */
  #seen: string;

  private constructor(git: GitRunner, tree: Repository, file: string, stamp: string) {
    this.#git = git;
    this.#tree = tree;
    this.#basis = this.#seen = stamp;
    this.file = file;
    this.env = { GIT_INDEX_FILE: file };
  }

  /** Runs `work` with a copy, which is deleted afterwards. */
  static async use<T>(
    git: GitRunner,
    tree: Repository,
    work: (index: PrivateIndex) => Promise<T>,
  ): Promise<T> {
    // Looked at before it is copied, so that a change in between is noticed.
    const stamp = stampOf(indexOf(tree));
    return await withIndexCopy(tree, (file) => work(new PrivateIndex(git, tree, file, stamp)));
  }

  /**
   * Brings the user's index to what the copy holds. The copy takes its place when it holds all that is staged
   * (`whole`) and nobody has touched the index meanwhile; else only the paths are set in which the copy differs
   * from `base`, the tree or commit that it was made from.
   *
   * @throws {ToolError} `repo_locked` when another git keeps the index locked.
   */
  async publish(base: string, whole: boolean, options: GitOptions): Promise<void> {
    await waitForIndex(this.#tree, options.signal);
    if (whole && this.#basis !== null && this.#replaceBy(this.file, this.#basis)) {
      this.#basis = this.#seen;
      return;
    }
    // From now on there is more in it than the copy knows of.
    this.#basis = null;
    const args = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", base, "--"];
    // Names are bytes to git, and not always UTF-8.
    const within = { ...options, latin1: true, env: { ...options.env, ...this.env } };
    const info = cacheInfo((await this.#git.exec(this.#tree, args, within)).stdout);
    if (info === "") return;
    const write = { ...options, write: true, stdin: bytesOf(info) };
    await this.#git.exec(this.#tree, ["update-index", "-z", "--index-info"], write);
    this.#seen = stampOf(indexOf(this.#tree));
  }

  /** Remembers the user's index, for {@linkcode restore}. */
  save(): void {
    this.#seen = stampOf(indexOf(this.#tree));
    if (this.#seen === "") removeIfThere(this.#saved);
    else copyIndex(indexOf(this.#tree), this.#saved);
  }

  /** Puts the remembered index back, byte for byte, unless somebody else has changed it since. */
  async restore(): Promise<void> {
    await waitForIndex(this.#tree);
    const index = indexOf(this.#tree);
    if (stampOf(this.#saved) !== "") this.#replaceBy(this.#saved, this.#seen);
    else if (stampOf(index) === this.#seen) removeIfThere(index);
  }

  get #saved(): string {
    return `${this.file}.saved`;
  }

  /**
   * Puts a copy of a file in place of the index, through git's own lock file.
   *
   * @param expected What the index has to look like.
   * @returns False when it does not, or when somebody holds that lock.
   */
  #replaceBy(file: string, expected: string): boolean {
    const index = indexOf(this.#tree);
    const lock = `${index}.lock`;
    const ready = `${this.file}.ready`;
    copyIndex(file, ready);
    try {
      // A link is made at once or not at all: nobody finds half a lock, and a kill leaves none for long.
      Deno.linkSync(ready, lock);
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) return false;
      throw new ToolError("repo_not_writable", `'${lock}' cannot be made: ${messageOf(error)}`);
    } finally {
      removeIfThere(ready);
    }
    let held = true;
    try {
      if (stampOf(index) !== expected) return false;
      Deno.renameSync(lock, index);
      held = false;
      this.#seen = stampOf(index);
      return true;
    } finally {
      if (held) removeIfThere(lock);
    }
  }
}

function indexOf(tree: Repository): string {
  return join(tree.ownDir, "index");
}

function stampOf(file: string): string {
  try {
    const info = Deno.lstatSync(file);
    return `${info.ino}:${info.size}:${info.mtime?.getTime()}:${info.ctime?.getTime()}`;
  } catch {
    return "";
  }
}

function removeIfThere(file: string): void {
  try {
    Deno.removeSync(file);
  } catch { /* it is not */ }
}

/** Records of `diff-index --raw -z` as `update-index --index-info` takes them. */
function cacheInfo(raw: string): string {
  const fields = raw.split("\0");
  let text = "";
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode, , oid] = fields[at].split(" ");
    text += `${mode} ${oid}\t${fields[at + 1]}\0`;
  }
  return text;
}
