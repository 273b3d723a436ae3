/** Staging some lines of a file: `git diff -U0`, cut to the lines wanted, into `git apply --cached`. */
import { ToolError } from "../errors.ts";
import { NO_DIFF_PROGRAMS } from "./environment.ts";
import { changedLines, type LineRange, parsePatch, selectLines } from "./line_selection.ts";
import type { Repository } from "./repository.ts";
import { bytesOf, type GitOptions, type GitRunner } from "./runner.ts";

/**
 * Stages what changed within the ranges, in the index that `options.env` names.
 *
 * @throws {ToolError} `stage_failed` when nothing changed there, with the lines that did; what git throws.
 */
export async function stageLines(
  git: GitRunner,
  tree: Repository,
  path: string,
  ranges: readonly LineRange[],
  options: GitOptions,
): Promise<void> {
  const shown = ranges.map(({ from, to }) => `${from}-${to}`).join(", ");
  const refuse = (why: string) => new ToolError("stage_failed", `${path}, lines ${shown}: ${why}`);
  if (ranges.some(({ from, to }) => to < from)) throw refuse("a range ends before it begins");
  // An untracked file has no lines to compare with until git intends to add it.
  await git.exec(tree, ["add", "--intent-to-add", "--", path], options);
  const args = ["diff", "-U0", "--no-renames", "--no-color", "--no-relative", "--ignore-submodules=all"];
  const prefixes = ["--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0", "--full-index"];
  const diff = await git.exec(tree, [...args, ...prefixes, ...NO_DIFF_PROGRAMS, "--", path], {
    ...options,
    latin1: true,
  });
  if (/^(deleted file mode|Binary files) /m.test(diff.stdout.split("\n@@ ")[0])) {
    throw refuse("the file is deleted or binary; list it without lines");
  }
  // A changed mode is no line.
  const patch = parsePatch(diff.stdout.replace(/^(old|new) mode \d+\n/gm, ""));
  const selected = selectLines(patch, ranges);
  if (selected === null) {
    const changed = changedLines(patch);
    throw refuse(changed === "" ? "the file is unchanged" : `no change there; changed are lines ${changed}`);
  }
  const apply = ["apply", "--cached", "--unidiff-zero", "--whitespace=nowarn", "-"];
  await git.exec(tree, apply, { ...options, stdin: bytesOf(selected) });
}
