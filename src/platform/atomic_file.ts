/**
 * Writing files for a caller: the new content stands whole in a file of its own before it takes the place of the
 * old one, and where it stands is looked at again before anything is written and before it is moved. A directory
 * that is swapped for a link in between leads nowhere.
 */
import * as path from "node:path";
import { ToolError } from "../errors.ts";

const TRIES = 300;

/** How a file is put into place. */
export interface ReplaceOptions {
  /** Permission bits of a new file, and of the old one to be kept. */
  mode?: number;
}

/**
 * Puts a file into place, whole or not at all.
 *
 * @param real Where it goes: a path without links on the way.
 * @throws {ToolError} `OutsideRoot` when a directory on the way was swapped; `PermissionDenied`.
 */
export async function replaceFile(
  real: string,
  content: Uint8Array,
  options: ReplaceOptions = {},
): Promise<void> {
  const directory = path.dirname(real);
  const temporary = path.join(directory, `.${crypto.randomUUID()}.orchestragent.tmp`);
  await denied(real, async () => {
    const file = await Deno.open(temporary, { write: true, createNew: true, mode: 0o600 });
    try {
      await checkPlace(temporary, file, real);
      for (let at = 0; at < content.length;) at += await file.write(content.subarray(at));
      await file.sync();
      if (options.mode !== undefined && Deno.build.os !== "windows") {
        await Deno.chmod(temporary, options.mode);
      }
      await checkPlace(temporary, file, real);
    } catch (error) {
      file.close();
      await untilDone(() => Deno.remove(temporary));
      throw error;
    }
    file.close();
    try {
      await Deno.rename(temporary, real);
    } catch (error) {
      await untilDone(() => Deno.remove(temporary));
      throw error instanceof Deno.errors.NotFound ? swapped(real) : error;
    }
  });
}

/** Runs `work`; what the system refuses becomes `PermissionDenied`. */
export async function denied<T>(real: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const isRefused = cause instanceof Deno.errors.PermissionDenied ||
      cause instanceof Deno.errors.NotCapable ||
      (cause instanceof Error && /read-only file system/i.test(cause.message));
    if (!isRefused) throw cause;
    throw new ToolError("PermissionDenied", `the system does not allow it: '${real}'`, {
      cause,
      details: { path: real },
    });
  }
}

/** Whether the open file is the one that stands at its path, with no link on the way. */
async function checkPlace(temporary: string, file: Deno.FsFile, real: string): Promise<void> {
  const [opened, resolved] = await Promise.all([file.stat(), Deno.realPath(temporary).catch(() => null)]);
  if (resolved === temporary) {
    const named = await Deno.lstat(temporary);
    if (named.ino === opened.ino && named.dev === opened.dev) return;
  }
  throw swapped(real);
}

function swapped(real: string): ToolError {
  return new ToolError("OutsideRoot", `a directory of '${real}' was changed while it was written`, {
    details: { path: real },
    next: "Look at what stands there now.",
  });
}

/**
 * Does something with a file whose directory is being swapped, again and again until it is done or there is no
 * hope: its path leads now to one place and now to another, and the file stands in one of them.
 */
export async function untilDone(work: () => Promise<void>): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      return await work();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, tries % 4));
    }
  }
}
