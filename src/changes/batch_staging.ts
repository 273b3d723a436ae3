/**
 * Staging exactly what an entry of a batch lists, in a private index: no directory, no file that git would pass
 * over, nothing that the user has staged.
 */
import * as path from "node:path";
import { type ErrorCode, ToolError } from "../errors.ts";
import { GITLINK, type IndexEntry, listIndex } from "../git/index_entries.ts";
import type { LineRange } from "../git/line_selection.ts";
import { operationUnderWay } from "../git/operation.ts";
import type { Repositories, Repository } from "../git/repository.ts";
import { bytesOf, type GitOptions, type GitRunner } from "../git/runner.ts";
import { stageLines } from "../git/stage_lines.ts";
import { checkEntryPath, lstatOrNull } from "../platform/jail.ts";

/** A file to commit, whole or some of its lines. */
export interface BatchFile {
  /** Relative to the top of the working tree. */
  path: string;
  lines?: LineRange;
}

/** What the calls of a batch share. */
export interface BatchScope {
  git: GitRunner;
  repositories: Repositories;
  tree: Repository;
  /** Run the hooks of the repository. */
  hooks: boolean;
  options: GitOptions;
}

/** Why an entry failed. */
export type EntryError = "path_escapes_repository" | "stage_failed" | "commit_failed";

/** A failure of one entry, which ends the batch but is an answer. */
export class EntryFailure extends Error {
  readonly code: EntryError;

  constructor(code: EntryError, detail: string) {
    super(detail);
    this.code = code;
  }
}

/** What git said as a failure of an entry; anything that ends the call stays as it is. */
export function asFailure(code: EntryError, error: unknown): unknown {
  if (!(error instanceof ToolError)) return error;
  const passed: readonly ErrorCode[] = ["cancelled", "git_not_found", "git_too_old"];
  if (passed.includes(error.code)) return error;
  const words = typeof error.details.stderr === "string" ? error.details.stderr : error.message;
  return new EntryFailure(code, words);
}

/** Names in one argument list of a git command. */
const NAMES_AT_ONCE = 500;

/** Stages the entries of one batch. */
export class Staging {
  readonly #scope: BatchScope;
  readonly #within: GitOptions;
  /** What the user had staged, by path. */
  #staged = new Set<string>();
  /** Entries of the index that are no plain file that git looks at. */
  readonly #unusual = new Map<string, IndexEntry>();

  /** @param within Options that name the private index. */
  constructor(scope: BatchScope, within: GitOptions) {
    this.#scope = scope;
    this.#within = within;
  }

