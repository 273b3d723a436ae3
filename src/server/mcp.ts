/** The MCP edge: one factory for both protocol eras and every transport. */
import { McpServer, type ServerContext } from "@modelcontextprotocol/server";
import type { App } from "../app.ts";
import type { Tool, ToolContext } from "../tools/tool.ts";
import { VERSION } from "../version.ts";
import { parseInput } from "../tools/input.ts";
import { inputSchema, outputSchema } from "./portable_schema.ts";
import { ClientRoots, RootsNeeded } from "./client_roots.ts";
import { registerPresets } from "./presets_resource.ts";
import { throttledProgress } from "./progress.ts";
import { failure, success } from "./result.ts";

/** The server's name on the wire and the program's name. */
export const SERVER_NAME = "orchestragent-mcp";

/** How long clients may keep the tool list: it changes only with the program and its flags. */
const LIST_TTL_MS = 3_600_000;

/**
 * Makes factories of MCP servers over one app. A factory may be called several times on one connection, so it
 * does nothing but register.
 */
export function mcpServerFactory(app: App, tools: readonly Tool[]): () => McpServer {
  const schemas = tools.map((tool) => ({
    input: inputSchema(tool.input),
    output: outputSchema(tool.output),
  }));
  const withGit = tools.some((tool) => tool.toolset === "git");
  const hint = { ttlMs: LIST_TTL_MS, cacheScope: "private" as const };
  return () => {
    const server = new McpServer({ name: SERVER_NAME, version: VERSION, title: "Orchestragent" }, {
      capabilities: {
        tools: { listChanged: false },
        ...(withGit ? { resources: { listChanged: false } } : {}),
      },
      instructions: instructionsFor(app, tools),
      cacheHints: { "tools/list": hint, "server/discover": hint },
    });
    const roots = new ClientRoots(server);
    tools.forEach((tool, at) => {
      const { title, description, hints } = tool;
      server.registerTool(
        tool.name,
        {
          title,
          description,
          inputSchema: schemas[at].input,
          outputSchema: schemas[at].output,
          annotations: {
            readOnlyHint: hints.readOnly,
            destructiveHint: hints.destructive,
            idempotentHint: hints.idempotent,
            openWorldHint: hints.openWorld,
          },
        },
        (input: Record<string, unknown>, context: ServerContext) =>
          callTool(app, tool, input, context, roots),
      );
    });
    if (withGit) registerPresets(server, app, roots);
    return server;
  };
}

async function callTool(
  app: App,
  tool: Tool,
  input: Record<string, unknown>,
  context: ServerContext,
  roots: ClientRoots,
) {
  const { signal, _meta, notify } = context.mcpReq;
  const token = _meta?.progressToken;
  const progress: ToolContext["progress"] = token === undefined ? () => {} : throttledProgress((params) => {
    notify({ method: "notifications/progress", params: { ...params, progressToken: token } }).catch(() => {});
  });
  const workspace = app.workspace({ signal, clientRoots: () => roots.of(context) });
  try {
    const parsed = parseInput(tool, input);
    return success(tool, await tool.run(parsed, { app, workspace, signal, progress }), parsed);
  } catch (error) {
    return error instanceof RootsNeeded ? error.question : failure(tool, error);
  }
}

/** What an agent should know before its first call; under 2,048 characters, where clients cut. */
function instructionsFor(app: App, tools: readonly Tool[]): string {
  const { repo, repoGiven, roots } = app.config;
  const places = [...(repoGiven ? [repo] : []), ...roots];
  const lines = [`Works on ${places.length > 0 ? places.join(", ") : `the client's roots, else ${repo}`}.`];
  if (tools.some((tool) => tool.toolset === "sessions")) {
    lines.push(
      "Sessions: call create_worktree once per piece of work and do everything in the returned worktreePath; " +
        "other agents' sessions are theirs. Commit there. get_sessions shows what each session holds.",
      "remove_session refuses while work is not in the base branch; show its warning to the user before force. " +
        "What force removes stays under refs/orchestragent/backup/ and can be the baseRef of a new session.",
    );
  }
  if (tools.some((tool) => tool.toolset === "git")) {
    lines.push(
      "git tools act on the first root unless told otherwise: workspaceRoot (a directory), sessionId (a " +
        "session's worktree), rootIndex (0-based), allWorkspaceRoots. Answers are cut to a size that is read " +
        "whole; 'more' says how to get the rest. format='json' gives the text half as JSON too.",
      "batch_commit, git_merge and git_cherry_pick leave no trace when they fail; ok:false says why and " +
        "'conflicts' what to resolve. Old branch tips stay under the backupRefs of the answer.",
    );
  }
  if (tools.some((tool) => tool.toolset === "browse")) {
    lines.push(
      "gb_ tools read commits, not working trees: what is not committed is not found. gb_file_search finds code " +
        "in all repositories at once; revision and branch take any branch, tag, SHA or session branch.",
    );
  }
  if (app.config.readOnly) lines.push("Read-only: tools that write are not served.");
  return lines.join("\n");
}
