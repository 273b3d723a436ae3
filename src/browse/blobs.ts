/** Files of a commit: found by path, read as text. */
import { ToolError } from "../errors.ts";
import type { ObjectInfo } from "../git/object_reader.ts";
import { entryAt, readTree, type TreeEntry } from "../git/trees.ts";
import type { Revision, View } from "./view.ts";

/** The most that is returned of one file, bytes. */
export const MAX_RETURNED = 128 * 1024;
/** The largest file of which a part can be had, bytes: all of it has to pass through memory. */
const MAX_READ = 64 * 1024 * 1024;
const SNIFFED = 8_000;
const DECODER = new TextDecoder();

/** Whether bytes are no text: a NUL in the first 8,000, as git decides it. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, SNIFFED).includes(0);
}

/** The bytes as text; what is no UTF-8 becomes U+FFFD. */
export function textOf(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
}

/** Text cut into lines; a line feed at the very end starts no further one. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Lines with their 1-based numbers, as `12: text`. */
export function numbered(lines: readonly string[], first: number): string {
  return lines.map((line, at) => `${first + at}: ${line}\n`).join("");
}

/** Which lines are wanted; 1-based, both included. */
export interface LineRange {
  startLine?: number;
  endLine?: number;
}

/** A file, or the part of it that was asked for. */
export interface FileText {
  content: string;
  totalLines: number;
}

/**
 * A file of a revision with its lines numbered.
 *
 * @throws {ToolError} `NOT_FOUND`, `FILE_TOO_LARGE`, `INVALID_REQUEST` for one that is binary.
 */
export async function readFile(view: View, at: Revision, path: string, range: LineRange): Promise<FileText> {
  const { oid, size } = await blobAt(view, at, path);
  const whole = range.startLine === undefined && range.endLine === undefined;
  if (size > (whole ? MAX_RETURNED : MAX_READ)) throw tooLarge(path, size);
  const blob = await view.objects.read(oid);
  if (!blob) throw unreadable(path, oid);
  if (isBinary(blob.bytes)) {
    throw new ToolError("INVALID_REQUEST", `Binary file cannot be displayed: ${path}`, {
      next: "Only text can be read here.",
    });
  }
  const lines = linesOf(textOf(blob.bytes));
  const first = Math.max(1, range.startLine ?? 1);
  const last = Math.max(first, range.endLine ?? lines.length);
  const chosen = lines.slice(first - 1, last);
  const length = chosen.reduce((sum, line) => sum + line.length + 1, 0);
  if (length > MAX_RETURNED) throw tooLarge(path, length);
  return { content: numbered(chosen, first), totalLines: lines.length };
}

async function blobAt({ objects }: View, at: Revision, path: string): Promise<ObjectInfo> {
  // Git finds ordinary names by itself, at once; the others are looked for directory by directory.
  const isPlain = !path.includes("\ufffd") && !path.split("/").some((part) => /^\.{0,2}$/.test(part));
  const direct = isPlain ? await objects.info(`${at.tree}:${path}`) : null;
  if (direct?.type === "blob") return direct;
  const entry = await entryAt(objects, at.tree, path);
  if (!entry || entry.kind === "directory" || entry.kind === "submodule") throw noFile(path, entry);
  const found = await objects.info(entry.oid);
  if (found?.type !== "blob") throw unreadable(path, entry.oid);
  return found;
}

/**
 * The entries of a directory of a revision: directories first, each kind by name without regard to case.
 *
 * @throws {ToolError} `NOT_FOUND`.
 */
export async function readDirectory(view: View, at: Revision, path: string): Promise<TreeEntry[]> {
  const entry = await entryAt(view.objects, at.tree, path);
  if (entry?.kind !== "directory") {
    throw new ToolError("NOT_FOUND", `Path not found: ${path}`, {
      next: entry ? "It is a file: read it with gb_read_file." : "List the directory above it.",
    });
  }
  const entries = await readTree(view.objects, entry.oid);
  const rank = ({ kind }: TreeEntry) => kind === "directory" ? 0 : 1;
  const order = new Intl.Collator("en", { sensitivity: "base" });
  return entries.sort((a, b) => rank(a) - rank(b) || order.compare(a.name, b.name));
}

function noFile(path: string, entry: TreeEntry | null): ToolError {
  const why = entry && { directory: "a directory", submodule: "a submodule", file: "", link: "" }[entry.kind];
  return new ToolError("NOT_FOUND", `File not found: ${path}${why ? ` (it is ${why})` : ""}`, {
    next: why === "a directory" ? "List it with gb_list_files." : "Find it with gb_find_files.",
  });
}

function unreadable(path: string, oid: string): ToolError {
  return new ToolError("git_failed", `The file ${path} is there, but its content (${oid}) cannot be read`, {
    next: "The repository is a partial clone, or damaged: 'git fsck' in it tells.",
  });
}

function tooLarge(path: string, size: number): ToolError {
  return new ToolError("FILE_TOO_LARGE", `File exceeds maximum size of 128KB: ${path} (${size} bytes)`, {
    ...(size > MAX_READ ? { next: "Files over 64 MiB cannot be read here." } : {}),
    details: { size },
  });
}
