import * as z from "zod";
import { sessionRecords } from "../../sessions/list.ts";
import { type ListedSession, measureSessions } from "../../sessions/measure.ts";
import { defineTool } from "../tool.ts";

const STATUS = z.enum(["open", "reviewed", "merged"]);

const ROW = z.strictObject({
  sessionId: z.string(),
  worktreePath: z.string(),
  branchName: z.string(),
  status: STATUS,
  linesAdded: z.int().min(0),
  linesRemoved: z.int().min(0),
  baseBranch: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
  ahead: z.int().min(0).optional(),
  behind: z.int().min(0).optional(),
  uncommittedFiles: z.int().min(0).optional(),
  statsAvailable: z.boolean().optional(),
  statsError: z.string().optional(),
  missing: z.boolean().optional(),
});

/** About 10,000 characters of answer; clients cut longer ones. */
const DEFAULT_LIMIT = 25;

/** `get_sessions`: all tracked sessions and where each stands against its base branch. */
export const getSessions = defineTool({
  name: "get_sessions",
  toolset: "sessions",
  title: "List sessions",
  description:
    "List the tracked sessions, oldest first, with lines added and removed, commits ahead and behind " +
    "(against the merge base with the base branch) and uncommitted files. status 'merged' means that all of a " +
    "session's work is in the base. statsAvailable:false means the zeros are unknown; missing:true means the " +
    "worktree was deleted by hand.",
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: z.strictObject({
    limit: z.int().min(1).max(500).default(DEFAULT_LIMIT),
    offset: z.int().min(0).max(1_000_000).default(0),
  }),
  output: z.strictObject({
    sessions: z.array(ROW),
    totalCount: z.int().min(0),
    omittedCount: z.int().min(1).optional(),
    nextOffset: z.int().min(1).optional(),
  }),
  async run({ limit, offset }, { app, workspace, signal }) {
    const scope = await app.sessions(workspace);
    const records = await sessionRecords(scope, signal);
    const page = await measureSessions(scope, records.slice(offset, offset + limit), signal);
    const omitted = records.length - page.length;
    const next = offset + page.length;
    return {
      sessions: page.map(rowOf),
      totalCount: records.length,
      ...(omitted > 0 ? { omittedCount: omitted } : {}),
      ...(next < records.length && page.length > 0 ? { nextOffset: next } : {}),
    };
  },
  render({ sessions, totalCount, omittedCount, nextOffset }) {
    const lines = [`Found ${totalCount} session(s)`, ...sessions.map(lineOf)];
    if (omittedCount) {
      const more = nextOffset ? `; call again with offset=${nextOffset}` : "";
      lines.push(`${omittedCount} not shown${more}`);
    }
    return lines.join("\n");
  },
});

function rowOf({ session, missing, stats }: ListedSession): z.infer<typeof ROW> {
  return {
    sessionId: session.id,
    worktreePath: session.worktree,
    branchName: session.branch,
    status: session.status,
    linesAdded: stats.available ? stats.lines.added : 0,
    linesRemoved: stats.available ? stats.lines.removed : 0,
    baseBranch: session.base,
    createdAt: new Date(session.createdAt).toISOString(),
    updatedAt: new Date(session.updatedAt).toISOString(),
    ...(stats.available
      ? { ahead: stats.ahead, behind: stats.behind, uncommittedFiles: stats.uncommittedFiles }
      : { statsAvailable: false, statsError: stats.reason }),
    ...(missing ? { missing } : {}),
  };
}

function lineOf(row: z.infer<typeof ROW>): string {
  const figures = row.statsAvailable === false
    ? `stats not available: ${row.statsError}`
    : `+${row.linesAdded} -${row.linesRemoved}, ${row.ahead} ahead, ${row.behind} behind, ` +
      `${row.uncommittedFiles} uncommitted`;
  return `- ${row.sessionId} [${row.status}${row.missing ? ", missing" : ""}] ${figures}; ` +
    `${row.branchName} at ${row.worktreePath}; base ${row.baseBranch}; ` +
    `created ${row.createdAt}, updated ${row.updatedAt}`;
}
