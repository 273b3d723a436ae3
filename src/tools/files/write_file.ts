import * as z from "zod";
import { writeFile } from "../../files/write.ts";
import { PATH, SESSION, writePlace } from "../writing.ts";
import { defineTool } from "../tool.ts";

/** `write_file`: write a file. */
export const writeFileTool = defineTool({
  name: "write_file",
  toolset: "files",
  title: "Write a file",
  description:
    "Writes a whole file, new or in place of the old one; directories above it are made. A failed call leaves the old file.",
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  input: z.strictObject({ path: PATH, content: z.string(), sessionId: SESSION }),
  output: z.strictObject({ path: z.string(), bytes: z.int().min(0), created: z.boolean().optional() }),
  async run({ path, content, sessionId }, context) {
    const { bytes, created } = await writeFile(await writePlace(context, sessionId), path, content);
    return { path, bytes, ...(created ? { created } : {}) };
  },
  render: ({ path, bytes, created }) => `wrote ${bytes} bytes to ${path}${created ? " (new)" : ""}`,
});
