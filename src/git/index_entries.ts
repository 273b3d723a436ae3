/** What the index holds beside plain files: `git ls-files --stage -v`. */
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/** One path of the index that is a gitlink, or that git does not look at. */
export interface IndexEntry {
  path: string;
  /** Octal mode, see {@linkcode GITLINK}. */
  mode: string;
  /** Marked assume-unchanged or skip-worktree: git does not look at the file. */
  unwatched: boolean;
}

/** Mode of a submodule, or of any repository that was added like one. */
export const GITLINK = "160000";

/** The entries that are more than a plain file or link. */
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
    if (/^[A-Z?] 1[02]/.test(record) && record[0] !== "S") return [];
    const [, tag, mode, path] = /^(\S) (\d{6}) [0-9a-f]+ \d\t(.*)$/s.exec(record) ?? [];
    return path === undefined ? [] : [{ path, mode, unwatched: /[a-zS]/.test(tag) }];
  });
}
