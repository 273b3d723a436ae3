/**
 * Merging branches: fast forward, else rebase, else a merge commit. Each source is worked out as objects
 * first and lands only when it is whole; one that conflicts leaves everything as it was.
 */
import { type ErrorCode, messageOf, ToolError } from "../errors.ts";
import { canonicalBranch } from "../git/branch_use.ts";
import { CommitWriter, readCommits } from "../git/commit_objects.ts";
import { type Conflict, describeConflicts } from "../git/conflicts.ts";
import { type Merger, type MergeResult, withMerger } from "../git/merge_tree.ts";
import { inQuarantine } from "../git/quarantine.ts";
import { checkCommitish, type NamedCommit, resolveBranches } from "../git/refs.ts";
import { replay } from "../git/replay.ts";
import { lstatOrNull } from "../platform/jail.ts";
import { openDestination } from "./destination.ts";
import { type ChangeScope, Landing } from "./landing.ts";

/** How a source is brought in. */
export type Strategy = "auto" | "ff-only" | "rebase" | "merge";

/** What to merge. */
export interface MergeRequest {
  sources: readonly string[];
  into?: string;
  strategy: Strategy;
  message?: string;
  /** Work out what would happen and change nothing. */
  dryRun: boolean;
}

/** What became of one source. */
export interface SourceOutcome {
  source: string;
  ok: boolean;
  outcome?: "fast_forward" | "rebase_then_ff" | "merge_commit" | "up_to_date" | "conflicts";
  /** Tip of the destination after it, full object name. */
  mergedSha?: string;
  /** The source is a local branch, by this name. */
  branch?: string;
  error?: ErrorCode;
  detail?: string;
  conflictStage?: "rebase" | "merge";
  conflicts?: Conflict[];
  /** The worktree that keeps the source from being rebased. */
  worktree?: string;
}

/** What became of a merge. */
export interface MergeReport {
  ok: boolean;
  into: string;
  headSha: string;
  outcomes: SourceOutcome[];
  backupRefs: string[];
  /** The working tree had changes, which only a dry run bears. */
  dirty: boolean;
}

/**
 * Merges sources in their order and stops at the first that cannot be merged; those before it stay merged.
 *
 * @throws {ToolError} What {@linkcode openDestination} throws, and `checkout_failed` at the end; then nothing
 * has changed.
 */
export async function mergeSources(scope: ChangeScope, request: MergeRequest): Promise<MergeReport> {
  for (const source of request.sources) checkCommitish(source);
  if (!request.dryRun) return await merging(scope, request);
  return await inQuarantine(
    scope.tree,
    (env) =>
      merging({ ...scope, options: { ...scope.options, env: { ...scope.options.env, ...env } } }, request),
  );
}

async function merging(scope: ChangeScope, request: MergeRequest): Promise<MergeReport> {
  const { git, tree, options } = scope;
  const { dryRun } = request;
  const destination = await openDestination(
    git,
    tree,
    { branch: request.into, dryRun, detached: "into_detached_head" },
    options,
  );
  const landing = new Landing(scope, destination);
  return await withMerger(git, tree, options, async (merger) => {
    const run = new MergeRun(scope, request, landing, merger, destination.branch, destination.oid);
    const outcomes: SourceOutcome[] = [];
    try {
      for (const source of request.sources) {
        const outcome = await run.take(source);
        outcomes.push(outcome);
        if (!outcome.ok) break;
      }
    } catch (error) {
      // A call that ends without an answer leaves nothing behind.
      await landing.undo();
      throw error;
    }
    const ok = outcomes.every((outcome) => outcome.ok);
    if (ok && !dryRun) await landing.finish();
    return {
      ok,
      into: destination.branch,
      headSha: dryRun ? destination.oid : run.tip,
      outcomes,
      backupRefs: landing.backupRefs,
      dirty: destination.dirty,
    };
  });
}

/** A failure of one source, which ends the run but is an answer. */
class SourceFailure extends Error {
  readonly outcome: Partial<SourceOutcome>;

