/**
 * Several commits in one call, each of exactly the files it lists. They are made from a private index: what
 * the user has staged is in none of them and stays staged, and an entry that fails leaves no trace.
 */
import { messageOf, ToolError } from "../errors.ts";
import { hasHooks } from "../git/hooks.ts";
import { NUMSTAT, parseNumstat, sumLines } from "../git/numstat.ts";
import { PrivateIndex } from "../git/private_index.ts";
import { resolveCommits } from "../git/refs.ts";
import type { GitOptions } from "../git/runner.ts";
import { waitForIndex } from "../git/write_lock.ts";
import { log } from "../platform/log.ts";
import { clipped } from "../platform/text.ts";
import {
  asFailure,
  type BatchFile,
  type BatchScope,
  type EntryError,
  EntryFailure,
  Staging,
} from "./batch_staging.ts";

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
  error?: EntryError;
  detail?: string;
  /** Dry run: what the commit would hold. */
  staged?: { files: string[]; additions: number; deletions: number };
}

const DETAIL = 2_000;

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
      outcomes.push(await batch.take(entry, dryRun));
      if (!outcomes.at(-1)!.ok) break;
    }
    return dryRun ? outcomes : await batch.readBack(outcomes, entries);
  });
}

/** A commit on the way from HEAD to where the batch began. */
interface Step {
  oid: string;
  short: string;
}

class Batch {
  readonly #scope: BatchScope;
  readonly #index: PrivateIndex;
  readonly #within: GitOptions;
  readonly #staging: Staging;
  /** Whether the user had something staged; found out at the first entry. */
  #othersStaged: boolean | undefined;
  /** HEAD when the batch began; null before the first commit. */
  #start: string | null = null;
  /** What the private index was made for: HEAD, or the empty tree; in a dry run the tree of the last entry. */
  #base = "";
  /** The commits made, as git itself names them when it has made one. */
  readonly #made: string[] = [];
  /** HEAD behind the last of them, whole or abbreviated: a hook may have put another one there. */
  #last: string | null = null;
  #hooks = false;

  constructor(scope: BatchScope, index: PrivateIndex) {
    this.#scope = scope;
    this.#index = index;
    this.#within = { ...scope.options, write: true, env: { ...scope.options.env, ...index.env } };
    this.#staging = new Staging(scope, this.#within);
  }

  async take(entry: BatchEntry, dryRun: boolean): Promise<EntryOutcome> {
    try {
      this.#othersStaged ??= await this.#begin();
      await this.#staging.stage(entry.files);
      if (dryRun) return await this.#describe();
      await this.#commit(entry.message);
      return { ok: true };
    } catch (error) {
      if (error instanceof EntryFailure) {
        return { ok: false, error: error.code, detail: clipped(error.message, DETAIL) };
      }
      // With commits made before it, a lock is this entry's failure and not the call's.
      if (error instanceof ToolError && error.code === "repo_locked" && this.#made.length > 0) {
        return { ok: false, error: "stage_failed", detail: error.message };
      }
      throw error;
    }
  }

  async #begin(): Promise<boolean> {
    const { git, tree, options, hooks } = this.#scope;
    [this.#start] = await resolveCommits(git, tree, ["HEAD"], options);
    this.#last = this.#start;
    this.#base = this.#start ?? await this.#emptyTree();
    this.#hooks = hooks && await hasHooks(tree);
    return await this.#staging.setAside(this.#base, this.#start === null);
  }

  /**
   * The user's index is told before the commit is made: a server that is killed in between leaves files staged,
   * which is a state that people know, and not a commit that the index would take back.
   */
  async #commit(message: string): Promise<void> {
    const { git, tree, hooks, options } = this.#scope;
    this.#index.save();
    try {
      await this.#index.publish(this.#base, !this.#othersStaged, options);
      const args = ["commit", "--no-status", "--file=-"];
      const within = { ...this.#within, hooks, programs: this.#hooks, stdin: message };
      const { stdout } = await git.exec(tree, args, within);
      const [, oid = ""] = COMMITTED.exec(stdout) ?? [];
      this.#made.push(oid);
      this.#last = oid || await this.#head();
    } catch (error) {
      // What failed may have been a hook that runs when the commit is made already.
      const head = await this.#head();
      const moved = this.#last === null ? head !== null : !head?.startsWith(this.#last);
      if (!moved) {
        const failure = await this.#whyNot(error);
        await this.#index.restore();
        throw failure;
      }
      this.#made.push(head ?? "");
      this.#last = head;
    }
    if (!this.#hooks) return;
    // A hook may have moved HEAD on, or staged what it changed. Cancelling is not heeded: the commit stands.
    this.#last = await this.#head();
    await this.#agree();
  }

  async #head(): Promise<string | null> {
    const { git, tree, options } = this.#scope;
    return (await resolveCommits(git, tree, ["HEAD"], { ...options, signal: undefined }))[0];
  }

