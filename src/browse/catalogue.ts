/** Which repositories are served, and by which names. */
import * as path from "node:path";
import { ToolError } from "../errors.ts";
import { editDistance } from "../platform/distance.ts";

/** A repository by the name callers know it by. */
export interface Served {
  /** Path below the served directory with `/` between folders; a bare one keeps its `.git`. */
  name: string;
  /** Real path of its working tree, or of itself when bare. */
  directory: string;
}

const DEEPEST = 12;
const MOST = 10_000;
const SUGGESTIONS = 3;
/** Names further apart than this share of their letters are no misspelling of each other. */
const FAR = 0.6;

/**
 * The repositories below a directory in the order of their names. Linked worktrees are none of their own.
 *
 * @throws {ToolError} `NOT_FOUND` when there is no such directory.
 */
export function findRepositories(directory: string): Served[] {
  if (!isDirectory(directory)) {
    throw new ToolError("NOT_FOUND", `-repos: '${directory}' is no directory that can be read`, {
      next: "The operator has to start the server with a directory of repositories.",
    });
  }
  const found: Served[] = [];
  const visit = (place: string, name: string, depth: number) => {
    const entries = entriesOf(place);
    const isRepository = holdsRepository(place, entries);
    if (isRepository) found.push({ name: name || path.basename(place), directory: place });
    // What lies in a repository is its own business, except in the directory that was named.
    if ((isRepository && depth > 0) || depth === DEEPEST || found.length >= MOST) return;
    for (const entry of entries) {
      if (!entry.isDirectory || entry.name === ".git") continue;
      visit(path.join(place, entry.name), name ? `${name}/${entry.name}` : entry.name, depth + 1);
    }
  };
  visit(directory, "", 0);
  return sorted(found);
}

/** Repositories that were named one by one: by their last part, and as much before it as tells them apart. */
export function nameDirectories(directories: readonly string[]): Served[] {
  const parts = [...new Set(directories)].map((directory) => ({
    directory,
    parts: directory.split(/[\\/]/).filter((part) => part !== ""),
  }));
  const tail = (all: string[], length: number) => all.slice(-length).join("/") || "root";
  return sorted(parts.map(({ directory, parts: own }) => {
    const others = parts.filter((other) => other.directory !== directory);
    let length = 1;
    const taken = () => others.some((other) => tail(other.parts, length) === tail(own, length));
    while (length < own.length && taken()) length++;
    return { name: tail(own, length), directory };
  }));
}

/**
 * The served repository of that name, with or without `.git`.
 *
 * @throws {ToolError} `NOT_FOUND` with the names that come near.
 */
export function pick(all: readonly Served[], name: string): Served {
  const found = all.find((served) => served.name === name) ??
    all.find((served) => served.name === `${name}.git` || `${served.name}.git` === name);
  if (found) return found;
  const near = suggestions(all.map((served) => served.name), name);
  const list = near.map((one) => `'${one}'`).join(", ").replace(/, ([^,]*)$/, " or $1");
  const message = `Repository '${name}' not found.${near.length > 0 ? ` Did you mean: ${list}?` : ""}`;
  throw new ToolError("NOT_FOUND", message, {
    next: near.length > 0
      ? "Use one of these names."
      : "Call gb_list_repos for the names; its query finds parts of them.",
  });
}

/** Up to three names that come near to a wrong one, nearest first; compared by their last part. */
export function suggestions(names: readonly string[], wrong: string): string[] {
  const key = (name: string) => (name.split("/").at(-1) ?? name).replace(/\.git$/, "").toLowerCase();
  const wanted = key(wrong);
  return names.map((name) => ({ name, distance: relative(key(name), wanted) }))
    .filter(({ distance }) => distance <= FAR)
    .sort((a, b) => a.distance - b.distance || compare(a.name, b.name))
    .slice(0, SUGGESTIONS)
    .map(({ name }) => name);
}

function relative(a: string, b: string): number {
  const longest = Math.max(a.length, b.length);
  if (longest === 0) return 1;
  // A part of the name is what people remember of it.
  if (a !== b && Math.min(a.length, b.length) > 2 && (a.includes(b) || b.includes(a))) return 0.3;
  return editDistance(a, b, Math.ceil(longest * FAR)) / longest;
}

function sorted(served: Served[]): Served[] {
  return served.sort((a, b) =>
    compare(a.name.toLowerCase(), b.name.toLowerCase()) || compare(a.name, b.name)
  );
}

/** By code unit: the same everywhere. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function isDirectory(directory: string): boolean {
  try {
    return Deno.statSync(directory).isDirectory;
  } catch {
    return false;
  }
}

function entriesOf(directory: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(directory)].sort((a, b) => compare(a.name, b.name));
  } catch {
    return [];
  }
}

function holdsRepository(place: string, entries: readonly Deno.DirEntry[]): boolean {
  const own = entries.find(({ name }) => name === ".git");
  if (own) return own.isDirectory || (own.isFile && !isLinkedWorktree(path.join(place, ".git")));
  const has = (name: string, directory: boolean) =>
    entries.some((entry) => entry.name === name && (directory ? entry.isDirectory : !entry.isDirectory));
  return has("HEAD", false) && has("objects", true) && has("refs", true);
}

function isLinkedWorktree(file: string): boolean {
  try {
    return /[\\/]worktrees[\\/][^\\/]+\s*$/.test(Deno.readTextFileSync(file));
  } catch {
    return true;
  }
}
