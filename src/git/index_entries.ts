/** What the index holds: `git ls-files --stage -v`. */
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/** One path of the index. */
export interface IndexEntry {
  path: string;
  /** Octal mode: `100644`, `100755`, `120000` for a link, `160000` for a submodule. */
  mode: string;
  /** Marked assume-unchanged or skip-worktree: git does not look at the file. */
  unwatched: boolean;
}

/** Mode of a submodule, or of any repository that was added like one. */
export const GITLINK = "160000";

/** All entries; a path with conflicts stands there once for each side. */
export async function listIndex(
  git: GitRunner,
  tree: Repository,
  options: GitOptions = {},
): Promise<IndexEntry[]> {
  return parseIndex((await git.exec(tree, ["ls-files", "--stage", "-v", "-z"], options)).stdout);
}

/** Parses `<tag> <mode> <object> <stage>\t<path>`; see git-ls-files(1): lower case and `S` tags are unwatched. */
export function parseIndex(text: string): IndexEntry[] {
  return text.split("\0").flatMap((record) => {
    const [, tag, mode, path] = /^(\S) (\d{6}) [0-9a-f]+ \d\t(.*)$/s.exec(record) ?? [];
    return path === undefined ? [] : [{ path, mode, unwatched: /[a-zS]/.test(tag) }];
  });
}