  constructor(outcome: Partial<SourceOutcome> & { error: ErrorCode }) {
    super(outcome.detail);
    this.outcome = outcome;
  }
}

/** A source worked out: what the destination becomes, and the source too when it is rebased. */
interface Plan {
  outcome: SourceOutcome["outcome"];
  tip: string;
  rebased?: string;
}

class MergeRun {
  /** Tip of the destination so far. */
  tip: string;
  readonly #scope: ChangeScope;
  readonly #request: MergeRequest;
  readonly #landing: Landing;
  readonly #merger: Merger;
  readonly #writer: CommitWriter;
  readonly #into: string;
  /** Tips that a dry run would have moved. */
  readonly #moved = new Map<string, string>();

  constructor(
    scope: ChangeScope,
    request: MergeRequest,
    landing: Landing,
    merger: Merger,
    into: string,
    tip: string,
  ) {
    this.#scope = scope;
    this.#request = request;
    this.#landing = landing;
    this.#merger = merger;
    this.#into = into;
    this.tip = tip;
    this.#writer = new CommitWriter(scope.git, scope.tree, scope.options);
  }

  async take(source: string): Promise<SourceOutcome> {
    const mark = this.#landing.mark;
    let branch: string | null = null;
    try {
      const named = await this.#resolve(source);
      branch = named.branch;
      const plan = await this.#plan(source, named.oid, branch);
      if (!this.#request.dryRun) await this.#land(plan, source, named.oid, branch);
      else if (plan.rebased && branch) this.#moved.set(branch, plan.rebased);
      this.tip = plan.tip;
      // What a dry run makes is thrown away: its name would lead nowhere.
      const made = plan.outcome === "rebase_then_ff" || plan.outcome === "merge_commit";
      return {
        source,
        ok: true,
        outcome: plan.outcome,
        ...(this.#request.dryRun && made ? {} : { mergedSha: plan.tip }),
        ...(branch === null ? {} : { branch }),
      };
    } catch (error) {
      await this.#landing.undo(mark);
      if (error instanceof SourceFailure) return { source, ok: false, ...error.outcome };
      if (!(error instanceof ToolError) || error.code !== "git_failed") throw error;
      return { source, ok: false, error: "merge_failed", detail: error.message };
    }
  }

  async #resolve(source: string): Promise<NamedCommit & { oid: string }> {
    const { git, tree, options } = this.#scope;
    const [{ oid, branch: named }] = await resolveBranches(git, tree, [source], options);
    if (oid === null) {
      throw new SourceFailure({ error: "source_not_found", detail: `'${source}' names no commit` });
    }
    const branch = named === null ? null : await canonicalBranch(git, tree, named, options);
    return { branch, oid: this.#moved.get(branch ?? "") ?? oid };
  }

  async #plan(source: string, oid: string, branch: string | null): Promise<Plan> {
    const { strategy } = this.#request;
    const base = await this.#mergeBase(source, oid);
    if (base === oid) return { outcome: "up_to_date", tip: this.tip };
    if (base === this.tip && strategy !== "merge") return { outcome: "fast_forward", tip: oid };
    if (strategy === "ff-only") {
      const detail = "destination and source have diverged; retry with strategy: rebase, merge, or auto";
      throw new SourceFailure({ error: "cannot_fast_forward", detail });
    }
    if (strategy === "auto" || strategy === "rebase") {
      const rebased = await this.#rebase(oid, branch);
      if (rebased !== null) return { outcome: "rebase_then_ff", tip: rebased, rebased };
    }
    return { outcome: "merge_commit", tip: await this.#mergeCommit(source, oid) };
  }

  async #mergeBase(source: string, oid: string): Promise<string> {
    const { git, tree, options } = this.#scope;
    const args = ["merge-base", this.tip, oid];
    const { code, stdout } = await git.exec(tree, args, { ...options, okCodes: [1] });
    if (code === 0) return stdout.trim().split("\n")[0];
    const detail = `'${source}' and '${this.#into}' have no common history`;
    throw new SourceFailure({ error: "merge_base_failed", detail });
  }

  /** The source's commits on top of the destination; null when `auto` should go on to a merge commit. */
  async #rebase(oid: string, branch: string | null): Promise<string | null> {
    const { git, tree, options } = this.#scope;
    const mustRebase = this.#request.strategy === "rebase";
    if (branch !== null && !await this.#landing.mayMove(branch, oid)) {
      if (!mustRebase) return null;
      const worktree = this.#landing.worktreeOf(branch)!;
      const missing = await lstatOrNull(worktree) === null;
      const detail = `branch '${branch}' is checked out at '${worktree}', ` +
        (missing ? "which is gone: 'git worktree prune' forgets it" : "which is in use");
      throw new SourceFailure({ error: "source_checked_out", detail, worktree });
    }
    const args = ["rev-list", "--reverse", "--topo-order", "--parents", "--cherry-mark", "--right-only"];
    const { stdout } = await git.exec(tree, [...args, `${this.tip}...${oid}`], options);
    const rows = stdout.split("\n").filter((line) => line !== "").map((line) => ({
      fresh: line.startsWith("+"),
      names: line.slice(1).split(" "),
    }));
    // A merge in the source may hold a resolution that its commits one by one do not have.
    if (!mustRebase && rows.some(({ names }) => names.length > 2)) return null;
    const picked = rows.filter(({ fresh, names }) => fresh && names.length <= 2).map(({ names }) => names);
    const wanted = [...new Set([this.tip, ...picked.flat()])];
    const objects = new Map(
      (await readCommits(git, tree, wanted, options)).map((object) => [object.oid, object]),
    );
    const commits = picked.map(([oid]) => objects.get(oid)!);
    const empty = commits.filter(({ tree, parents }) => objects.get(parents[0])?.tree === tree);
    const onto = { oid: this.tip, tree: objects.get(this.tip)!.tree };
    const done = await replay(
      this.#merger,
      this.#writer,
      onto,
      commits,
      new Set(empty.map(({ oid }) => oid)),
    );
    if (!done.stopped) return done.tip;
    if (!mustRebase) return null;
    const { commit, result } = done.stopped;
    const subject = commit.message.split("\n")[0];
    const detail = `could not apply ${commit.oid.slice(0, 7)} ${subject}`;
    throw await this.#conflict("rebase_conflicts", "rebase", result, detail);
  }

