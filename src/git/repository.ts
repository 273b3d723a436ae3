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
import {
  alternatesOf,
  isBare,
  isForeignLink,
  leadsOut,
  LINKABLE,
  linkedGitDir,
  linksIn,
} from "./repository_layout.ts";
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
  /** Directory of its hooks when config, anybody's, names one. */
  hooksPath?: string;
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
    return await this.openReal(await realDirectory(directory), signal);
  }

  /** {@linkcode open} for a path that is real already. */
  async openReal(real: string, signal?: AbortSignal): Promise<Repository> {
    const known = this.#checked.get(real);
    if (known && String(known.stamp) === String(stampOf(known.files))) return known.repository;
    const repository = await this.#discover(real, signal);
    const own = ownFiles(repository, real);
    // Taken before they are read: a change in between is noticed at the next call.
    const stamp = stampOf(own);
    const { files: included, ...hooks } = await this.#judge(repository, signal);
    Object.assign(repository, hooks);
    const files = [...own, ...included];
    this.#checked.set(real, { repository, stamp: [...stamp, ...stampOf(included)], files });
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
      ...(main.hooksPath ? { hooksPath: main.hooksPath } : {}),
      ceiling: path.dirname(directory),
    };
  }

  async #discover(real: string, signal?: AbortSignal): Promise<Repository> {
    const place: GitPlace = await isBare(real) ? { root: real, gitDir: real } : { root: real };
    const bare = (await this.#ask(place, "--is-bare-repository", signal)) === "true";
    const ownDir = await this.#path(place, "--absolute-git-dir", signal);
    const commonDir = await this.#path(place, "--git-common-dir", signal);
    const root = bare ? commonDir : await this.#path(place, "--show-toplevel", signal);
    // In the working tree; in the git directory of one; or above a bare one that a `.git` file points to.
    const inside = isWithin(root, real) || (bare && isWithin(real, commonDir)) ||
      (isWithin(commonDir, real) && path.dirname(commonDir) === root);
    if (!inside) {
      throw new ToolError(
        "unsafe_repo_config",
        `the repository at '${real}' says its files are in '${root}' (core.worktree or .git)`,
        { details: { keys: ["core.worktree"] } },
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
      for (const name of await linksIn(repository)) keys.push(`.git/${name} (link)`);
      if (keys.length > 0) {
        throw new ToolError(
          "unsafe_repo_config",
          `the config of '${repository.root}' would run programs or lead elsewhere: ${keys.join(", ")}`,
          { details: { keys } },
        );
      }
    }
    const hooksPath = entries.findLast(({ key, scope }) => key === "core.hookspath" && scope !== "command")
      ?.value;
    return {
      files,
      foreignHooks: hasForeignHooks(own, repository),
      ...(hooksPath ? { hooksPath: path.resolve(repository.root, hooksPath) } : {}),
    };
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

/**
 * What files look like now. Every call asks this of every repository it touches, and a system call made at once
 * takes a tenth of one that is waited for.
 */
function stampOf(files: readonly string[]): string[] {
  return files.map((file) => {
    if (file.endsWith(LAYOUT_MARK)) return layoutOf(file.slice(0, -LAYOUT_MARK.length));
    const info = infoOf(file);
    // A directory's times change with every commit; only its being another one matters.
    if (info?.isDirectory) return String(info.ino);
    return info ? `${info.ino}:${info.size}:${info.mtime?.getTime()}:${info.ctime?.getTime()}` : "-";
  });
}

function infoOf(file: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(file);
  } catch {
    return null;
  }
}

/** What the verdict on a repository rests on, and what would make git find another one from `from`. */
function ownFiles({ root, ownDir, commonDir }: Repository, from: string): string[] {
  const places = [...new Set([commonDir, ownDir])];
  const between: string[] = [];
  for (let place = from; isWithin(root, place); place = path.dirname(place)) {
    between.push(path.join(place, ".git"));
    if (place === path.dirname(place)) break;
  }
  const present = places.flatMap((place) =>
    SOMETIMES.map((name) => path.join(place, name)).filter((file) => infoOf(file) !== null)
  );
  return [
    ...new Set([
      ...places.map((place) => `${place}${LAYOUT_MARK}`),
      ...places.map((place) => path.join(place, "config")),
      ...present,
      alternatesOf(commonDir),
      path.join(commonDir, "objects", "pack"),
      path.join(root, ".git"),
      ...between,
    ]),
  ];
}

/** Files of a git directory that few have; that one appears shows in its layout. */
const SOMETIMES = ["config.worktree", "commondir", "gitdir"];
/** Behind a directory: which of its entries there are, and whether they are links, not what is in them. */
const LAYOUT_MARK = "\0layout";

function layoutOf(directory: string): string {
  const watched = [...SOMETIMES, ...LINKABLE];
  try {
    return [...Deno.readDirSync(directory)]
      .filter(({ name }) => watched.includes(name))
      .map(({ name, isSymlink }) => `${name}${isSymlink ? "@" : ""}`)
      .sort().join();
  } catch {
    return "";
  }
}

async function realDirectory(directory: string): Promise<string> {
  try {
    return await Deno.realPath(directory);
  } catch (cause) {
    const why = cause instanceof Deno.errors.NotFound
      ? "does not exist"
      : `cannot be read: ${messageOf(cause)}`;
    const message = `directory '${directory}' ${why}`;
    throw new ToolError("not_a_git_repository", message, { cause, details: { path: directory } });
  }
}
