/**
 * Several commits in one call, each of exactly the files it lists. They are made from a private index: what
 * the user has staged is in none of them and stays staged, and an entry that fails leaves no trace.
 */
import * as path from "node:path";
import { type ErrorCode, messageOf, ToolError } from "../errors.ts";
import { hasHooks } from "../git/hooks.ts";
import { GITLINK, type IndexEntry, listIndex } from "../git/index_entries.ts";
import type { LineRange } from "../git/line_selection.ts";
import { operationUnderWay } from "../git/operation.ts";
import { PrivateIndex } from "../git/private_index.ts";
import { resolveCommits } from "../git/refs.ts";
import type { Repositories, Repository } from "../git/repository.ts";
import { bytesOf, type GitOptions, type GitRunner } from "../git/runner.ts";
import { stageLines } from "../git/stage_lines.ts";
import { NUMSTAT, parseNumstat, sumLines } from "../git/numstat.ts";
import { waitForIndex } from "../git/write_lock.ts";
import { checkEntryPath, lstatOrNull } from "../platform/jail.ts";
import { log } from "../platform/log.ts";
import { clipped } from "../platform/text.ts";

/** A file to commit, whole or some of its lines. */
export interface BatchFile {
  /** Relative to the top of the working tree. */
  path: string;
  lines?: LineRange;
}

/** One commit to make. */
export interface BatchEntry {
  message: string;
  files: readonly BatchFile[];
}

/** What became of one entry. */
export interface EntryOutcome {
  ok: boolean;
  /** Abbreviated object name. */
  sha?: string;
  error?: "path_escapes_repository" | "stage_failed" | "commit_failed";
  detail?: string;
  /** Dry run: what the commit would hold. */
  staged?: { files: string[]; additions: number; deletions: number };
}

/** What the calls of this module share. */
export interface BatchScope {
  git: GitRunner;
  repositories: Repositories;
  tree: Repository;
  /** Run the hooks of the repository. */
  hooks: boolean;
  options: GitOptions;
}

const DETAIL = 2_000;

/** The commit at HEAD. */
interface MadeCommit {
  oid: string;
  short: string;
  /** A commit of somebody else that came in before ours. */
  overlooked: string | null;
}

/** A path as the index has it. */
function normal(file: string): string {
  return path.posix.normalize(file).replace(/\/$/, "");
}

/** A failure of one entry, which ends the batch but is an answer. */
class EntryFailure extends Error {
  readonly code: NonNullable<EntryOutcome["error"]>;

  constructor(code: NonNullable<EntryOutcome["error"]>, detail: string) {
    super(detail);
    this.code = code;
  }
}

/**
 * Makes the commits in their order and stops at the first that fails; those before it stay. The caller holds
 * the repository's lock.
 *
 * @param dryRun Stage everything, tell what each commit would hold, and make none.
 * @throws {ToolError} `repo_locked`, `cancelled` before the first commit.
 */
export async function commitBatch(
  scope: BatchScope,
  entries: readonly BatchEntry[],
  dryRun: boolean,
): Promise<EntryOutcome[]> {
  const { git, tree, options } = scope;
  if (!dryRun) await waitForIndex(tree, options.signal);
  return await PrivateIndex.use(git, tree, async (index) => {
    const batch = new Batch(scope, index);
    const outcomes: EntryOutcome[] = [];
    for (const entry of entries) {
      const outcome = await batch.take(entry, dryRun);
      outcomes.push(outcome);
      if (!outcome.ok) break;
    }
    return outcomes;
  });
}

class Batch {
  readonly #scope: BatchScope;
  readonly #index: PrivateIndex;
  readonly #within: GitOptions;
  /** Whether the user had something staged; found out at the first entry. */
  #othersStaged: boolean | undefined;
  /** The commit that the next one is made on, or the empty tree; in a dry run the tree of the last one. */
  #base = "";
  /** HEAD as the next commit is going to find it; null before the first one. */
  #head: string | null = null;
  #made = 0;
  /** Whether hooks may start programs; found out at the first commit. */
  #programs: boolean | undefined;
  /** What the user had staged, by path. */
  #staged = new Set<string>();
  /** Entries of the index that are no plain file that git looks at. */
  readonly #unusual = new Map<string, IndexEntry>();

  constructor(scope: BatchScope, index: PrivateIndex) {
    this.#scope = scope;
    this.#index = index;
    this.#within = { ...scope.options, write: true, env: { ...scope.options.env, ...index.env } };
  }