  /**
   * Gives the private index the state of `base` where the user has staged something else.
   *
   * @param unborn There is no commit yet, and `base` is the empty tree.
   * @returns Whether the user had something staged.
   * @throws {EntryFailure} In the middle of a merge or its like, and with conflicts in the index.
   */
  async setAside(base: string, unborn: boolean): Promise<boolean> {
    const { git, tree } = this.#scope;
    const operation = await operationUnderWay(tree);
    if (operation !== null && operation !== "rebase") {
      const name = operation.replace("_", "-");
      const detail = `a ${name} is under way, which a commit of some files would break: ` +
        `finish it with 'git ${name} --continue' or 'git ${name} --abort'`;
      throw new EntryFailure("commit_failed", detail);
    }
    const args = [
      "diff-index",
      "--cached",
      "--raw",
      "-z",
      "--no-renames",
      "--ignore-submodules=dirty",
      base,
      "--",
    ];
    const [listing, unusual] = await Promise.all([
      git.exec(tree, args, { ...this.#within, latin1: true }),
      listIndex(git, tree, this.#within),
    ]);
    const records = listing.stdout.split("\0");
    const staged = records.filter((_, at) => at % 2 === 1);
    if (records.some((record, at) => at % 2 === 0 && record.endsWith(" U"))) {
      throw new EntryFailure("commit_failed", `unmerged paths: ${staged.join(", ")}`);
    }
    for (const entry of unusual) this.#unusual.set(entry.path, entry);
    this.#staged = new Set(staged.map((path) => new TextDecoder().decode(bytesOf(path))));
    if (staged.length === 0) return false;
    // Names are bytes to git, and not always UTF-8.
    const stdin = bytesOf(staged.map((path) => `${path}\0`).join(""));
    const paths = ["--pathspec-from-file=-", "--pathspec-file-nul"];
    const command = unborn ? ["rm", "--cached", "--force", "--quiet"] : ["reset", "--quiet"];
    await git.exec(tree, [...command, ...paths], { ...this.#within, stdin, okCodes: [1] });
    return true;
  }

  /**
   * Stages files.
   *
   * @throws {EntryFailure}
   */
  async stage(files: readonly BatchFile[]): Promise<void> {
    const { git, tree } = this.#scope;
    await this.#checkPaths(files);
    const whole = files.filter(({ lines }) => lines === undefined).map(({ path }) => path);
    const ranges = Map.groupBy(files.filter(({ lines }) => lines), ({ path }) => path);
    this.#refuseUnwatched(files.map(({ path }) => path));
    await this.#refuseDirectories([...ranges.keys()], false);
    const replaced = await this.#refuseDirectories(whole, true);
    const added = whole.filter((path) => !replaced.includes(path));
    const mixed = [...ranges.keys()].find((path) => this.#staged.has(path));
    if (mixed !== undefined) {
      throw new EntryFailure(
        "stage_failed",
        `${mixed}: something of it is staged already; commit that first`,
      );
    }
    const list = (paths: readonly string[]) => paths.map((path) => `${path}\0`).join("");
    try {
      if (replaced.length > 0) {
        const args = ["update-index", "--force-remove", "-z", "--stdin"];
        await git.exec(tree, args, { ...this.#within, stdin: list(replaced) });
      }
      if (added.length > 0) {
        const args = ["add", "--pathspec-from-file=-", "--pathspec-file-nul"];
        await git.exec(tree, args, { ...this.#within, stdin: list(added) });
      }
      for (const [path, parts] of ranges) {
        await stageLines(git, tree, path, parts.map(({ lines }) => lines!), this.#within);
      }
    } catch (error) {
      throw asFailure("stage_failed", error);
    }
  }

  /** Git passes over files that it was told not to look at, and says nothing. */
  #refuseUnwatched(paths: readonly string[]): void {
    const marked = paths.filter((file) => this.#unusual.get(normal(file))?.unwatched);
    if (marked.length === 0) return;
    const why = "marked assume-unchanged or skip-worktree; 'git update-index --no-assume-unchanged' or " +
      "'--no-skip-worktree' takes the mark off";
    throw new EntryFailure("stage_failed", `${marked.join(", ")}: ${why}`);
  }

  /**
   * A directory would take in files that the entry does not list. A submodule is one entry of the index; its
   * config is judged before git looks into it.
   *
   * @returns Files of the index in whose place a directory stands now: their deletion can be listed.
   */
  async #refuseDirectories(paths: readonly string[], links: boolean): Promise<string[]> {
    const { tree, repositories, options } = this.#scope;
    const infos = await Promise.all(paths.map((file) => lstatOrNull(path.join(tree.root, file))));
    const unclear = paths.filter((_, at) => infos[at] === null || infos[at].isDirectory);
    if (unclear.length === 0) return [];
    const known = await this.#indexed(unclear.map(normal));
    const replaced: string[] = [];
    for (const file of unclear) {
      const name = normal(file);
      const isDirectory = infos[paths.indexOf(file)]?.isDirectory ?? false;
      const isLink = this.#unusual.get(name)?.mode === GITLINK;
      if (isLink && links) {
        if (isDirectory) await repositories.open(path.join(tree.root, file), options.signal);
      } else if (known.exact.has(name)) {
        if (isDirectory) replaced.push(file);
      } else if (isDirectory || known.above.has(name)) {
        throw new EntryFailure("stage_failed", `${file}: a directory; list its files one by one`);
      }
    }
    return replaced;
  }

  /** Which names stand in the index, and which are directories of names in it. */
  async #indexed(names: readonly string[]): Promise<{ exact: Set<string>; above: Set<string> }> {
    const { git, tree } = this.#scope;
    const found: string[] = [];
    for (let at = 0; at < names.length; at += NAMES_AT_ONCE) {
      const args = ["ls-files", "-z", "--", ...names.slice(at, at + NAMES_AT_ONCE)];
      found.push(...(await git.exec(tree, args, this.#within)).stdout.split("\0"));
    }
    const above = names.filter((name) => found.some((path) => path.startsWith(`${name}/`)));
    return { exact: new Set(found), above: new Set(above) };
  }

  async #checkPaths(files: readonly BatchFile[]): Promise<void> {
    const outside: string[] = [];
    for (const { path } of files) {
      await checkEntryPath(this.#scope.tree.root, path).catch(() => outside.push(path));
    }
    if (outside.length > 0) throw new EntryFailure("path_escapes_repository", outside.join(", "));
  }
}

/** A path as the index has it. */
function normal(file: string): string {
  return path.posix.normalize(file).replace(/\/$/, "");
}
