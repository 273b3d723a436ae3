/** Merging in a scratch worktree, for git before 2.38: `git merge-recursive`, away from everybody's files. */
import { join } from "node:path";
import { emptyTree } from "./refs.ts";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitOutput, GitPlace, GitRunner } from "./runner.ts";
import type { ConflictedPath, Merger, MergeResult } from "./merge_tree.ts";

/** A {@linkcode Merger} with a worktree of its own, made when first needed. */
export class ScratchMerger implements Merger {
  #git: GitRunner;
  #repository: Repository;
  #options: GitOptions;
  #place: GitPlace | undefined;

  constructor(git: GitRunner, repository: Repository, options: GitOptions) {
    this.#git = git;
    this.#repository = repository;
    this.#options = { ...options, write: true };
  }

  async merge(ours: string, theirs: string): Promise<MergeResult> {
    const { stdout } = await this.#git.exec(
      this.#repository,
      ["merge-base", "--all", ours, theirs],
      this.#options,
    );
    return await this.#recursive(stdout.trim().split("\n"), ours, theirs);
  }

  async apply(base: string | null, ours: string, theirs: string): Promise<MergeResult> {
    return await this.#recursive([base ?? emptyTree(ours)], ours, theirs);
  }

  /** Removes the worktree. */
  async dispose(): Promise<void> {
    if (this.#place === undefined) return;
    const args = ["worktree", "remove", "--force", "--force", this.#place.root];
    await this.#git.exec(this.#repository, args, { ...this.#options, signal: undefined }).catch(() => {});
    await Deno.remove(join(this.#place.root, ".."), { recursive: true }).catch(() => {});
  }

  async #recursive(bases: readonly string[], ours: string, theirs: string): Promise<MergeResult> {
    const place = await this.#prepared(ours);
    const run = (args: string[], okCodes: number[] = []): Promise<GitOutput> =>
      this.#git.exec(place, args, { ...this.#options, okCodes });
    await run(["reset", "--quiet", "--hard", ours]);
    const style = ["-c", "merge.conflictStyle=diff3"];
    await run([...style, "merge-recursive", ...bases, "--", ours, theirs], [1]);
    const conflicts = parseUnmerged((await run(["ls-files", "--unmerged", "-z"])).stdout);
    if (conflicts.length > 0) await run(["add", "--all", "--force", "--", "."]);
    return { tree: (await run(["write-tree"])).stdout.trim(), conflicts };
  }

  async #prepared(commit: string): Promise<GitPlace> {
    if (this.#place) return this.#place;
    const holder = await Deno.realPath(await Deno.makeTempDir({ prefix: "orchestragent-merge-" }));
    const root = join(holder, "tree");
    this.#place = { root };
    const args = ["worktree", "add", "--quiet", "--detach", root, commit];
    await this.#git.exec(this.#repository, args, this.#options);
    return this.#place;
  }
}

/** Parses `<mode> <object> <stage>\t<path>` of `git ls-files --unmerged -z`. */
function parseUnmerged(text: string): ConflictedPath[] {
  const paths = new Map<string, ConflictedPath>();
  for (const record of text.split("\0")) {
    const [, stage, path] = /^\d{6} [0-9a-f]+ ([123])\t(.*)$/s.exec(record) ?? [];
    if (path === undefined) continue;
    const entry = paths.get(path) ?? { path, stages: [] };
    entry.stages.push(Number(stage));
    paths.set(path, entry);
  }
  return [...paths.values()];
}
