/** `call`: one tool call from a shell, through the same schemas and the same code as a client's. */
import type { App } from "../app.ts";
import { messageOf } from "../errors.ts";
import { failureText, reported, successText } from "../server/result.ts";
import { parseInput } from "../tools/input.ts";
import type { Tool } from "../tools/tool.ts";
import { UsageError } from "./flags.ts";
import { print } from "./print.ts";

/**
 * Calls `operands[0]` with the JSON of `operands[1]` and prints the text and the payload.
 *
 * @returns The exit code: 0 for a result, 1 for an error.
 * @throws {UsageError} When the operands are not a tool and a JSON object.
 */
export async function callFromShell(
  app: App,
  tools: readonly Tool[],
  operands: readonly string[],
): Promise<number> {
  const [name, json = "{}", surplus] = operands;
  if (name === undefined || surplus !== undefined) throw new UsageError("usage: call <tool> '<json>'");
  const tool = tools.find((candidate) => candidate.name === name);
  if (!tool) {
    throw new UsageError(
      `no tool '${name}' (there are: ${tools.map((candidate) => candidate.name).join(", ")})`,
    );
  }
  const given = parsedJson(tool, json);
  try {
    const input = parseInput(tool, given);
    const { signal } = new AbortController();
    const workspace = app.workspace({ signal, clientRoots: () => Promise.resolve([]) });
    const payload = await tool.run(input, { app, workspace, signal, progress: () => {} });
    const checked = tool.output.parse(payload);
    print(`${successText(tool, payload, input)}\n\n${JSON.stringify(checked, null, 2)}`);
    return 0;
  } catch (error) {
    print(failureText(tool.toolset, reported(error)));
    return 1;
  }
}

function parsedJson(tool: Tool, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new UsageError(`the arguments of '${tool.name}' are not JSON: ${messageOf(error)}`);
  }
}
