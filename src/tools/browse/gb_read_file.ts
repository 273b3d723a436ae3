import * as z from "zod";
import { readFile } from "../../browse/blobs.ts";
import { REPO, REVISION, viewOf } from "../served.ts";
import { defineTool } from "../tool.ts";

/** `gb_read_file`: a file of any commit. */
export const gbReadFile = defineTool({
  name: "gb_read_file",
  toolset: "browse",
  title: "Read a file",
  description:
    "A file of a repository at any revision, its lines numbered. Answers over 128 KB are refused: give startLine " +
    "and endLine.",
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: z.strictObject({
    repo: REPO,
    path: z.string().min(1).max(4096),
    revision: REVISION,
    startLine: z.int().optional(),
    endLine: z.int().optional().describe("inclusive"),
  }),
  output: z.strictObject({ content: z.string(), totalLines: z.int().min(0) }),
  async run({ repo, path, revision, startLine, endLine }, context) {
    const view = await viewOf(context, repo);
    return await readFile(view, await view.revision(revision), path, { startLine, endLine });
  },
  render({ content, totalLines }) {
    return `${content}(${totalLines} ${totalLines === 1 ? "line" : "lines"} in the file)`;
  },
});
