/**
 * What branches point at, read from git's own files: a search asks this of every repository, and a git for
 * each would cost more than the search. See gitrepository-layout(5); other ref storage is left to git.
 */
import * as path from "node:path";
import type { Repository } from "../git/repository.ts";
import { smallFile } from "../platform/small_file.ts";

/** A branch and its commit; null before the first commit. */
export interface Head {
  /** Full name, such as `refs/heads/main`; null when HEAD is detached. */
  ref: string | null;
  commit: string | null;
}

interface Packed {
  stamp: string;
  refs: Map<string, string>;
}

const OBJECT_NAME = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const DEEPEST = 5;
const packed = new Map<string, Packed>();

/** The current branch of a working tree, or of a bare repository; undefined when git has to be asked. */
export function readHead({ ownDir, commonDir }: Repository): Head | undefined {
  const text = smallFile(path.join(ownDir, "HEAD"))?.trim();
  if (text === undefined || usesTables(commonDir)) return undefined;
  if (OBJECT_NAME.test(text)) return { ref: null, commit: text };
  const [, ref] = /^ref:\s*(refs\/\S+)$/.exec(text) ?? [];
  if (ref === undefined) return undefined;
  const commit = readRef({ commonDir }, ref);
  return commit === undefined ? undefined : { ref, commit };
}

/** The commit of a full ref name; null when there is no such ref, undefined when git has to be asked. */
export function readRef(
  { commonDir }: Pick<Repository, "commonDir">,
  ref: string,
  depth = 0,
): string | null | undefined {
  if (usesTables(commonDir) || depth > DEEPEST || !isPlain(ref)) return undefined;
  const text = smallFile(path.join(commonDir, ref))?.trim();
  if (text === undefined) return packedRefs(commonDir).get(ref) ?? null;
  if (OBJECT_NAME.test(text)) return text;
  const [, target] = /^ref:\s*(refs\/\S+)$/.exec(text) ?? [];
  return target === undefined ? undefined : readRef({ commonDir }, target, depth + 1);
}

/**
 * What tells that a ref has come, gone or moved: git renames a file into place for each, which changes the time
 * of the directory. Null when that is too fresh to be relied on, or refs are stored otherwise.
 */
export function refsStamp({ ownDir, commonDir }: Repository): string | null {
  if (usesTables(commonDir)) return null;
  const parts = [smallFile(path.join(ownDir, "HEAD")) ?? "", stampOf(path.join(commonDir, "packed-refs"))];
  let newest = 0;
  const visit = (directory: string) => {
    const time = infoOf(directory)?.mtime?.getTime() ?? 0;
    newest = Math.max(newest, time);
    parts.push(`${directory}:${time}`);
    for (const entry of entriesOf(directory)) {
      if (entry.isDirectory) visit(path.join(directory, entry.name));
    }
  };
  visit(path.join(commonDir, "refs"));
  return Date.now() - newest < RACY_MS ? null : parts.join("\n");
}

/** Within this time two changes may carry the same time. */
const RACY_MS = 2_000;

/** Names that lead to a file of the repository and nowhere else. */
function isPlain(ref: string): boolean {
  return /^refs\/[^\0]+$/.test(ref) &&
    !ref.split("/").some((part) => part === ".." || part === "." || part === "");
}

function usesTables(commonDir: string): boolean {
  return infoOf(path.join(commonDir, "reftable")) !== null;
}

function packedRefs(commonDir: string): Map<string, string> {
  const file = path.join(commonDir, "packed-refs");
  const stamp = stampOf(file);
  const known = packed.get(commonDir);
  if (known?.stamp === stamp) return known.refs;
  const refs = new Map<string, string>();
  for (const line of (smallFile(file) ?? "").split("\n")) {
    const [, oid, name] = /^([0-9a-f]{40,64}) (\S.*)$/.exec(line) ?? [];
    if (oid !== undefined) refs.set(name, oid);
  }
  packed.set(commonDir, { stamp, refs });
  return refs;
}

function stampOf(file: string): string {
  const info = infoOf(file);
  return info ? `${info.ino}:${info.size}:${info.mtime?.getTime()}` : "-";
}

function infoOf(file: string): Deno.FileInfo | null {
  try {
    return Deno.statSync(file);
  } catch {
    return null;
  }
}

function entriesOf(directory: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(directory)];
  } catch {
    return [];
  }
}
