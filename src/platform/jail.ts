/**
 * The jail: where a path that comes from outside really leads, and the only door through which a file is
 * written for a caller.
 */
import * as path from "node:path";
import { ToolError } from "../errors.ts";

// deno-lint-ignore no-control-regex -- control characters in a path are what is refused
const CONTROL = /[\x00-\x1f\x7f]/;

/** Whether `inside` is `root` or lies below it; both absolute and resolved. Compares whole components. */
export function isWithin(root: string, inside: string): boolean {
  const relative = path.relative(root, inside);
  return relative === "" ||
    (relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative));
}

/**
 * Where `relative` leads from `root` once every symbolic link on the way is followed: the deepest existing
 * ancestor is resolved, the rest is appended as it stands.
 *
 * @throws {ToolError} `path_escapes_repository` when that is outside the root, or the path is malformed.
 */
export async function resolveInRoot(root: string, relative: string): Promise<string> {
  if (CONTROL.test(relative)) throw escapes(root, relative);
  return await resolveInReal(await Deno.realPath(root), relative, root);
}

/** {@linkcode resolveInRoot} for a root whose path is real already, and for names as git allows them. */
export async function resolveInReal(realRoot: string, relative: string, root = realRoot): Promise<string> {
  if (relative === "" || relative.includes("\0")) throw escapes(root, relative);
  const wanted = path.resolve(root, relative);
  // An absolute path may name the root through a link; where it really leads is looked at below.
  if (!path.isAbsolute(relative) && !isWithin(root, wanted) && !isWithin(realRoot, wanted)) {
    throw escapes(root, relative);
  }
  return await realPathWithin(realRoot, wanted, relative);
}

/** Where an absolute path really leads; `relative` is what the caller said. */
async function realPathWithin(root: string, wanted: string, relative: string): Promise<string> {
  let ancestor = wanted;
  const rest: string[] = [];
  while (true) {
    try {
      const real = path.join(await Deno.realPath(ancestor), ...rest);
      if (!isWithin(root, real)) throw escapes(root, relative);
      return real;
    } catch (error) {
      // Loops, names that are too long, directories that may not be read: it cannot be told where they lead.
      if (error instanceof ToolError || !isMissing(error)) throw escapes(root, relative);
      // A dangling link exists although what it names does not: following it would write elsewhere.
      if (await isSymlink(ancestor)) throw escapes(root, relative);
      rest.unshift(path.basename(ancestor));
      ancestor = path.dirname(ancestor);
    }
  }
}

/**
 * Checks a path that git is going to read or write by itself: relative, inside of the root, not through a link
 * that leads out of it, and not into a git directory. A link in the last place is what git tracks, not followed.
 *
 * @throws {ToolError} `path_escapes_repository`.
 */
export async function checkEntryPath(root: string, relative: string): Promise<void> {
  // Git allows every character but NUL in a path.
  if (relative === "" || relative.includes("\0") || path.isAbsolute(relative)) throw escapes(root, relative);
  const wanted = path.resolve(root, relative);
  const inner = path.relative(root, wanted);
  if (!isWithin(root, wanted) || inner.split(/[\\/]/).some((part) => part.toLowerCase() === ".git")) {
    throw escapes(root, relative);
  }
  if (inner !== "") await realPathWithin(root, path.dirname(wanted), relative);
}

/**
 * Copies one regular file into a root, keeping its mode. Parents are made; an existing file is left alone.
 *
 * @returns False when something already stands at the destination or the source is not a regular file.
 * @throws {ToolError} `path_escapes_repository` when the destination leads out of the root.
 */
export async function copyInto(root: string, relative: string, source: string): Promise<boolean> {
  const info = await Deno.lstat(source);
  if (!info.isFile) return false;
  const target = await resolveInRoot(root, relative);
  await Deno.mkdir(path.dirname(target), { recursive: true });
  // The parents exist now, so resolving again sees through a link that came in between.
  const settled = await resolveInRoot(root, relative);
  let out: Deno.FsFile;
  try {
    out = await Deno.open(settled, { write: true, createNew: true, mode: (info.mode ?? 0o600) & 0o777 });
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
  const input = await Deno.open(source, { read: true });
  await input.readable.pipeTo(out.writable);
  return true;
}

/** The real path of what exists of a path, with the rest as it stands: a name for something that may be missing. */
export async function realPathOf(file: string): Promise<string> {
  const rest: string[] = [];
  for (let ancestor = path.resolve(file);; ancestor = path.dirname(ancestor)) {
    try {
      return path.join(await Deno.realPath(ancestor), ...rest);
    } catch {
      // Missing, or one that the system cannot resolve: its name is all there is to go by.
      if (ancestor === path.dirname(ancestor)) return path.resolve(file);
      rest.unshift(path.basename(ancestor));
    }
  }
}

/** Whether a symbolic link stands at the path itself. */
export async function isSymlink(file: string): Promise<boolean> {
  return (await lstatOrNull(file))?.isSymlink ?? false;
}

/** What stands at the path itself, links not followed; null when nothing does. */
export async function lstatOrNull(file: string): Promise<Deno.FileInfo | null> {
  try {
    return await Deno.lstat(file);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
}

function escapes(root: string, relative: string): ToolError {
  return new ToolError("path_escapes_repository", `path '${relative}' leads outside '${root}'`, {
    details: { path: relative, root },
  });
}

/** Whether a path leaves its root when read as text; links are not looked at. */
export function leadsOutside(root: string, relative: string): boolean {
  return relative.includes("\0") || !isWithin(root, path.resolve(root, relative));
}

/** A path relative to the root, also when it is given absolutely through a link to the root. */
export async function relativeTo(root: string, file: string): Promise<string> {
  if (!path.isAbsolute(file) || isWithin(root, file)) return file;
  const real = path.join(await realPathOf(path.dirname(file)), path.basename(file));
  return isWithin(root, real) ? path.relative(root, real) || "." : file;
}
