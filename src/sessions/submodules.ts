/**
 * Submodules of a session's worktree. Their clones live in the worktree's admin directory and go with it, so
 * commits made in them are looked for and kept like the session's own.
 */
import * as path from "node:path";
import type { Repository } from "../git/repository.ts";
import type { GitRunner } from "../git/runner.ts";
import { lstatOrNull } from "../platform/jail.ts";

/** Git directories of the worktree's submodule clones, nested ones too. */
async function modulesOf(tree: Repository): Promise<string[]> {
  const found: string[] = [];
  const todo = [path.join(tree.ownDir, "modules")];
  for (let directory = todo.pop(); directory !== undefined; directory = todo.pop()) {
    if (!(await lstatOrNull(directory))?.isDirectory) continue;
    const isRepository = await lstatOrNull(path.join(directory, "HEAD")) !== null;
    if (isRepository) {
      found.push(directory);
      todo.push(path.join(directory, "modules"));
      continue;
    }
    for await (const entry of Deno.readDir(directory)) {
      if (entry.isDirectory) todo.push(path.join(directory, entry.name));
    }
  }
  return found.sort();
}

/** A submodule clone with commits that no remote of it is known to have. */
export interface UnpushedModule {
  /** Its git directory. */
  gitDir: string;
  commits: number;
}

/** The clones of a worktree that hold commits of their own. */
export async function unpushedModules(
  git: GitRunner,
  main: Repository,
  tree: Repository,
  signal?: AbortSignal,
): Promise<UnpushedModule[]> {
  const counted = await Promise.all((await modulesOf(tree)).map(async (gitDir) => {
    const place = { root: main.root, gitDir };
    const args = ["rev-list", "--count", "HEAD", "--all", "--not", "--remotes"];
    const { stdout } = await git.exec(place, args, { okCodes: [128], signal });
    return { gitDir, commits: Number(stdout) || 0 };
  }));
  return counted.filter(({ commits }) => commits > 0);
}

/** Fetches all branches of the clones into the main repository, under `prefix`. */
export async function keepModules(
  git: GitRunner,
  main: Repository,
  tree: Repository,
  modules: readonly UnpushedModule[],
  prefix: string,
): Promise<string[]> {
  const kept: string[] = [];
  for (const { gitDir } of modules) {
    const name = path.relative(path.join(tree.ownDir, "modules"), gitDir).split(path.sep).join("/");
    const target = `${prefix}/modules/${name}`;
    const specs = [`+HEAD:${target}/HEAD`, `+refs/heads/*:${target}/heads/*`];
    // The source is a directory of this repository's own, so the file transport is safe here alone.
    await git.exec(
      main,
      [
        "-c",
        "protocol.file.allow=always",
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        gitDir,
        ...specs,
      ],
      { write: true, env: { GIT_ALLOW_PROTOCOL: "file" } },
    );
    kept.push(`${target}/HEAD`);
  }
  return kept;
}
