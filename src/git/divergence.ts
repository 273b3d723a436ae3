/** How far HEAD and another ref have gone apart: `git rev-list --left-right --count`. */
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";
import type { Divergence } from "./status.ts";

/** Null when the ref or HEAD is not there. */
export async function divergenceFrom(
  git: GitRunner,
  repository: Repository,
  ref: string,
  options: GitOptions = {},
): Promise<Divergence | null> {
  const args = ["rev-list", "--left-right", "--count", "--end-of-options", `HEAD...${ref}`, "--"];
  const { code, stdout } = await git.exec(repository, args, { ...options, okCodes: [128] });
  if (code !== 0) return null;
  const [ahead, behind] = stdout.trim().split("\t").map(Number);
  return { ahead, behind };
}
