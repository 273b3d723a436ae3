/**
 * Opening a repository: where it lies, and whether its own config can be trusted.
 */
import * as path from "node:path";
import { messageOf, ToolError } from "../errors.ts";
import { isWithin, lstatOrNull } from "../platform/jail.ts";
import {
  type ConfigEntry,
  hasForeignHooks,
  includeTarget,
  parseConfigList,
  unsafeKeys,
} from "./config_guard.ts";
import type { GitPlace, GitRunner } from "./runner.ts";

/** A repository, or one of its worktrees, that was found safe to work on. */
export interface Repository extends GitPlace {
  /** Top of the working tree; the repository itself when bare. Real path. */
  root: string;
  /** This worktree's git directory. Real path. */
  ownDir: string;
  /** The git directory that all worktrees of the repository share: its identity. Real path. */
  commonDir: string;
  bare: boolean;
  /** Its own config takes hooks from a directory outside of it. */
  foreignHooks: boolean;
}

interface Checked {
  repository: Repository;
  /** What the files that the verdict rests on looked like, in their order. */
  stamp: string[];
  files: string[];
}

/** Opens repositories and remembers the verdict on each until its config changes. */
export class Repositories {
  #git: GitRunner;
  #trustConfig: boolean;
  #checked = new Map<string, Checked>();

  /** @param trustConfig Skip the judgement of repository-local config (`--trust-repo-config`). */
  constructor(git: GitRunner, trustConfig: boolean) {
    this.#git = git;
    this.#trustConfig = trustConfig;
  }

  /**
   * The repository that holds `directory`.
   *
   * @throws {ToolError} `not_a_git_repository`, `unsafe_repo_config`, `unsafe_repo_owner`, and what git throws.
   */
  async open(directory: string, signal?: AbortSignal): Promise<Repository> {
    const known = this.#checked.get(directory);
    if (known && String(known.stamp) === String(await stampOf(known.files))) return known.repository;
    const repository = await this.#discover(directory, signal);
    const own = ownFiles(repository);
    // Taken before they are read: a change in between is noticed at the next call.
    const stamp = await stampOf(own);
    const { files: included, foreignHooks } = await this.#judge(repository, signal);
    repository.foreignHooks = foreignHooks;
    const files = [...own, ...included];
    this.#checked.set(directory, { repository, stamp: [...stamp, ...await stampOf(included)], files });
    return repository;
  }

  /**
   * A linked worktree of an opened repository, without asking git: config is shared with the main one, so
   * only the two pointers between worktree and repository are checked.
   *
   * @throws {ToolError} `not_a_git_repository` when `directory` is no worktree of `main`.
   */
  async worktree(main: Repository, directory: string, signal?: AbortSignal): Promise<Repository> {
    const ownDir = await linkedGitDir(main, directory);
    if (ownDir === null) {
      throw new ToolError("not_a_git_repository", `'${directory}' is not a worktree of '${main.root}'`);
    }
    // A config of its own has to be judged like any other.
    if (await lstatOrNull(path.join(ownDir, "config.worktree"))) return await this.open(directory, signal);
    return {
      root: directory,
      ownDir,
      commonDir: main.commonDir,
      bare: false,
      foreignHooks: main.foreignHooks,
      ceiling: path.dirname(directory),
    };
  }

  async #discover(directory: string, signal?: AbortSignal): Promise<Repository> {
    let real: string;
    try {
      real = await Deno.realPath(directory);
    } catch (cause) {
      const why = cause instanceof Deno.errors.NotFound
        ? "does not exist"
        : `cannot be read: ${messageOf(cause)}`;
      throw new ToolError("not_a_git_repository", `directory '${directory}' ${why}`, { cause });
    }
    const place: GitPlace = await isBare(real) ? { root: real, gitDir: real } : { root: real };
    const bare = (await this.#ask(place, "--is-bare-repository", signal)) === "true";
    const ownDir = await this.#path(place, "--absolute-git-dir", signal);
    const commonDir = await this.#path(place, "--git-common-dir", signal);
    const root = bare ? commonDir : await this.#path(place, "--show-toplevel", signal);
    if (!isWithin(root, real) && !isWithin(commonDir, real)) {
      throw new ToolError(
        "unsafe_repo_config",
        `the repository at '${real}' says its files are in '${root}' (core.worktree or .git)`,
        {
          details: { keys: ["core.worktree"] },
        },
      );
    }
    return {
      root,
      ownDir,
      commonDir,
      bare,
      foreignHooks: false,
      ceiling: path.dirname(root),
      ...(bare ? { gitDir: commonDir } : {}),
    };
  }

  async #path(place: GitPlace, question: string, signal?: AbortSignal): Promise<string> {
    return await Deno.realPath(path.resolve(place.root, await this.#ask(place, question, signal)));
  }

  /** One question a call: a path may hold any character, so answers are not told apart by lines. */
  async #ask(place: GitPlace, question: string, signal?: AbortSignal): Promise<string> {
    const { stdout } = await this.#git.exec(place, ["rev-parse", question], { signal });
    return stdout.replace(/\r?\n$/, "");
  }

