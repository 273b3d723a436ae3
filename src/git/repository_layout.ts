/**
 * How a repository lies on the disk, and what in it would lead git to another one: links, alternates, and `.git`
 * files or directories that nobody claims back. See gitrepository-layout(5).
 */
import * as path from "node:path";
import { isSymlink, isWithin, lstatOrNull, realPathOf } from "../platform/jail.ts";
import type { ConfigEntry } from "./config_guard.ts";
import type { Repository } from "./repository.ts";

/** Parts of a git directory that lead elsewhere when they are links. */
export const LINKABLE = ["HEAD", "objects", "refs", "packed-refs", "index"];
/** Names of {@linkcode LINKABLE} that are links, in a repository's own or common directory. */
export async function linksIn({ ownDir, commonDir }: Repository): Promise<string[]> {
  const found = await Promise.all(LINKABLE.map(async (name) => {
    const places = await Promise.all([ownDir, commonDir].map((place) => isSymlink(path.join(place, name))));
    return places.includes(true);
  }));
  return [...LINKABLE.filter((_, at) => found[at]), ...await linksInObjects(commonDir)];
}

/** Packs and directories of objects that are links: what they hold belongs to another repository. */
async function linksInObjects(commonDir: string): Promise<string[]> {
  const links: string[] = [];
  try {
    for await (const { name, isSymlink } of Deno.readDir(path.join(commonDir, "objects"))) {
      if (isSymlink) links.push(`objects/${name}`);
    }
    for await (const { name, isSymlink } of Deno.readDir(path.join(commonDir, "objects", "pack"))) {
      if (isSymlink) links.push(`objects/pack/${name}`);
    }
  } catch { /* what cannot be listed cannot be read either */ }
  return links;
}

/** Where a repository names the object stores that it borrows from. */
export function alternatesOf(commonDir: string): string {
  return path.join(commonDir, "objects", "info", "alternates");
}

/** The admin directory of a linked worktree when it and the worktree name each other; else null. */
export async function linkedGitDir(main: Repository, directory: string): Promise<string | null> {
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
export async function isBare(directory: string): Promise<boolean> {
  const parts = await Promise.all(
    ["HEAD", "objects", "refs"].map((name) => lstatOrNull(path.join(directory, name))),
  );
  return parts.every((part) => part !== null) && (await lstatOrNull(path.join(directory, ".git"))) === null;
}

const LARGEST_ALTERNATES = 64 * 1024;

/** Whether the object store borrows from a place outside the repository, or in a way that hides where. */
export async function leadsOut(repository: Repository): Promise<boolean> {
  const file = alternatesOf(repository.commonDir);
  const info = await lstatOrNull(file);
  if (info === null) return false;
  if (!info.isFile || info.size > LARGEST_ALTERNATES) return true;
  const within = repository.bare ? repository.commonDir : path.dirname(repository.commonDir);
  const objects = path.join(repository.commonDir, "objects");
  for (const line of (await Deno.readTextFile(file)).split("\n")) {
    if (line === "" || line[0] === "#") continue;
    if (line[0] === '"') return true;
    const place = await realPathOf(path.resolve(objects, line));
    if (!isWithin(within, place)) return true;
    // One that borrows in its turn.
    if (await lstatOrNull(path.join(place, "info", "alternates")) !== null) return true;
  }
  return false;
}

/**
 * Whether `.git` leads to a git directory that does not claim this place back: a linked worktree is named in
 * its admin directory's `gitdir` file, a submodule in its git directory's core.worktree.
 */
export async function isForeignLink(repository: Repository, own: readonly ConfigEntry[]): Promise<boolean> {
  const { root, ownDir, commonDir, bare } = repository;
  if (bare) return ownDir !== commonDir;
  // The git directory lies inside of the working tree.
  if (ownDir === commonDir && isWithin(root, ownDir)) return false;
  if (!(await lstatOrNull(path.join(root, ".git")))?.isFile) return true;
  if (ownDir !== commonDir) return await linkedGitDir(repository, root) === null;
  const claims = own.filter((entry) => entry.key === "core.worktree");
  return !claims.some((entry) => path.resolve(ownDir, entry.value ?? "") === root);
}
