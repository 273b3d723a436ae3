/** Keeping files of ours out of `git status`: `info/exclude`, never the user's `.gitignore`. See gitignore(5). */
import * as path from "node:path";
import { isWithin } from "../platform/jail.ts";
import type { Repository } from "./repository.ts";

/** Adds to `info/exclude` what of the patterns it does not have. */
export async function exclude({ commonDir }: Repository, patterns: readonly string[]): Promise<void> {
  const file = path.join(commonDir, "info", "exclude");
  const present = await Deno.readTextFile(file).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  });
  const lines = new Set(present.split(/\r?\n/));
  const missing = patterns.filter((pattern) => !lines.has(pattern));
  if (missing.length === 0) return;
  await Deno.mkdir(path.dirname(file), { recursive: true });
  const gap = present === "" || present.endsWith("\n") ? "" : "\n";
  // Appended, so that whatever the user wrote there stays as it is to the byte.
  await Deno.writeTextFile(file, `${gap}${missing.join("\n")}\n`, { append: true });
}

/** The pattern for a file and what is kept beside it under longer names; none when it is not in the working tree. */
export async function patternsFor({ root, commonDir, bare }: Repository, file: string): Promise<string[]> {
  const real = path.join(await Deno.realPath(path.dirname(file)), path.basename(file));
  if (bare || !isWithin(root, real) || isWithin(commonDir, real)) return [];
  const relative = path.relative(root, real).split(path.sep).join("/");
  return [`/${relative.replace(/[\\*?[]/g, "\\$&")}*`];
}
