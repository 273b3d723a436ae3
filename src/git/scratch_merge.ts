/** Merging in scratch files, for git before 2.38: `git merge-recursive`, away from everybody's worktrees. */
import { join } from "node:path";
import { emptyTree } from "./refs.ts";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitOutput, GitPlace, GitRunner } from "./runner.ts";
import type { ConflictedPath, Merger, MergeResult } from "./merge_tree.ts";

/** A {@linkcode Merger} with files and an index of its own, made when first needed. */
export class ScratchMerger implements Merger {
  #git: GitRunner;
  #repository: Repository;
  #options: GitOptions;
  #holder: string | undefined;

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

  /** Removes the files. */
  async dispose(): Promise<void> {
    if (this.#holder !== undefined) await Deno.remove(this.#holder, { recursive: true }).catch(() => {});
  }

  async #recursive(bases: readonly string[], ours: string, theirs: string): Promise<MergeResult> {
    const holder = this.#holder ??= await Deno.realPath(
      await Deno.makeTempDir({ prefix: "orchestragent-merge-" }),
    );
    const files = join(holder, "files");
    await Deno.mkdir(files, { recursive: true });
    const place: GitPlace = { root: files, gitDir: this.#repository.commonDir };
    const env = { ...this.#options.env, GIT_WORK_TREE: files, GIT_INDEX_FILE: join(holder, "index") };
    const run = (args: string[], okCodes: number[] = []): Promise<GitOutput> =>
      this.#git.exec(place, args, { ...this.#options, env, okCodes });
    await run(["read-tree", "--reset", "-u", ours]);
    const style = ["-c", "merge.conflictStyle=diff3"];
    const merge = await run([...style, "merge-recursive", ...bases, "--", ours, theirs], [1]);
    const conflicts = parseUnmerged((await run(["ls-files", "--unmerged", "-z"])).stdout);
    if (conflicts.length > 0) await run(["add", "--all", "--force", "--", "."]);
    else if (merge.code !== 0) {
      // Some conflicts leave no path unmerged, such as a renamed directory that was split.
      const message = /^CONFLICT .*$/m.exec(merge.stdout)?.[0] ?? "not merged cleanly";
      conflicts.push({ path: ".", stages: [], message });
    }
    return { tree: (await run(["write-tree"])).stdout.trim(), conflicts };
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
