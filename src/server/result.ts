/** From a payload, or an error, to the result a client sees. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { asToolError, ToolError } from "../errors.ts";
import { log } from "../platform/log.ts";
import { plain, redacted } from "../platform/text.ts";
import type { Tool, Toolset } from "../tools/tool.ts";

/** A success: the payload for programs, the same facts as text for readers; either half is enough alone. */
export function success(
  tool: Tool,
  payload: Record<string, unknown>,
  input: Record<string, unknown>,
): CallToolResult {
  return { content: [{ type: "text", text: successText(tool, payload, input) }], structuredContent: payload };
}

/** The text of a payload: markdown, or the payload itself for a tool that was asked for JSON. */
export function successText(
  tool: Tool,
  payload: Record<string, unknown>,
  input: Record<string, unknown>,
): string {
  return plain(input.format === "json" ? JSON.stringify(payload) : tool.render(payload));
}

/** A refused or failed call: text only, because some clients drop the text when there is a payload too. */
export function failure(tool: Tool, thrown: unknown): CallToolResult {
  return { content: [{ type: "text", text: failureText(tool.toolset, reported(thrown)) }], isError: true };
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
      error: {
        code: error.code === "invalid_arguments" ? "INVALID_REQUEST" : error.code,
        message: error.message,
        next: error.next,
        ...error.details,
      },
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

/** A thrown thing as an error; a defect is logged whole and told in one line. */
export function reported(thrown: unknown): ToolError {
  if (!(thrown instanceof ToolError)) {
    log("error", thrown instanceof Error ? thrown.stack ?? thrown.message : String(thrown));
  }
  return asToolError(thrown);
}
