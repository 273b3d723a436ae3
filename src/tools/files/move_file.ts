import * as z from "zod";
import { moveFile } from "../../files/write.ts";
import { PATH, SESSION, writePlace } from "../writing.ts";
import { defineTool } from "../tool.ts";

/** `move_file`: move a file. */
export const moveFileTool = defineTool({
  name: "move_file",
  toolset: "files",
  title: "Move a file",
  description: "Moves or renames a file or a directory; a file at the destination is replaced.",
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: false },
  input: z.strictObject({ source: PATH, destination: PATH, sessionId: SESSION }),
  output: z.strictObject({ source: z.string(), destination: z.string() }),
  async run({ source, destination, sessionId }, context) {
    await moveFile(await writePlace(context, sessionId), source, destination);
    return { source, destination };
  },
  render: ({ source, destination }) => `moved ${source} → ${destination}`,
});