  /** Brings the user's index to what was committed; too late to fail for it. */
  async #agree(): Promise<void> {
    const { tree, options } = this.#scope;
    try {
      await this.#index.publish(this.#base, !this.#othersStaged, { ...options, signal: undefined });
    } catch (error) {
      log("warn", `the index of '${tree.root}' may be behind its HEAD: ${messageOf(error)}`);
    }
  }

  /**
   * Asks git what the commits are called, and whether somebody else's came in between: the next one of ours,
   * made from an index that does not know of theirs, would undo it, and is taken back.
   */
  async readBack(outcomes: readonly EntryOutcome[], entries: readonly BatchEntry[]): Promise<EntryOutcome[]> {
    if (this.#made.length === 0) return [...outcomes];
    if (!this.#hooks) await this.#agree();
    const steps = await this.#steps();
    const isOurs = (step: Step, at: number) =>
      this.#made[at] !== undefined && step.oid.startsWith(this.#made[at]);
    // A hook may have amended ours: then there are as many steps, and they are taken for ours.
    const asMany = steps.length === this.#made.length;
    const stranger = asMany ? -1 : steps.findIndex((step, at) => at < this.#made.length && !isOurs(step, at));
    const kept = stranger < 0 ? this.#made.length : stranger;
    const named = outcomes.map((outcome, at) =>
      outcome.ok && at < kept ? { ...outcome, sha: steps[at]?.short ?? this.#made[at] } : outcome
    );
    if (stranger < 0) return named;
    const theirs = steps[stranger];
    const takenBack = await this.#takeBack(steps, stranger, entries.slice(kept, this.#made.length));
    const detail = `another commit (${theirs.short}) was made meanwhile; ` +
      (takenBack ? "call again with this and the following commits" : "check what came after it");
    return [...named.slice(0, kept), { ok: false, error: "commit_failed", detail }];
  }

  /** The commits since the batch began, oldest first. */
  async #steps(): Promise<Step[]> {
    const { git, tree, options } = this.#scope;
    const since = this.#start === null ? [] : [`^${this.#start}`];
    const args = ["log", "--reverse", "--first-parent", "--no-show-signature", "--no-color", "--abbrev=7"];
    const { stdout } = await git.exec(tree, [...args, "--format=%H %h", "HEAD", ...since, "--"], {
      ...options,
      signal: undefined,
    });
    return stdout.split("\n").filter((line) => line !== "").map((line) => {
      const [oid, short] = line.split(" ");
      return { oid, short };
    });
  }

  /** Goes back to a stranger's commit, when all that came after it is ours. */
  async #takeBack(steps: readonly Step[], at: number, entries: readonly BatchEntry[]): Promise<boolean> {
    const above = steps.slice(at + 1);
    const ours = this.#made.slice(at);
    if (above.length !== ours.length || !above.every(({ oid }, n) => oid.startsWith(ours[n]))) return false;
    const { git, tree, options } = this.#scope;
    const within = { ...options, signal: undefined, write: true };
    const [to, from] = [steps[at].oid, steps.at(-1)!.oid];
    await git.exec(tree, ["update-ref", "-m", "batch_commit: undo", "HEAD", to, from], within);
    const stdin = entries.flatMap(({ files }) => files).map(({ path }) => `${path}\0`).join("");
    const args = ["reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"];
    await git.exec(tree, args, { ...within, stdin, okCodes: [1] });
    return true;
  }

  /** Git lists the whole working tree when there is nothing to commit, and a hook may say nothing at all. */
  async #whyNot(error: unknown): Promise<unknown> {
    const failure = asFailure("commit_failed", error);
    if (!(failure instanceof EntryFailure)) return failure;
    const { git, tree } = this.#scope;
    const before = this.#made.length > 0 ? "HEAD" : this.#base;
    const args = ["diff-index", "--cached", "--quiet", before, "--"];
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
/** The line with which git-commit(1) names what it made; a subject may follow, never precede it. */
const COMMITTED = /^\[(?:detached HEAD|\S+)(?: \(root-commit\))? ([0-9a-f]{4,64})\]/m;
