import * as z from "zod";
import { overviewOf } from "../../browse/overview.ts";
import { asToolError, endsCall, ToolError } from "../../errors.ts";
import { oneLine } from "../markdown.ts";
import { fanOut } from "../roots.ts";
import { COUNT, countOf, OFFSET, offsetOf } from "../served.ts";
import { defineTool, type ToolContext } from "../tool.ts";

const REPOSITORY = z.strictObject({
  name: z.string(),
  description: z.string(),
  lastChange: z.string().optional(),
  hasCommits: z.boolean(),
  problem: z.string().optional(),
});
type Repository = z.infer<typeof REPOSITORY>;

const DEFAULT = 50;
const MOST = 100;

/** `gb_list_repos`: which repositories are served. */
export const gbListRepos = defineTool({
  name: "gb_list_repos",
  toolset: "browse",
  title: "List repositories",
  description:
    "Repositories that the gb_ tools can read and search, by name; query is a part of the name. More pages: " +
    "give endCursor as after.",
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: z.strictObject({
    query: z.string().max(1000).optional(),
    limit: COUNT.describe("default 50, at most 100"),
    after: z.string().max(1000).optional(),
    offset: OFFSET,
  }),
  output: z.strictObject({
    repositories: z.array(REPOSITORY),
    pagination: z.strictObject({
      totalCount: z.int().min(0),
      hasNextPage: z.boolean(),
      endCursor: z.string().optional(),
    }),
  }),
  async run({ query, limit, after, offset }, context) {
    const { app, workspace } = context;
    await app.git.binary();
    const wanted = query?.trim().toLowerCase() ?? "";
    const all = (await app.library.list(workspace)).filter(({ name }) => name.toLowerCase().includes(wanted));
    let start = offsetOf(offset);
    if (after !== undefined && after !== "") {
      const at = all.findIndex(({ name }) => name === after);
      if (at < 0) {
        throw new ToolError("INVALID_REQUEST", `unknown cursor '${after}'`, {
          next: "Give the endCursor of a page of the same query, or start again without after.",
        });
      }
      start += at + 1;
    }
    const page = all.slice(start, start + countOf(limit, DEFAULT, MOST));
    const repositories = await fanOut(
      context,
      page,
      ({ name, directory }) => rowOf(context, name, directory),
    );
    const endCursor = page.at(-1)?.name;
    return {
      repositories,
      pagination: {
        totalCount: all.length,
        hasNextPage: start + page.length < all.length,
        ...(endCursor === undefined ? {} : { endCursor }),
      },
    };
  },
  render({ repositories, pagination }) {
    const lines = repositories.map(({ name, description, lastChange, hasCommits, problem }) => {
      const facts = [lastChange, hasCommits || problem ? "" : "no commits", description, problem];
      return `- ${oneLine(name)}${facts.filter(Boolean).map((fact) => ` | ${oneLine(fact!)}`).join("")}`;
    });
    const { totalCount, hasNextPage, endCursor } = pagination;
    const more = hasNextPage ? `; more with after=${JSON.stringify(endCursor)}` : "";
    return [`${repositories.length} of ${totalCount} repositories${more}`, ...lines].join("\n");
  },
});

async function rowOf(context: ToolContext, name: string, directory: string): Promise<Repository> {
  const { app, workspace, signal } = context;
  try {
    return { name, ...await overviewOf(await app.library.view(workspace, { name, directory }), signal) };
  } catch (error) {
    if (endsCall(error)) throw error;
    return { name, description: "", hasCommits: false, problem: asToolError(error).message };
  }
}