  async #mergeCommit(source: string, oid: string): Promise<string> {
    const result = await this.#merger.merge(this.tip, oid);
    if (result.conflicts.length > 0) {
      const detail = `'${source}' and '${this.#into}' conflict in ${result.conflicts.length} path(s)`;
      throw await this.#conflict("merge_conflicts", "merge", result, detail);
    }
    const given = this.#request.message?.trim();
    const message = given || `Merge branch '${source}' into ${this.#into}`;
    return await this.#writer.write({ tree: result.tree, parents: [this.tip, oid], message: `${message}\n` });
  }

  async #conflict(
    error: "rebase_conflicts" | "merge_conflicts",
    conflictStage: "rebase" | "merge",
    result: MergeResult,
    detail: string,
  ): Promise<SourceFailure> {
    const { git, tree, options } = this.#scope;
    const conflicts = await describeConflicts(git, tree, result, options);
    return new SourceFailure({ outcome: "conflicts", conflictStage, error, detail, conflicts });
  }

  async #land(plan: Plan, source: string, oid: string, branch: string | null): Promise<void> {
    const why = `merge ${source}`;
    try {
      if (plan.rebased && branch !== null) {
        await this.#landing.move(branch, oid, plan.rebased, `rebase ${source}`, false);
      }
      await this.#landing.move(this.#into, this.tip, plan.tip, why, true);
    } catch (error) {
      throw new SourceFailure({ error: "merge_failed", detail: messageOf(error) });
    }
  }
}
