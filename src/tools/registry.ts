/** All tools, and which of them a server serves. */
// @ts-types="@types/picomatch"
import picomatch from "picomatch";
import { gbCommitSearch } from "./browse/gb_commit_search.ts";
import { gbFileSearch } from "./browse/gb_file_search.ts";
import { gbFindFiles } from "./browse/gb_find_files.ts";
import { gbListFiles } from "./browse/gb_list_files.ts";
import { gbListRepos } from "./browse/gb_list_repos.ts";
import { gbReadFile } from "./browse/gb_read_file.ts";
import { appendTool } from "./files/append.ts";
import { createDirectoryTool } from "./files/create_directory.ts";
import { moveFileTool } from "./files/move_file.ts";
import { writeFileTool } from "./files/write_file.ts";
import { batchCommit } from "./git/batch_commit.ts";
import { gitCherryPick } from "./git/git_cherry_pick.ts";
import { gitDiffSummary } from "./git/git_diff_summary.ts";
import { gitInventory } from "./git/git_inventory.ts";
import { gitLog } from "./git/git_log.ts";
import { gitMerge } from "./git/git_merge.ts";
import { gitParity } from "./git/git_parity.ts";
import { gitStatus } from "./git/git_status.ts";
import { listPresets } from "./git/list_presets.ts";
import { createWorktree } from "./sessions/create_worktree.ts";
import { getSessions } from "./sessions/get_sessions.ts";
import { removeSessionTool } from "./sessions/remove_session.ts";
import { type Tool, TOOLSETS } from "./tool.ts";

/** Every tool of the product, in the order in which they are listed. */
export const TOOLS: readonly Tool[] = [
  ...[createWorktree, removeSessionTool, getSessions],
  ...[gitStatus, gitInventory, gitParity, listPresets, gitLog, gitDiffSummary],
  ...[batchCommit, gitMerge, gitCherryPick],
  ...[gbListRepos, gbListFiles, gbReadFile, gbFindFiles, gbFileSearch, gbCommitSearch],
  ...[writeFileTool, appendTool, createDirectoryTool, moveFileTool],
];

/** Which tools the operator wants; names may be globs such as `git_*`. */
export interface Selection {
  readOnly: boolean;
  toolsets: readonly string[];
  tools: readonly string[];
  excludeTools: readonly string[];
}

/**
 * The tools to serve. Toolsets and tools add up, without either all are meant; then `excludeTools` takes
 * away, and read-only takes away every tool that writes, whatever was asked for.
 *
 * @throws {TypeError} For a name that matches nothing, and when nothing is left.
 */
export function selectTools(selection: Selection): Tool[] {
  const { readOnly, toolsets, tools, excludeTools } = selection;
  for (const name of toolsets) {
    if (!(TOOLSETS as readonly string[]).includes(name)) {
      throw new TypeError(`unknown toolset '${name}' (there are: ${TOOLSETS.join(", ")})`);
    }
  }
  const [wanted, unwanted] = [tools, excludeTools].map((patterns) => patterns.map(matcherOf));
  const everything = toolsets.length === 0 && tools.length === 0;
  const selected = TOOLS.filter((tool) =>
    (everything || toolsets.includes(tool.toolset) || wanted.some((matches) => matches(tool.name))) &&
    !unwanted.some((matches) => matches(tool.name)) &&
    (!readOnly || tool.hints.readOnly)
  );
  if (selected.length === 0) throw new TypeError("these flags leave no tool to serve");
  return selected;
}

function matcherOf(pattern: string): (name: string) => boolean {
  const matches = picomatch(pattern);
  if (!TOOLS.some((tool) => matches(tool.name))) {
    throw new TypeError(
      `no tool matches '${pattern}' (there are: ${TOOLS.map((tool) => tool.name).join(", ")})`,
    );
  }
  return matches;
}
