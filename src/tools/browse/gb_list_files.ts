import * as z from "zod";
import { readDirectory } from "../../browse/blobs.ts";
import { leading } from "../budget.ts";
import { oneLine } from "../markdown.ts";
import { COUNT, countOf, OFFSET, offsetOf, REPO, REVISION, viewOf } from "../served.ts";
import { defineTool } from "../tool.ts";

const MOST = 10_000;
/** Characters of the list when no limit is given. */
const BUDGET = 9_000;

/** `gb_list_files`: what is in a directory. */
export const gbListFiles = defineTool({
  name: "gb_list_files",
  toolset: "browse",
  title: "List files",
  description: "Names in one directory of a repository, directories first and ending in '/'.",
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: z.strictObject({
    repo: REPO,
    path: z.string().max(4096).optional(),
    revision: REVISION,
    limit: COUNT,
    offset: OFFSET,
  }),
  output: z.strictObject({
    files: z.array(z.strictObject({ path: z.string(), isDirectory: z.boolean() })),
    totalCount: z.int().min(1).optional(),
    more: z.string().optional(),
  }),
  async run({ repo, path = "", revision, limit, offset }, context) {
    const view = await viewOf(context, repo);
    const entries = await readDirectory(view, await view.revision(revision), path);
    const files = entries.map(({ name, kind }) =>
      kind === "directory" ? { path: `${name}/`, isDirectory: true } : { path: name, isDirectory: false }
    );
    const start = offsetOf(offset);
    const page = files.slice(start, start + countOf(limit, MOST, MOST));
    const shown = limit === undefined ? leading(page, BUDGET) : page;
    const end = start + shown.length;
    if (end >= files.length && start === 0) return { files: shown };
    const more = end < files.length ? { more: `the next names come with offset=${end}` } : {};
    return { files: shown, totalCount: files.length, ...more };
  },
  render({ files, totalCount, more }) {
    const names = files.map(({ path }) => oneLine(path));
    return [
      ...(names.length > 0 ? names : ["(nothing)"]),
      ...(totalCount ? [`(${files.length} of ${totalCount})`] : []),
      ...(more ? [`(${more})`] : []),
    ].join("\n");
  },
});
