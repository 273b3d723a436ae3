/**
 * Finding the git program: an absolute path from a trusted PATH directory, and its version.
 */
import * as path from "node:path";
import { ToolError } from "../errors.ts";
import { isWithin } from "../platform/jail.ts";
import { run } from "../platform/process.ts";

/** The git program in use. */
export interface GitBinary {
  /** Absolute path. */
  file: string;
  /** As git prints it: `2.39.5`. */
  version: string;
  /** Whether the version is at least `major.minor`. */
  atLeast(major: number, minor: number): boolean;
}

const OLDEST = [2, 30] as const;

/**
 * Looks for git in the directories of `PATH` that are absolute and outside every root, so that a `git`
 * planted in a repository is never the one that runs.
 *
 * @throws {ToolError} `git_not_found`, `git_too_old`.
 */
export async function findGit(
  searchPath: string,
  env: Record<string, string>,
  roots: readonly string[],
): Promise<GitBinary> {
  const forbidden: string[] = [];
  const names = Deno.build.os === "windows" ? ["git.exe"] : ["git"];
  for (const directory of trustedDirectories(searchPath, roots)) {
    for (const name of names) {
      const file = path.join(directory, name);
      if (!await isProgram(file)) continue;
      try {
        const version = await versionOf(file, env, directory);
        if (version) return version;
      } catch (error) {
        if (!(error instanceof Deno.errors.NotCapable)) throw error;
        forbidden.push(file);
      }
    }
  }
  if (forbidden.length === 0) throw new ToolError("git_not_found", "no git program found in PATH");
  throw new ToolError("git_not_found", `this server may not run ${forbidden.join(", ")}`, {
    next: "Permission is bound to the git that stood first in PATH when the server started: restart it.",
  });
}

/** The entries of a PATH that may be trusted to hold programs. */
export function trustedDirectories(searchPath: string, roots: readonly string[]): string[] {
  return searchPath
    .split(path.delimiter)
    .filter((entry) => path.isAbsolute(entry) && !roots.some((root) => isWithin(root, entry)));
}

async function isProgram(file: string): Promise<boolean> {
  try {
    const info = await Deno.stat(file);
    return info.isFile && (Deno.build.os === "windows" || ((info.mode ?? 0) & 0o111) !== 0);
  } catch {
    return false;
  }
}

async function versionOf(file: string, env: Record<string, string>, cwd: string): Promise<GitBinary | null> {
  let words: string;
  try {
    const result = await run({ file, args: ["--version"], cwd, env, timeoutMs: 10_000, maxStdout: 4096 });
    words = new TextDecoder().decode(result.stdout).trim();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) return null;
    throw error;
  }
  const version = parseVersion(words);
  if (!version) return null;
  if (!version.atLeast(...OLDEST)) {
    throw new ToolError("git_too_old", `'${file}' is git ${version.text}; 2.30 or newer is needed`);
  }
  return { file, version: version.text, atLeast: version.atLeast };
}

/** Reads `git version 2.39.5 (Apple Git-154)`; null when it is no such line. */
export function parseVersion(line: string): { text: string; atLeast: GitBinary["atLeast"] } | null {
  const match = /^git version ((\d+)\.(\d+)[^\s]*)/.exec(line);
  if (!match) return null;
  const [major, minor] = [Number(match[2]), Number(match[3])];
  return { text: match[1], atLeast: (a, b) => major > a || (major === a && minor >= b) };
}
