/** From a payload, or an error, to the result a client sees. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { type ErrorCode, messageOf, ToolError } from "../errors.ts";
import { log } from "../platform/log.ts";
import { plain, redacted } from "../platform/text.ts";
import type { Tool, Toolset } from "../tools/tool.ts";

/** A success: the payload for programs, the same facts as text for readers; either half is enough alone. */
export function success(tool: Tool, payload: Record<string, unknown>): CallToolResult {
  return { content: [{ type: "text", text: plain(tool.render(payload)) }], structuredContent: payload };
}

/** A refused or failed call: text only, because some clients drop the text when there is a payload too. */
export function failure(tool: Tool, thrown: unknown): CallToolResult {
  return { content: [{ type: "text", text: failureText(tool.toolset, asToolError(thrown)) }], isError: true };
}

/** How each family words its errors; the code and the next step are in all of them. */
const WORDING: Record<Toolset, (error: ToolError) => string> = {
  sessions: (error) => `${error.message}\n${error.next} (${error.code})`,
  git: (error) =>
    JSON.stringify({ error: error.code, message: error.message, next: error.next, ...error.details }),
  remotes: (error) =>
    JSON.stringify({ status: "failure", message: error.message, error: error.code, next: error.next }),
  browse: (error) =>
    JSON.stringify({
      error: { code: error.code, message: error.message, next: error.next, ...error.details },
    }),
  files: (error) =>
    JSON.stringify({ error: error.code, message: error.message, next: error.next, ...error.details }),
  shell: (error) =>
    JSON.stringify({ error: error.code, message: error.message, next: error.next, ...error.details }),
};

/** The text of an error in the wording of a toolset. */
export function failureText(toolset: Toolset, error: ToolError): string {
  return redacted(WORDING[toolset](error));
}

/** What is thrown and is no ToolError is a defect: logged whole, told in one line. */
export function asToolError(thrown: unknown): ToolError {
  if (thrown instanceof ToolError) return thrown;
  log("error", thrown instanceof Error ? thrown.stack ?? thrown.message : String(thrown));
  const code: ErrorCode = "internal_error";
  return new ToolError(code, `internal error: ${messageOf(thrown)}`, { cause: thrown });
}
