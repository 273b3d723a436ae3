/** The hooks that git would run in a working tree; see githooks(5). */
import { resolve } from "node:path";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/** Whether any hook stands where git looks for them. */
export async function hasHooks(git: GitRunner, tree: Repository, options: GitOptions = {}): Promise<boolean> {
  const args = ["rev-parse", "--git-path", "hooks"];
  const { stdout } = await git.exec(tree, args, { ...options, hooks: true });
  const directory = resolve(tree.root, stdout.replace(/\r?\n$/, ""));
  const entries = await Array.fromAsync(Deno.readDir(directory)).catch(() => []);
  return entries.some(({ name }) => !name.endsWith(".sample"));
}
