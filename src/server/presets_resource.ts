/** The resource `rethunk-git://presets`: the preset file of the first root, as it is. */
import type { McpServer } from "@modelcontextprotocol/server";
import type { App } from "../app.ts";
import { readPresets } from "../workspace/presets.ts";
import { type ClientRoots, RootsNeeded } from "./client_roots.ts";
import { failureText, reported } from "./result.ts";

const URI = "rethunk-git://presets";
const MIME = "application/json";

/** Serves the resource; what goes wrong is told in its text, as a tool of the family would. */
export function registerPresets(server: McpServer, app: App, roots: ClientRoots): void {
  const about = {
    title: "Presets of the repository",
    description: "The preset file .rethunk/git-mcp-presets.json of the first root.",
    mimeType: MIME,
  };
  server.registerResource("git-mcp-presets", URI, about, async (uri, context) => {
    const { signal } = context.mcpReq;
    const workspace = app.workspace({ signal, clientRoots: () => roots.of(context) });
    try {
      const { root } = await workspace.open(await workspace.root({}));
      const { file, exists, schemaVersion, presets } = await readPresets(root);
      const snapshot = {
        presetFile: file,
        fileExists: exists,
        ...(schemaVersion ? { presetSchemaVersion: schemaVersion } : {}),
        presets,
      };
      return { contents: [{ uri: uri.href, mimeType: MIME, text: JSON.stringify(snapshot) }] };
    } catch (error) {
      if (error instanceof RootsNeeded) return error.question;
      return { contents: [{ uri: uri.href, mimeType: MIME, text: failureText("git", reported(error)) }] };
    }
  });
}
