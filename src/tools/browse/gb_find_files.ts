import * as z from "zod";
import { asToolError, endsCall, ToolError } from "../../errors.ts";
import { globMatcher } from "../../platform/glob.ts";
import { oneLine } from "../markdown.ts";
import { fanOut } from "../roots.ts";
import { COUNT, countOf, OFFSET, offsetOf, REPOS, REVISION } from "../served.ts";
import { defineTool } from "../tool.ts";

const DEFAULT = 50;
const MOST = 200;

/** `gb_find_files`: paths that match a glob, in every repository. */
export const gbFindFiles = defineTool({
  name: "gb_find_files",
  toolset: "browse",
  title: "Find files by name",
  description:
    "Paths that match a glob in all repositories, or in repos: * within a name, ** across directories, ?, [a-z], " +
    "{a,b}. A pattern without '/' matches file names anywhere: 'Dockerfile', '*.proto', 'src/**/test_*.py'.",
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: z.strictObject({
    pathPattern: z.string().min(1).max(1000),
    repos: REPOS.optional(),
    revision: REVISION,
    limit: COUNT.describe("default 50, at most 200"),
    offset: OFFSET,
  }),
  output: z.strictObject({
    pattern: z.string(),
    totalCount: z.int().min(0),
    limitHit: z.boolean(),
    results: z.array(z.strictObject({
      repository: z.string(),
      revision: z.string().optional(),
      files: z.array(z.string()),
    })),
    skipped: z.array(z.string()).optional(),
  }),
  async run({ pathPattern, repos, revision, limit, offset }, context) {
    const { app, workspace, signal } = context;
    await app.git.binary();
    const matches = matcherOf(pathPattern);
    const served = await app.library.choose(workspace, repos);
    const found = await fanOut(context, served, async ({ name, directory }) => {
      try {
        const view = await app.library.view(workspace, { name, directory });
        const at = await view.revision(revision);
        const { paths } = await view.listing(at.tree, signal);
        const files = paths.filter(matches);
        return { repository: name, revision: at.ref ?? await refOf(view, at.commit, signal), files };
      } catch (error) {
        if (endsCall(error)) throw error;
        return { repository: name, problem: asToolError(error) };
      }
    });
    const groups = found.flatMap((one) => one.files ? [one] : []);
    const problems = found.flatMap((one) =>
      one.problem ? [{ name: one.repository, error: one.problem }] : []
    );
    // Where nothing could be looked at, the first reason is the answer.
    if (groups.length === 0 && problems.length > 0 && !problems.every(isEmpty)) throw problems[0].error;
    const count = countOf(limit, DEFAULT, MOST);
    const start = offsetOf(offset);
    const totalCount = groups.reduce((sum, { files }) => sum + files.length, 0);
    let [skip, room] = [start, count];
    const results = groups.flatMap(({ repository, revision, files }) => {
      const shown = files.slice(skip, skip + room);
      skip = Math.max(0, skip - files.length);
      room -= shown.length;
      return shown.length > 0 ? [{ repository, revision, files: shown }] : [];
    });
    const skipped = problems.filter((problem) => !isEmpty(problem))
      .map(({ name, error }) => `${name}: ${error.message}`);
    return {
      pattern: pathPattern,
      totalCount,
      limitHit: start + count - room < totalCount,
      results,
      ...(skipped.length > 0 ? { skipped: skipped.slice(0, MOST_SKIPPED) } : {}),
    };
  },
  render({ pattern, totalCount, limitHit, results, skipped }) {
    const lines = results.flatMap(({ repository, revision, files }) => [
      `## ${oneLine(repository)} (${revision})`,
      ...files.map(oneLine),
    ]);
    const shown = results.reduce((sum, { files }) => sum + files.length, 0);
    const head = `${shown} of ${totalCount} files match ${oneLine(pattern)}${
      limitHit ? " (page with offset)" : ""
    }`;
    return [head, ...lines, ...(skipped ?? []).map((one) => `skipped ${oneLine(one)}`)].join("\n");
  },
});

const MOST_SKIPPED = 10;

/** A repository without commits has no files: that is no problem worth telling. */
function isEmpty({ error }: { error: ToolError }): boolean {
  return error.code === "NOT_FOUND";
}

function matcherOf(pattern: string): (path: string) => boolean {
  try {
    return globMatcher([pattern]);
  } catch (cause) {
    throw new ToolError("INVALID_REQUEST", `Invalid glob pattern: ${asToolError(cause).message}`, { cause });
  }
}

async function refOf(
  view: { tips(signal?: AbortSignal): Promise<readonly { ref: string; commit: string }[]> },
  commit: string,
  signal: AbortSignal,
): Promise<string> {
  const tips = await view.tips(signal);
  return tips.find((tip) => tip.commit === commit && tip.ref.startsWith("refs/heads/"))?.ref ?? commit;
}
