import * as z from "zod";
import { appendToFile } from "../../files/write.ts";
import { PATH, SESSION, writePlace } from "../writing.ts";
import { defineTool } from "../tool.ts";

/** `append`: append to a file. */
export const appendTool = defineTool({
  name: "append",
  toolset: "files",
  title: "Append to a file",
  description: "Adds text at the end of a file that exists.",
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  input: z.strictObject({ path: PATH, content: z.string(), sessionId: SESSION }),
  output: z.strictObject({ path: z.string(), bytes: z.int().min(0) }),
  async run({ path, content, sessionId }, context) {
    const { bytes } = await appendToFile(await writePlace(context, sessionId), path, content);
    return { path, bytes };
  },
  render: ({ path, bytes }) => `appended ${bytes} bytes to ${path}`,
});
