/**
 * Several commits in one call, each of exactly the files it lists. They are made from a private index: what
 * the user has staged is in none of them and stays staged, and an entry that fails leaves no trace.
 */
import * as path from "node:path";
import { type ErrorCode, messageOf, ToolError } from "../errors.ts";
import { GITLINK, listIndex } from "../git/index_entries.ts";
import type { LineRange } from "../git/line_selection.ts";
import { operationUnderWay } from "../git/operation.ts";
import { PrivateIndex } from "../git/private_index.ts";
import { resolveCommits } from "../git/refs.ts";
import type { Repository } from "../git/repository.ts";
import type { GitOptions, GitRunner } from "../git/runner.ts";
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
  tree: Repository;
  /** Run the hooks of the repository. */
  hooks: boolean;
  options: GitOptions;
}

const DETAIL = 2_000;

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
  #made = 0;

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
    const head = await this.#head();
    const base = this.#base = head ?? await this.#emptyTree();
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
    const records = (await git.exec(tree, args, this.#within)).stdout.split("\0");
    const staged = records.filter((_, at) => at % 2 === 1);
    if (records.some((record, at) => at % 2 === 0 && record.endsWith(" U"))) {
      throw new EntryFailure("commit_failed", `unmerged paths: ${staged.join(", ")}`);
    }
    if (staged.length === 0) return false;
    const stdin = staged.map((path) => `${path}\0`).join("");
    if (head === null) {
      await git.exec(tree, ["rm", "--cached", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"], {
        ...this.#within,
        stdin,
      });
    } else {
      await git.exec(tree, ["reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"], {
        ...this.#within,
        stdin,
        okCodes: [1],
      });
    }
    return true;
  }

  async #stage({ files }: BatchEntry): Promise<void> {
    const { git, tree } = this.#scope;
    const whole = files.filter(({ lines }) => lines === undefined).map(({ path }) => path);
    await this.#refuseDirectories(whole);
    try {
      if (whole.length > 0) {
        const stdin = whole.map((path) => `${path}\0`).join("");
        await git.exec(tree, ["add", "--pathspec-from-file=-", "--pathspec-file-nul"], {
          ...this.#within,
          stdin,
        });
      }
      const ranges = Map.groupBy(files.filter(({ lines }) => lines), ({ path }) => path);
      for (const [path, parts] of ranges) {
        await stageLines(git, tree, path, parts.map(({ lines }) => lines!), this.#within);
      }
    } catch (error) {
      throw asFailure("stage_failed", error);
    }
  }

  /** A directory would take in files that the entry does not list; a submodule is one entry of the index. */
  async #refuseDirectories(paths: readonly string[]): Promise<void> {
    const { git, tree } = this.#scope;
    const found: string[] = [];
    for (const file of paths) {
      if ((await lstatOrNull(path.join(tree.root, file)))?.isDirectory) found.push(file);
    }
    if (found.length === 0) return;
    const entries = await listIndex(git, tree, this.#within);
    const links = new Set(entries.filter(({ mode }) => mode === GITLINK).map(({ path }) => path));
    const refused = found.filter((file) => !links.has(path.posix.normalize(file).replace(/\/$/, "")));
    if (refused.length > 0) {
      throw new EntryFailure("stage_failed", `${refused.join(", ")}: a directory; list its files one by one`);
    }
  }

  /**
   * The user's index is told before the commit is made: a server that is killed in between leaves files staged,
   * which is a state that people know, and not a commit that the index would take back.
   */
  async #commit({ message }: BatchEntry): Promise<string> {
    const { git, tree, hooks, options } = this.#scope;
    await this.#index.save();
    try {
      await this.#index.publish(this.#base, !this.#othersStaged, options);
      await git.exec(tree, ["commit", "--quiet", "--no-status", "--file=-"], {
        ...this.#within,
        hooks,
        stdin: message,
      });
    } catch (error) {
      const failure = await this.#whyNot(error);
      await this.#index.restore();
      throw failure;
    }
    // The commit stands from here on; cancelling is not heeded until the index agrees with it.
    const within = { ...options, signal: undefined };
    const args = [
      "log",
      "-1",
      "--no-show-signature",
      "--no-color",
      "--abbrev=7",
      "--format=%H %h",
      "HEAD",
      "--",
    ];
    const [oid, short] = (await git.exec(tree, args, within)).stdout.trim().split(" ");
    try {
      // A hook may have staged what it changed.
      await this.#index.publish(this.#base, !this.#othersStaged, within);
    } catch (error) {
      log("warn", `the index of '${tree.root}' may be behind its HEAD: ${messageOf(error)}`);
    }
    this.#base = oid;
    this.#made++;
    return short;
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

  async #head(): Promise<string | null> {
    const { git, tree, options } = this.#scope;
    return (await resolveCommits(git, tree, ["HEAD"], options))[0];
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
