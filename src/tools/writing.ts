/** What the tools that write files share: the path argument, and where it may lead. */
import * as z from "zod";
import type { WritePlace } from "../files/target.ts";
import { ToolError } from "../errors.ts";
import { realPathOf } from "../platform/jail.ts";
import type { ToolContext } from "./tool.ts";

/** A path: absolute, or relative to the first root or the session's worktree. */
export const PATH = z.string().max(8192);
/** A session whose worktree relative paths start in. */
export const SESSION = z.string().max(200).optional();

/**
 * Where a call may write.
 *
 * @throws {ToolError} `ReadOnly`, before anything is looked at.
 */
export async function writePlace(
  { app, workspace }: ToolContext,
  sessionId: string | undefined,
): Promise<WritePlace> {
  if (app.config.readOnly) {
    throw new ToolError("ReadOnly", "server is in read-only mode; write operations are disabled");
  }
  return {
    root: await realPathOf(await workspace.root({ sessionId })),
    mayTouch: (real) => workspace.mayTouch(real),
    allowAgentConfig: app.config.allowAgentConfig,
  };
}
