import * as z from "zod";
import { removeSession } from "../../sessions/remove.ts";
import { defineTool } from "../tool.ts";

/** `remove_session`: takes a session's worktree and branch away once its work is safe. */
export const removeSessionTool = defineTool({
  name: "remove_session",
  toolset: "sessions",
  title: "Remove session",
  description:
    "Remove a session's worktree and branch. With uncommitted files or commits that are not in the " +
    "base branch it removes nothing and returns hasUnmergedChanges and a warning: show it to the user before " +
    "calling again with force. force keeps that work under backupRefs; ignored files (build output) are deleted.",
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  input: z.strictObject({
    sessionId: z.string(),
    force: z.boolean().default(false).describe("Remove although work is unmerged; it is kept in backup refs"),
  }),
  output: z.strictObject({
    sessionId: z.string(),
    removedAt: z.string().optional(),
    hasUnmergedChanges: z.boolean(),
    unmergedCommits: z.int().min(0),
    uncommittedFiles: z.int().min(0),
    warning: z.string().optional(),
    backupRefs: z.array(z.string()).optional(),
    keptSubmodules: z.string().optional(),
    keptBranch: z.string().optional(),
  }),
  async run({ sessionId, force }, { app, workspace, signal }) {
    const removal = await removeSession(await app.sessions(workspace), sessionId, { force, signal });
    const { unmergedCommits, uncommittedFiles } = removal;
    const removed = removal.removedAt !== null;
    return {
      sessionId: removal.id,
      ...(removed ? { removedAt: new Date(removal.removedAt!).toISOString() } : {}),
      hasUnmergedChanges: !removed,
      unmergedCommits,
      uncommittedFiles,
      ...(removed ? {} : {
        warning:
          `Session has ${unmergedCommits} unpushed commits and ${uncommittedFiles} uncommitted files. ` +
          "Call with force=true to remove anyway.",
      }),
      ...(removal.backupRefs.length > 0 ? { backupRefs: removal.backupRefs } : {}),
      ...(removal.keptModules ? { keptSubmodules: removal.keptModules } : {}),
      ...(removed && removal.keptBranch ? { keptBranch: removal.keptBranch } : {}),
    };
  },
  render(removal) {
    const { sessionId, uncommittedFiles, unmergedCommits, warning, backupRefs, keptSubmodules, keptBranch } =
      removal;
    const counts = `Uncommitted files: ${uncommittedFiles}\nUnpushed commits: ${unmergedCommits}`;
    if (warning) return `WARNING: Session '${sessionId}' has unmerged changes\n\n${counts}\n\n${warning}`;
    const lines = [`Successfully removed worktree for session '${sessionId}' at ${removal.removedAt}`];
    if (uncommittedFiles + unmergedCommits > 0) lines.push(counts);
    if (backupRefs) {
      lines.push(
        `Kept: ${backupRefs.join(", ")}`,
        `Restore with create_worktree and baseRef '${backupRefs[0]}'.`,
      );
    }
    if (keptSubmodules) lines.push(`The submodules' own repositories are kept in '${keptSubmodules}'.`);
    if (keptBranch) lines.push(`Branch '${keptBranch}' was left as it is.`);
    return lines.join("\n");
  },
});
