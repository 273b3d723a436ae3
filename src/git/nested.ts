/** Repositories inside a working tree, and whether they hold what exists nowhere else. */
import { join, relative } from "node:path";
import { lstatOrNull } from "../platform/jail.ts";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/**
 * Directories that hold a `.git` directory of their own, among the given ones and below them.
 *
 * @param directories Relative to the top: untracked and ignored ones, and gitlinks. A repository can be
 * nowhere else, because git tracks no file below a `.git`.
 */
export async function nestedRepositories(
  tree: Repository,
  directories: readonly string[],
): Promise<string[]> {
  const found: string[] = [];
  const todo = directories.map((directory) => join(tree.root, directory));
  for (let directory = todo.pop(); directory !== undefined; directory = todo.pop()) {
    if (!(await lstatOrNull(directory))?.isDirectory) continue;
    for await (const entry of Deno.readDir(directory)) {
      if (!entry.isDirectory) continue;
      if (entry.name === ".git") found.push(relative(tree.root, directory));
      else todo.push(join(directory, entry.name));
    }
  }
  return found.sort();
}

/** Git directories below a `modules` directory, nested ones too. */
export async function moduleDirectories(modules: string): Promise<string[]> {
  const found: string[] = [];
  const todo = [modules];
  for (let directory = todo.pop(); directory !== undefined; directory = todo.pop()) {
    if (!(await lstatOrNull(directory))?.isDirectory) continue;
    if (await lstatOrNull(join(directory, "HEAD")) !== null) {
      found.push(directory);
      todo.push(join(directory, "modules"));
      continue;
    }
    for await (const entry of Deno.readDir(directory)) {
      if (entry.isDirectory) todo.push(join(directory, entry.name));
    }
  }
  return found.sort();
}

/** Commits of a repository that no remote of it is known to have; one when that cannot be told. */
export async function unpushedCommits(
  git: GitRunner,
  main: Repository,
  gitDir: string,
  options: GitOptions = {},
): Promise<number> {
  // Its config is not judged, and need not be: counting commits runs nothing of it. A working tree that the
  // config names may be gone, so another one is given.
  const env = { GIT_WORK_TREE: main.root };
  const all = ["rev-list", "--count", "--all", "--reflog", "--not", "--remotes"];
  const { code, stdout } = await git.exec({ root: main.root, gitDir }, all, {
    ...options,
    env,
    okCodes: [128, 129],
  });
  return code === 0 ? Number(stdout) : 1;
}
