/** Trees: what is in one directory of a commit, and every path of it. */
import type { ObjectReader } from "./object_reader.ts";
import type { Repository } from "./repository.ts";
import type { GitRunner } from "./runner.ts";
import { ToolError } from "../errors.ts";

/** What a path of a tree is. */
export type EntryKind = "file" | "directory" | "link" | "submodule";

/** One entry of a tree. */
export interface TreeEntry {
  /** Bytes that are not UTF-8 stand as U+FFFD. */
  name: string;
  kind: EntryKind;
  oid: string;
}

/** All paths of a tree that are no directories, in git's order. The arrays belong together. */
export interface Listing {
  tree: string;
  paths: string[];
  oids: string[];
  kinds: EntryKind[];
}

const DECODER = new TextDecoder();
const MAX_LISTING = 256 * 1024 * 1024;

/** Parses a tree object: `<mode> <name>\0<binary name>` again and again. */
export function parseTree(bytes: Uint8Array, hexLength: number): TreeEntry[] {
  const entries: TreeEntry[] = [];
  const width = hexLength / 2;
  for (let at = 0; at < bytes.length;) {
    const blank = bytes.indexOf(0x20, at);
    const nul = bytes.indexOf(0, blank);
    const mode = DECODER.decode(bytes.subarray(at, blank));
    const name = DECODER.decode(bytes.subarray(blank + 1, nul));
    const oid = bytes.subarray(nul + 1, nul + 1 + width).toHex();
    entries.push({ name, kind: kindOf(mode), oid });
    at = nul + 1 + width;
  }
  return entries;
}

/** The entries of a tree by its object name. */
export async function readTree(objects: ObjectReader, oid: string): Promise<TreeEntry[]> {
  const tree = await objects.read(oid);
  if (tree?.type !== "tree") throw new ToolError("git_failed", `tree ${oid} cannot be read`);
  return parseTree(tree.bytes, oid.length);
}

/**
 * What stands at a path.
 *
 * @param root Object name of the tree the path starts at.
 * @param path `/`-separated; the empty path is the root itself.
 * @returns Null when nothing does.
 */
export async function entryAt(objects: ObjectReader, root: string, path: string): Promise<TreeEntry | null> {
  let entry: TreeEntry = { name: "", kind: "directory", oid: root };
  for (const part of path.split("/").filter((part) => part !== "")) {
    if (entry.kind !== "directory") return null;
    const found = (await readTree(objects, entry.oid)).find(({ name }) => name === part);
    if (!found) return null;
    entry = found;
  }
  return entry;
}

/** Every path below a tree. */
export async function listTree(
  git: GitRunner,
  repository: Repository,
  tree: string,
  signal?: AbortSignal,
): Promise<Listing> {
  const args = ["ls-tree", "-r", "-z", "--full-tree", tree];
  const { stdout, truncated } = await git.exec(repository, args, { maxStdout: MAX_LISTING, signal });
  if (truncated) throw new ToolError("git_failed", `the paths of '${repository.root}' fill over 256 MiB`);
  return parseListing(tree, stdout);
}

/** Parses `git ls-tree -r -z`: `<mode> <type> <name>\t<path>\0`. */
export function parseListing(tree: string, text: string): Listing {
  const listing: Listing = { tree, paths: [], oids: [], kinds: [] };
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\0", at);
    const tab = text.indexOf("\t", at);
    listing.kinds.push(kindOf(text.slice(at, at + 6)));
    listing.oids.push(text.slice(text.lastIndexOf(" ", tab) + 1, tab));
    listing.paths.push(text.slice(tab + 1, end));
    at = end + 1;
  }
  return listing;
}

function kindOf(mode: string): EntryKind {
  if (mode.startsWith("100")) return "file";
  if (mode === "120000") return "link";
  return mode === "160000" ? "submodule" : "directory";
}