  async take(entry: BatchEntry, dryRun: boolean): Promise<EntryOutcome> {
    try {
      await this.#checkPaths(entry);
      this.#othersStaged ??= await this.#setAsideStaged();
      await this.#stage(entry);
      return dryRun ? await this.#describe() : { ok: true, sha: await this.#commit(entry) };
    } catch (error) {
      if (error instanceof ToolError && error.code === "cancelled") throw error;
      if (error instanceof EntryFailure) {
        return { ok: false, error: error.code, detail: clipped(error.message, DETAIL) };
      }
      // With commits made before it, a lock is this entry's failure and not the call's.
      if (error instanceof ToolError && error.code === "repo_locked" && this.#made > 0) {
        return { ok: false, error: "stage_failed", detail: error.message };
      }
      if (error instanceof ToolError && error.code === "git_timeout") {
        return { ok: false, error: "commit_failed", detail: error.message };
      }
      throw error;
    }
  }

  async #checkPaths({ files }: BatchEntry): Promise<void> {
    const outside: string[] = [];
    for (const { path } of files) {
      await checkEntryPath(this.#scope.tree.root, path).catch(() => outside.push(path));
    }
    if (outside.length > 0) throw new EntryFailure("path_escapes_repository", outside.join(", "));
  }

  /** Gives the private index the state of HEAD where the user has staged something else. */
  async #setAsideStaged(): Promise<boolean> {
    const { git, tree } = this.#scope;
    const operation = await operationUnderWay(tree);
    if (operation !== null && operation !== "rebase") {
      const name = operation.replace("_", "-");
      const detail = `a ${name} is under way, which a commit of some files would break: ` +
        `finish it with 'git ${name} --continue' or 'git ${name} --abort'`;
      throw new EntryFailure("commit_failed", detail);
    }
    const [head] = await resolveCommits(git, tree, ["HEAD"], this.#scope.options);
    const base = this.#base = head ?? await this.#emptyTree();
    this.#head = head;
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
    const listing = await git.exec(tree, args, { ...this.#within, latin1: true });
    const records = listing.stdout.split("\0");
    const staged = records.filter((_, at) => at % 2 === 1);
    if (records.some((record, at) => at % 2 === 0 && record.endsWith(" U"))) {
      throw new EntryFailure("commit_failed", `unmerged paths: ${staged.join(", ")}`);
    }
    for (const entry of await listIndex(git, tree, this.#within)) this.#unusual.set(entry.path, entry);
    this.#staged = new Set(staged.map((path) => new TextDecoder().decode(bytesOf(path))));
    if (staged.length === 0) return false;
    // Names are bytes to git, and not always UTF-8.
    const stdin = bytesOf(staged.map((path) => `${path}\0`).join(""));
    const paths = ["--pathspec-from-file=-", "--pathspec-file-nul"];
    const command = head === null ? ["rm", "--cached", "--force", "--quiet"] : ["reset", "--quiet"];
    await git.exec(tree, [...command, ...paths], { ...this.#within, stdin, okCodes: [1] });
    return true;
  }

  async #stage({ files }: BatchEntry): Promise<void> {
    const { git, tree } = this.#scope;
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
    const { git, tree, repositories, options } = this.#scope;
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
    const { stdout } = await git.exec(tree, ["ls-files", "-z", "--", ...names], this.#within);
    const found = stdout.split("\0");
    const above = names.filter((name) => found.some((path) => path.startsWith(`${name}/`)));
    return { exact: new Set(found), above: new Set(above) };
  }

  /**
   * The user's index is told before the commit is made: a server that is killed in between leaves files staged,
   * which is a state that people know, and not a commit that the index would take back.
   */
  async #commit({ message, files }: BatchEntry): Promise<string> {
    const { git, tree, hooks, options } = this.#scope;
    await this.#index.save();
    let made: MadeCommit | null;
    try {
      await this.#index.publish(this.#base, !this.#othersStaged, options);
      this.#programs ??= hooks && await hasHooks(git, tree, options);
      const programs = this.#programs;
      const args = ["commit", "--quiet", "--no-status", "--file=-"];
      await git.exec(tree, args, { ...this.#within, hooks, programs, stdin: message });
      made = await this.#madeCommit();
    } catch (error) {
      // What failed may have been a hook that runs when the commit is made already.
      made = await this.#madeCommit().catch(() => null);
      if (made === null) {
        const failure = await this.#whyNot(error);
        await this.#index.restore();
        throw failure;
      }
    }
    if (made === null) {
      throw new EntryFailure("commit_failed", "git said it made a commit, and HEAD is unchanged");
    }
    if (made.overlooked !== null) await this.#takeBack(made, files);
    try {
      // A hook may have staged what it changed. Cancelling is not heeded: the commit stands.
      await this.#index.publish(this.#base, !this.#othersStaged, { ...options, signal: undefined });
    } catch (error) {
      log("warn", `the index of '${tree.root}' may be behind its HEAD: ${messageOf(error)}`);
    }
    [this.#head, this.#base] = [made.oid, made.oid];
    this.#made++;
    return made.short;
  }

  /** The commit at HEAD when it is a new one, and whether somebody else's came in before it. */
  async #madeCommit(): Promise<MadeCommit | null> {
    const { git, tree, options } = this.#scope;
    const within = { ...options, signal: undefined };
    const args = ["log", "-5", "--first-parent", "--no-show-signature", "--no-color", "--abbrev=7"];
    const { code, stdout } = await git.exec(tree, [...args, "--format=%H %h %T %P", "HEAD", "--"], {
      ...within,
      okCodes: [128],
    });
    const rows = stdout.split("\n").filter((line) => line !== "").map((line) => line.split(" "));
    const [oid, short] = rows[0] ?? [];
    // The first commit of all has no parent.
    const parentOf = (row: readonly string[]) => row[3] || null;
    if (code !== 0 || oid === this.#head) return null;
    const parent = parentOf(rows[0]);
    if (parent === this.#head) return { oid, short, overlooked: null };
    // Hooks may have made more commits behind ours; ours is the one with the tree that was staged.
    const next = rows.find((row) => parentOf(row) === this.#head);
    const staged = await git.exec(tree, ["write-tree"], { ...this.#within, signal: undefined });
    return { oid, short, overlooked: next?.[2] === staged.stdout.trim() ? null : parent };
  }

  /** Somebody committed while this commit was being made, and it would undo theirs. */
  async #takeBack({ oid, overlooked }: MadeCommit, files: readonly BatchFile[]): Promise<never> {
    const { git, tree, options } = this.#scope;
    const within = { ...options, signal: undefined, write: true };
    await git.exec(tree, ["update-ref", "-m", "batch_commit: undo", "HEAD", overlooked!, oid], within);
    const stdin = files.map(({ path }) => `${path}\0`).join("");
    const args = ["reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"];
    await git.exec(tree, args, { ...within, stdin, okCodes: [1] });
    const detail = `another commit (${overlooked!.slice(0, 7)}) was made meanwhile; call again`;
    throw new EntryFailure("commit_failed", detail);
  }

  /** Git lists the whole working tree when there is nothing to commit, and a hook may say nothing at all. */
  async #whyNot(error: unknown): Promise<unknown> {
    const failure = asFailure("commit_failed", error);
    if (!(failure instanceof EntryFailure)) return failure;
    const { git, tree } = this.#scope;
    const args = ["diff-index", "--cached", "--quiet", this.#base, "--"];
    const { code } = await git.exec(tree, args, { ...this.#within, okCodes: [1] });
    if (code === 0) return new EntryFailure("commit_failed", NOTHING);
    return failure.message === "" ? new EntryFailure("commit_failed", SILENT) : failure;
  }

  /** The tree of a repository without commits, in its own hash. */
  async #emptyTree(): Promise<string> {
    const { git, tree, options } = this.#scope;
    const { stdout } = await git.exec(tree, ["hash-object", "-t", "tree", "--stdin"], {
      ...options,
      stdin: "",
    });
    return stdout.trim();
  }

  /** What the next commit would hold, against the one before it. */
  async #describe(): Promise<EntryOutcome> {
    const { git, tree } = this.#scope;
    const next = (await git.exec(tree, ["write-tree"], this.#within)).stdout.trim();
    const { stdout } = await git.exec(tree, ["diff-tree", "-r", ...NUMSTAT, this.#base, next], this.#within);
    const files = parseNumstat(stdout.split("\0"));
    if (files.length === 0) throw new EntryFailure("commit_failed", NOTHING);
    this.#base = next;
    const { added, removed } = sumLines(files);
    return {
      ok: true,
      staged: { files: files.map((file) => file.path), additions: added, deletions: removed },
    };
  }
}

const NOTHING = "nothing to commit: the listed files are as in HEAD";
const SILENT = "a hook of the repository refused the commit and did not say why";

function asFailure(code: "stage_failed" | "commit_failed", error: unknown): unknown {
  if (!(error instanceof ToolError)) return error;
  const passed: readonly ErrorCode[] = ["cancelled", "git_not_found", "git_too_old"];
  if (passed.includes(error.code)) return error;
  const words = typeof error.details.stderr === "string" ? error.details.stderr : error.message;
  return new EntryFailure(code, words);
}
