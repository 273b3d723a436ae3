/** The submodules that a repository declares: `.gitmodules`, see gitmodules(5). */
import { join } from "node:path";
import { lstatOrNull } from "../platform/jail.ts";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

const LARGEST = 1024 * 1024;

/** Declared paths, relative to the top, in the order of the file; none when it is missing or a link. */
export async function submodulePaths(
  git: GitRunner,
  repository: Repository,
  options: GitOptions = {},
): Promise<string[]> {
  const text = await readDeclarations(join(repository.root, ".gitmodules"));
  if (text === null) return [];
  // Git parses it, but from the bytes that were looked at: the file may be another one by now.
  const args = ["config", "--file", "-", "-z", "--get-regexp", "^submodule\\..*\\.path$"];
  const { code, stdout } = await git.exec(repository, args, {
    ...options,
    stdin: text,
    okCodes: [1, 3, 128],
  });
  if (code !== 0) return [];
  const paths = stdout.split("\0").filter((record) => record.includes("\n"))
    .map((record) => record.slice(record.indexOf("\n") + 1));
  return [...new Set(paths)];
}

async function readDeclarations(file: string): Promise<Uint8Array | null> {
  const seen = await lstatOrNull(file);
  if (!seen?.isFile || seen.size > LARGEST) return null;
  const open = await Deno.open(file, { read: true });
  const info = await open.stat();
  if (info.ino !== seen.ino || info.dev !== seen.dev) {
    open.close();
    return null;
  }
  return new Uint8Array(await new Response(open.readable).arrayBuffer());
}
