/** Checking what a caller sent against a tool's input schema. */
import { ToolError } from "../errors.ts";
import type { Tool } from "./tool.ts";

/**
 * The arguments, checked, with defaults filled in.
 *
 * @throws {ToolError} `invalid_arguments`, naming every field that is wrong.
 */
export function parseInput(tool: Tool, value: unknown): Record<string, unknown> {
  const parsed = tool.input.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) =>
    `${issue.path.join(".") || "arguments"}: ${issue.message}`
  );
  throw new ToolError("invalid_arguments", `invalid arguments for ${tool.name}: ${issues.join("; ")}`, {
    details: { issues },
  });
}
