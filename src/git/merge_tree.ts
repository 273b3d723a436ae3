/**
 * Merging without a working tree: `git merge-tree --write-tree` computes the result as objects, so that a
 * conflict is known before anything is touched. Git before 2.38 does it in a scratch worktree instead.
 */
import { ToolError } from "../errors.ts";
import { emptyTree } from "./refs.ts";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";
import { ScratchMerger } from "./scratch_merge.ts";

/** A path that could not be merged. */
export interface ConflictedPath {
  path: string;
  /** Which sides have it: 1 the base, 2 ours, 3 theirs. */
  stages: number[];
  /** Git's own sentence about it, when it gave one. */
  message?: string;
}

/** The outcome of a merge. */
export interface MergeResult {
  /** The merged tree; with conflicts, the tree whose files carry conflict markers. */
  tree: string;
  conflicts: ConflictedPath[];
}

/** Merges commits; one per call of a tool. */
export interface Merger {
  /** Merges two commits by their merge bases. */
  merge(ours: string, theirs: string): Promise<MergeResult>;
  /** Applies to `ours` what changed from `base` to `theirs`; a null base is the empty tree. */
  apply(base: string | null, ours: string, theirs: string): Promise<MergeResult>;
}

/** Runs `work` with a merger fit for the git in use. */
export async function withMerger<T>(
  git: GitRunner,
  repository: Repository,
  options: GitOptions,
  work: (merger: Merger) => Promise<T>,
): Promise<T> {
  if ((await git.binary()).atLeast(2, 38)) return await work(new TreeMerger(git, repository, options));
  const scratch = new ScratchMerger(git, repository, options);
  try {
    return await work(scratch);
  } finally {
    await scratch.dispose();
  }
}

/** Bases in the markers tell what both sides started from. */
const STYLE = ["-c", "merge.conflictStyle=diff3"];

class TreeMerger implements Merger {
  #git: GitRunner;
  #repository: Repository;
  #options: GitOptions;

  constructor(git: GitRunner, repository: Repository, options: GitOptions) {
    this.#git = git;
    this.#repository = repository;
    this.#options = options;
  }

  async merge(ours: string, theirs: string): Promise<MergeResult> {
    const args = [...STYLE, "merge-tree", "--write-tree", "-z", "--messages", ours, theirs];
    const { code, stdout } = await this.#git.exec(this.#repository, args, { ...this.#options, okCodes: [1] });
    return parseMergeTree(stdout, code === 0);
  }

  /** `--merge-base` came with 2.40; a commit of our tree on top of the base makes it the merge base. */
  async apply(base: string | null, ours: string, theirs: string): Promise<MergeResult> {
    const root = base ?? await this.#commit(emptyTree(ours));
    const left = await this.#commit(`${ours}^{tree}`, root);
    return await this.merge(left, base === null ? await this.#commit(`${theirs}^{tree}`, root) : theirs);
  }

  async #commit(tree: string, parent?: string): Promise<string> {
    const parents = parent === undefined ? [] : ["-p", parent];
    const args = ["commit-tree", "--no-gpg-sign", tree, ...parents, "-m", "merge base"];
    const options = { ...this.#options, write: true, env: { ...this.#options.env, ...NOBODY } };
    return (await this.#git.exec(this.#repository, args, options)).stdout.trim();
  }
}

/** The same helper commit is the same object at every call. */
const NOBODY: Record<string, string> = Object.fromEntries(
  ["AUTHOR", "COMMITTER"].flatMap((role) => [
    [`GIT_${role}_NAME`, "orchestragent-mcp"],
    [`GIT_${role}_EMAIL`, "orchestragent-mcp@localhost"],
    [`GIT_${role}_DATE`, "@0 +0000"],
  ]),
);

/** Parses `git merge-tree --write-tree -z --messages`; see git-merge-tree(1), OUTPUT. */
export function parseMergeTree(text: string, clean = true): MergeResult {
  const fields = text.split("\0");
  const tree = fields[0];
  if (!/^[0-9a-f]{40,64}$/.test(tree)) throw new ToolError("git_failed", "git merge-tree gave no tree");
  const paths = new Map<string, ConflictedPath>();
  let at = 1;
  for (; at < fields.length && fields[at] !== ""; at++) {
    const [, stage, path] = /^\d{6} [0-9a-f]+ ([123])\t(.*)$/s.exec(fields[at]) ?? [];
    if (path === undefined) continue;
    const entry = paths.get(path) ?? { path, stages: [] };
    entry.stages.push(Number(stage));
    paths.set(path, entry);
  }
  for (at++; at < fields.length;) {
    const count = Number(fields[at]);
    if (fields[at] === "" || !Number.isInteger(count)) break;
    const about = fields.slice(at + 1, at + 1 + count);
    const [type, message] = fields.slice(at + 1 + count, at + 3 + count);
    at += count + 3;
    if (!type?.startsWith("CONFLICT")) continue;
    // Some conflicts leave no path unmerged, such as a renamed directory that was split.
    if (paths.size === 0 && !clean) paths.set(about[0] ?? ".", { path: about[0] ?? ".", stages: [] });
    for (const path of about) {
      const entry = paths.get(path);
      if (entry) entry.message ??= message.trim();
    }
  }
  if (!clean && paths.size === 0) paths.set(".", { path: ".", stages: [], message: "not merged cleanly" });
  return { tree, conflicts: [...paths.values()] };
}
