import * as z from "zod";
import { createDirectory } from "../../files/write.ts";
import { PATH, SESSION, writePlace } from "../writing.ts";
import { defineTool } from "../tool.ts";

/** `create_directory`: create a directory. */
export const createDirectoryTool = defineTool({
  name: "create_directory",
  toolset: "files",
  title: "Create a directory",
  description: "Makes a directory and those above it; one that exists is fine.",
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  input: z.strictObject({ path: PATH, sessionId: SESSION }),
  output: z.strictObject({ path: z.string(), created: z.boolean().optional() }),
  async run({ path, sessionId }, context) {
    const { created } = await createDirectory(await writePlace(context, sessionId), path);
    return { path, ...(created ? { created } : {}) };
  },
  render: ({ path, created }) => created ? `created directory: ${path}` : `directory exists: ${path}`,
});
