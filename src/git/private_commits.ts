/**
 * Commits that only a worktree's own admin directory knows by name. They go with it, so a removal has to
 * look for them.
 */
import { join } from "node:path";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/** Files of operations under way that name a commit nobody else may know; see git-rebase(1), git-merge(1). */
const OPERATION_FILES = [
  ...["rebase-merge/orig-head", "rebase-merge/autostash", "rebase-merge/stopped-sha", "rebase-merge/amend"],
  ...["rebase-apply/orig-head", "rebase-apply/autostash", "rebase-apply/original-commit"],
  ...["MERGE_HEAD", "MERGE_AUTOSTASH", "CHERRY_PICK_HEAD"],
];
const OBJECT_NAME = /^[0-9a-f]{40,64}$/;

/** Full object names, each once: operations under way, and the refs that are the worktree's own. */
export async function privateCommits(
  git: GitRunner,
  main: Repository,
  ownDir: string,
  options: GitOptions = {},
): Promise<string[]> {
  const texts = await Promise.all(
    OPERATION_FILES.map((file) => Deno.readTextFile(join(ownDir, file)).catch(() => "")),
  );
  const named = texts.flatMap((text) => text.split("\n").map((line) => line.trim()));
  const place = { root: main.root, gitDir: ownDir };
  const patterns = ["refs/worktree", "refs/rewritten", "refs/bisect"];
  const refs = await git.exec(place, ["for-each-ref", "--format=%(objectname)", ...patterns], options);
  const names = [...named, ...refs.stdout.split("\n")].filter((name) => OBJECT_NAME.test(name));
  return await commitsAmong(git, main, [...new Set(names)], options);
}

async function commitsAmong(
  git: GitRunner,
  main: Repository,
  names: string[],
  options: GitOptions,
): Promise<string[]> {
  if (names.length === 0) return [];
  const stdin = names.map((name) => `${name}\n`).join("");
  const { stdout } = await git.exec(main, ["cat-file", "--batch-check"], { ...options, stdin });
  return stdout.split("\n").filter((line) => / commit \d+$/.test(line)).map((line) => line.split(" ")[0]);
}
