/** Writing, appending, moving and making directories, in an allowed root. */
import * as path from "node:path";
import { ToolError } from "../errors.ts";
import { denied, replaceFile, untilDone } from "../platform/atomic_file.ts";
import { lstatOrNull } from "../platform/jail.ts";
import { resolveTarget, type Target, type WritePlace } from "./target.ts";

/** The largest file that is read and written back, bytes. */
export const LARGEST = 64 * 1024 * 1024;
const ENCODER = new TextEncoder();
const PERMISSIONS = 0o777;
const USUAL_MODE = 0o644;

/** What was written. */
export interface Written {
  /** Bytes of the content that was given. */
  bytes: number;
  /** Nothing stood there before. */
  created: boolean;
}

/**
 * Writes a whole file; directories above it are made, and the mode of one that stands there is kept.
 *
 * @throws {ToolError} `OutsideRoot`, `PermissionDenied`, `InvalidTarget`.
 */
export async function writeFile(place: WritePlace, given: string, content: string): Promise<Written> {
  const target = await resolveTarget(place, given);
  checkRegular(target);
  const bytes = ENCODER.encode(content);
  const settled = await withParents(place, target);
  await replaceFile(settled.real, bytes, { mode: modeOf(settled) });
  return { bytes: bytes.length, created: target.info === null };
}

/**
 * Adds to the end of a file that is there.
 *
 * @throws {ToolError} `NotFound`, `OutsideRoot`, `PermissionDenied`, `InvalidTarget`, `FileTooLarge`.
 */
export async function appendToFile(place: WritePlace, given: string, content: string): Promise<Written> {
  const target = await resolveTarget(place, given);
  const before = await readTarget(target);
  const added = ENCODER.encode(content);
  const whole = new Uint8Array(before.length + added.length);
  whole.set(before);
  whole.set(added, before.length);
  await replaceFile(target.real, whole, { mode: modeOf(target) });
  return { bytes: added.length, created: false };
}

/** The bytes of a regular file. */
export async function readTarget(target: Target): Promise<Uint8Array> {
  if (target.info === null) throw notFound(target);
  checkRegular(target);
  if (target.info.size > LARGEST) {
    throw new ToolError("InvalidTarget", `'${target.given}' is larger than ${LARGEST} bytes`, {
      details: { path: target.given },
    });
  }
  return await denied(target.real, () => Deno.readFile(target.real));
}

/**
 * Makes a directory and those above it; one that is there already is fine.
 *
 * @throws {ToolError} `OutsideRoot`, `PermissionDenied`, `InvalidTarget`.
 */
export async function createDirectory(place: WritePlace, given: string): Promise<{ created: boolean }> {
  const target = await resolveTarget(place, given);
  if (target.info && !target.info.isDirectory) throw notA(target, "a directory");
  await makeDirectories(place, target.given, target.real);
  return { created: target.info === null };
}

/**
 * Moves a file or a directory. A file that stands at the destination is replaced.
 *
 * @throws {ToolError} `NotFound`, `OutsideRoot`, `PermissionDenied`, `InvalidTarget`.
 */
export async function moveFile(place: WritePlace, source: string, destination: string): Promise<void> {
  const from = await resolveTarget(place, source);
  const to = await resolveTarget(place, destination);
  if (from.info === null) throw notFound(from);
  if (from.real === to.real) throw invalid(to, "is the source itself");
  if (to.real.startsWith(from.real + path.sep)) throw invalid(to, "lies in the source");
  if (!await place.mayTouch(path.dirname(from.real))) throw invalid(from, "is a root");
  if (!from.info.isFile && !from.info.isDirectory) throw notA(from, "a file or a directory");
  if (to.info?.isDirectory) {
    throw invalid(to, "is a directory that is there already: name the new path in it");
  }
  if (to.info && (!to.info.isFile || from.info.isDirectory)) throw invalid(to, "is there already");
  if (await lstatOrNull(path.dirname(to.real)) === null) {
    throw new ToolError("NotFound", `the directory of '${destination}' does not exist`, {
      next: "Make it with create_directory.",
      details: { path: destination },
    });
  }
  await denied(to.real, () => Deno.rename(from.real, to.real));
  const landed = await Deno.realPath(to.real).catch(() => null);
  if (landed === to.real) return;
  // A directory was swapped for a link meanwhile: back to where it was.
  await untilDone(() => Deno.rename(to.real, from.real));
  throw new ToolError("OutsideRoot", `a directory of '${destination}' was changed while it was written`, {
    details: { path: destination, root: place.root },
  });
}

/** The target with all directories above it made; resolved again, because they may be links now. */
async function withParents(place: WritePlace, target: Target): Promise<Target> {
  if (target.info !== null) return target;
  await makeDirectories(place, target.given, path.dirname(target.real));
  const settled = await resolveTarget(place, target.given);
  checkRegular(settled);
  return settled;
}

async function makeDirectories(place: WritePlace, given: string, real: string): Promise<void> {
  await denied(real, async () => {
    try {
      await Deno.mkdir(real, { recursive: true });
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists || error instanceof Deno.errors.NotADirectory) {
        throw new ToolError("InvalidTarget", `a part of '${given}' is a file`, { details: { path: given } });
      }
      throw error;
    }
  });
  if (await Deno.realPath(real) === real) return;
  throw new ToolError("OutsideRoot", `a directory of '${given}' was changed while it was made`, {
    details: { path: given, root: place.root },
  });
}

function modeOf({ info }: Target): number {
  return (info?.mode ?? USUAL_MODE) & PERMISSIONS;
}

function checkRegular(target: Target): void {
  if (target.info && !target.info.isFile) throw notA(target, "a file");
}

function notA(target: Target, what: string): ToolError {
  return invalid(target, `is not ${what}`);
}

function invalid({ given }: Target, why: string): ToolError {
  return new ToolError("InvalidTarget", `'${given}' ${why}`, { details: { path: given } });
}

function notFound({ given }: Target): ToolError {
  return new ToolError("NotFound", `'${given}' does not exist`, { details: { path: given } });
}