  /** Refuses what would run code or lead elsewhere; tells which files the config takes in. */
  async #judge(repository: Repository, signal?: AbortSignal) {
    const args = ["config", "--list", "-z", "--show-scope", "--show-origin", "--includes"];
    const entries = parseConfigList((await this.#git.exec(repository, args, { signal })).stdout);
    const read = entries.filter((entry) => entry.scope === "local" || entry.scope === "worktree");
    const { included, files } = await this.#included(repository, read, signal);
    const own = [...read, ...included];
    if (!this.#trustConfig) {
      const keys = unsafeKeys(own, { ...repository, gitDir: repository.ownDir });
      if (await leadsOut(repository)) keys.push("objects/info/alternates");
      if (await isForeignLink(repository, own)) keys.push(".git (gitdir)");
      if (keys.length > 0) {
        throw new ToolError(
          "unsafe_repo_config",
          `the config of '${repository.root}' would run programs or lead elsewhere: ${keys.join(", ")}`,
          { details: { keys } },
        );
      }
    }
    return { files, foreignHooks: hasForeignHooks(own, repository) };
  }

  /**
   * The files that config takes in, and what they say, whatever the condition: one that does not hold here
   * may hold in a worktree or on another branch.
   */
  async #included(repository: Repository, entries: readonly ConfigEntry[], signal?: AbortSignal) {
    const files = new Set<string>();
    const included: ConfigEntry[] = [];
    const todo = [...entries];
    for (let entry = todo.pop(); entry !== undefined; entry = todo.pop()) {
      const file = includeTarget(entry, repository.root);
      if (file === null || files.has(file)) continue;
      files.add(file);
      if (!(await lstatOrNull(file))?.isFile) continue;
      const args = ["config", "--file", file, "--list", "-z", "--show-scope", "--show-origin"];
      const { stdout } = await this.#git.exec(repository, args, { okCodes: [1, 128], signal });
      const found = parseConfigList(stdout).map((one) => ({
        ...one,
        scope: "local",
        origin: `file:${file}`,
      }));
      included.push(...found);
      todo.push(...found);
    }
    return { included, files: [...files] };
  }
}

function stampOf(files: readonly string[]): Promise<string[]> {
  return Promise.all(files.map(async (file) => {
    const info = await lstatOrNull(file);
    // A directory's times change with every commit; only its being another one matters.
    if (info?.isDirectory) return String(info.ino);
    return info ? `${info.ino}:${info.size}:${info.mtime?.getTime()}:${info.ctime?.getTime()}` : "-";
  }));
}

function ownFiles({ root, ownDir, commonDir }: Repository): string[] {
  const configs = ["config", "config.worktree"].flatMap((
    name,
  ) => [path.join(commonDir, name), path.join(ownDir, name)]);
  return [...new Set([...configs, alternatesOf(commonDir), path.join(root, ".git")])];
}

function alternatesOf(commonDir: string): string {
  return path.join(commonDir, "objects", "info", "alternates");
}

/** The admin directory of a linked worktree when it and the worktree name each other; else null. */
async function linkedGitDir(main: Repository, directory: string): Promise<string | null> {
  const link = path.join(directory, ".git");
  if (!(await lstatOrNull(link))?.isFile) return null;
  const target = /^gitdir: (.+?)\r?\n?$/s.exec(await Deno.readTextFile(link).catch(() => ""))?.[1];
  if (target === undefined) return null;
  const ownDir = await Deno.realPath(path.resolve(directory, target)).catch(() => "");
  if (path.dirname(ownDir) !== path.join(main.commonDir, "worktrees")) return null;
  const back = await Deno.readTextFile(path.join(ownDir, "gitdir")).catch(() => "");
  const claimed = path.resolve(ownDir, back.replace(/\r?\n$/, ""));
  const real = await Deno.realPath(link).catch(() => null);
  return await Deno.realPath(claimed).catch(() => claimed) === real ? ownDir : null;
}

/** The admin directory of the worktree registered at `worktree`, also when the worktree itself is gone. */
export async function adminDirectory(main: Repository, worktree: string): Promise<string | null> {
  const all = path.join(main.commonDir, "worktrees");
  for (const { name } of await Array.fromAsync(Deno.readDir(all)).catch(() => [])) {
    const back = await Deno.readTextFile(path.join(all, name, "gitdir")).catch(() => "");
    const claimed = path.resolve(all, name, back.replace(/\r?\n$/, ""));
    if (claimed === path.join(worktree, ".git")) return path.join(all, name);
  }
  return null;
}

/** Whether a directory is itself a git directory (bare repository), judged by its layout. */
async function isBare(directory: string): Promise<boolean> {
  const parts = await Promise.all(
    ["HEAD", "objects", "refs"].map((name) => lstatOrNull(path.join(directory, name))),
  );
  return parts.every((part) => part !== null) && (await lstatOrNull(path.join(directory, ".git"))) === null;
}

/** Whether the object store borrows from a place outside the repository's own directory. */
async function leadsOut(repository: Repository): Promise<boolean> {
  const alternates = alternatesOf(repository.commonDir);
  if (!(await lstatOrNull(alternates))) return false;
  const objects = path.join(repository.commonDir, "objects");
  const lines = (await Deno.readTextFile(alternates)).split("\n").filter((line) =>
    line !== "" && line[0] !== "#"
  );
  const within = path.dirname(repository.commonDir);
  return lines.some((line) => !isWithin(within, path.resolve(objects, line)));
}

/**
 * Whether `.git` is a file that claims a git directory which does not claim this place back: a linked
 * worktree is named in its admin directory's `gitdir` file, a submodule in its git directory's core.worktree.
 */
async function isForeignLink(repository: Repository, own: readonly ConfigEntry[]): Promise<boolean> {
  if (repository.bare || !(await lstatOrNull(path.join(repository.root, ".git")))?.isFile) return false;
  if (repository.ownDir !== repository.commonDir) {
    return await linkedGitDir(repository, repository.root) === null;
  }
  const claims = own.filter((entry) => entry.key === "core.worktree");
  return !claims.some((entry) => path.resolve(repository.ownDir, entry.value ?? "") === repository.root);
}
