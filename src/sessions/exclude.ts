/** Keeping our own files out of `git status`: `info/exclude`, never the user's `.gitignore`. */
import * as path from "node:path";
import { isWithin } from "../platform/jail.ts";
import type { SessionScope } from "./scope.ts";
import { WORKTREES_DIR } from "./session.ts";

/** Adds what is missing of our patterns to the repository's `info/exclude`; call it under the lock. */
export async function excludeOwnFiles(scope: SessionScope): Promise<void> {
  const file = path.join(scope.main.commonDir, "info", "exclude");
  const present = await Deno.readTextFile(file).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  });
  const lines = new Set(present.split(/\r?\n/));
  const missing = (await ownPatterns(scope)).filter((pattern) => !lines.has(pattern));
  if (missing.length === 0) return;
  await Deno.mkdir(path.dirname(file), { recursive: true });
  const gap = present === "" || present.endsWith("\n") ? "" : "\n";
  // Appended, so that whatever the user wrote there stays as it is to the byte.
  await Deno.writeTextFile(file, `${gap}${missing.join("\n")}\n`, { append: true });
}

async function ownPatterns(scope: SessionScope): Promise<string[]> {
  const patterns = [`/${WORKTREES_DIR}/`];
  const database = await Deno.realPath(scope.store.file);
  if (isWithin(scope.main.root, database) && !isWithin(scope.main.commonDir, database)) {
    const relative = path.relative(scope.main.root, database).split(path.sep).join("/");
    patterns.push(`/${relative.replace(/[\\*?[]/g, "\\$&")}*`);
  }
  return patterns;
}
