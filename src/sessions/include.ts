/**
 * `.worktreeinclude`: ignored files (`.env`, local settings) that a fresh worktree needs to run.
 *
 * The file stands at the top of the repository and has the syntax of gitignore(5). A file is copied when it
 * matches and is ignored by git as well, so tracked and merely untracked files never are.
 */
import * as path from "node:path";
import type { Repository } from "../git/repository.ts";
import type { GitRunner } from "../git/runner.ts";
import { copyInto, lstatOrNull } from "../platform/jail.ts";
import { DATABASE_FILE } from "./store.ts";

/** What copying did. */
export interface Included {
  /** Files copied. */
  copied: number;
  /** Files that matched and were not copied, relative to the top, at most ten. */
  skipped: string[];
}

const LIST_FILE = ".worktreeinclude";
const MOST_FILES = 5_000;
const MOST_BYTES = 512 * 1024 * 1024;
const MOST_SKIPPED = 10;

/** Copies what `main` lists from its working tree into a new worktree. */
export async function copyIncluded(
  git: GitRunner,
  main: Repository,
  worktree: Repository,
  signal?: AbortSignal,
): Promise<Included> {
  const included: Included = { copied: 0, skipped: [] };
  let bytes = 0;
  for (const file of await includedFiles(git, main, main, signal)) {
    const source = path.join(main.root, file);
    const size = (await lstatOrNull(source))?.size ?? 0;
    const room = included.copied < MOST_FILES && bytes + size <= MOST_BYTES;
    if (room && await copyInto(worktree.root, file, source).catch(() => false)) {
      included.copied++;
      bytes += size;
    } else if (included.skipped.length < MOST_SKIPPED) included.skipped.push(file);
  }
  return included;
}

/** The listed files of a worktree that are not the same in the main working tree: work that only it has. */
export async function changedIncluded(
  git: GitRunner,
  main: Repository,
  worktree: Repository,
  signal?: AbortSignal,
): Promise<string[]> {
  const changed: string[] = [];
  for (const file of await includedFiles(git, main, worktree, signal)) {
    if (!await sameContent(path.join(worktree.root, file), path.join(main.root, file))) changed.push(file);
  }
  return changed;
}

/** The files of one working tree that are ignored by git and matched by the main one's list. */
async function includedFiles(
  git: GitRunner,
  main: Repository,
  tree: Repository,
  signal?: AbortSignal,
): Promise<string[]> {
  const list = path.join(main.root, LIST_FILE);
  if (main.bare || !(await lstatOrNull(list))?.isFile) return [];
  const listing = ["ls-files", "-z", "--others", "--ignored", `--exclude-from=${list}`];
  const { stdout } = await git.exec(tree, listing, { signal });
  const matched = stdout.split("\0").filter((file) => file !== "" && !file.endsWith("/"));
  if (matched.length === 0) return [];
  // This command knows no literal pathspecs; `./` in front keeps a leading colon from being magic.
  const check = await git.exec(tree, ["check-ignore", "-z", "--stdin"], {
    stdin: matched.map((file) => `./${file}\0`).join(""),
    env: { GIT_LITERAL_PATHSPECS: "0" },
    okCodes: [1],
    signal,
  });
  const ignored = check.stdout.split("\0").filter((file) => file !== "").map((file) =>
    file.slice("./".length)
  );
  return ignored.filter((file) => !path.basename(file).startsWith(DATABASE_FILE));
}

async function sameContent(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([lstatOrNull(one), lstatOrNull(other)]);
  if (!a?.isFile || !b?.isFile || a.size !== b.size) return false;
  const [left, right] = await Promise.all([Deno.readFile(one), Deno.readFile(other)]);
  return left.every((byte, at) => byte === right[at]);
}
