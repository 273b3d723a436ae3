import * as z from "zod";
import { createSession } from "../../sessions/create.ts";
import { defineTool } from "../tool.ts";

/** `create_worktree`: an isolated worktree and branch for one piece of work. */
export const createWorktree = defineTool({
  name: "create_worktree",
  toolset: "sessions",
  title: "Create session worktree",
  description: "Create an isolated git worktree and branch (session-<id>) for one piece of work. " +
    "It starts at the base branch unless baseRef is given. Work, and commit, in worktreePath.",
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  input: z.strictObject({
    sessionId: z.string().describe("2-50 lowercase letters, digits, hyphens; starts and ends alphanumeric"),
    baseRef: z.string().min(1).optional().describe("Branch, tag or commit to start at"),
  }),
  output: z.strictObject({
    sessionId: z.string(),
    worktreePath: z.string(),
    branchName: z.string(),
    status: z.enum(["open", "reviewed", "merged"]),
    baseBranch: z.string(),
    startCommit: z.string(),
    copiedFiles: z.int().min(1).optional(),
    skippedFiles: z.array(z.string()).optional(),
  }),
  async run({ sessionId, baseRef }, { app, workspace, signal, progress }) {
    const { session, included } = await createSession(await app.sessions(workspace), sessionId, {
      baseRef,
      signal,
      onProgress: (done, total) => progress(done, total, "checking out files"),
    });
    return {
      sessionId: session.id,
      worktreePath: session.worktree,
      branchName: session.branch,
      status: session.status,
      baseBranch: session.base,
      startCommit: session.start,
      ...(included.copied > 0 ? { copiedFiles: included.copied } : {}),
      ...(included.skipped.length > 0 ? { skippedFiles: included.skipped } : {}),
    };
  },
  render(made) {
    const lines = [
      `Successfully created worktree for session '${made.sessionId}' at '${made.worktreePath}' on branch '${made.branchName}'.`,
      `Status ${made.status}; started at ${made.startCommit}; base branch '${made.baseBranch}'.`,
    ];
    if (made.copiedFiles) lines.push(`Copied ${made.copiedFiles} file(s) listed in .worktreeinclude.`);
    if (made.skippedFiles) {
      lines.push(`Not copied: ${made.skippedFiles.map((file) => JSON.stringify(file)).join(", ")}`);
    }
    return lines.join("\n");
  },
});
