import * as z from "zod";
import { isoOf } from "../../browse/overview.ts";
import { clipped } from "../../platform/text.ts";
import type { Found, FoundCommit } from "../../search/engine.ts";
import { queryText } from "../../search/query/ast.ts";
import { parseQuery } from "../../search/query/parser.ts";
import { firstFitting, shrinking } from "../budget.ts";
import { oneLine } from "../markdown.ts";
import { COUNT, countOf, noteOf, OFFSET, offsetOf, REPOS, targetsOf } from "../served.ts";
import { defineTool } from "../tool.ts";

const COMMIT = z.strictObject({
  repository: z.string(),
  commit: z.string(),
  author: z.string(),
  committer: z.string().optional(),
  date: z.string(),
  title: z.string(),
  message: z.string(),
  branch: z.string().optional(),
});
const OUTPUT = z.strictObject({
  query: z.string(),
  totalCount: z.int().min(0),
  limitHit: z.boolean(),
  commits: z.array(COMMIT),
  more: z.string().optional(),
  note: z.string().optional(),
});
type Output = z.infer<typeof OUTPUT>;

const DEFAULT = 25;
const MOST = 100;
const TITLE = 300;

/** `gb_commit_search`: commits by what their messages say, and by who made them. */
export const gbCommitSearch = defineTool({
  name: "gb_commit_search",
  toolset: "browse",
  title: "Search commits",
  description:
    "Finds commits of repos by message, with the syntax of gb_file_search; fields: author:john*, committer:, " +
    "summary:, commit:1a69*, tag:v1*, date:[20240101 TO 20241231]. query='*' with authors lists what somebody " +
    "did, newest first. Default branch unless branch says otherwise.",
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: z.strictObject({
    query: z.string().min(1).max(4000),
    repos: REPOS.min(1),
    authors: z.array(z.string().min(1).max(300)).max(100).optional().describe("any of them"),
    branch: z.string().max(600).optional(),
    count: COUNT.describe("default 25, at most 100"),
    offset: OFFSET,
  }),
  output: OUTPUT,
  async run({ query, repos, authors, branch, count, offset }, context) {
    const parsed = parseQuery(query);
    const start = offsetOf(offset);
    const { targets, notes } = await targetsOf(context, repos);
    const engine = await context.app.search();
    const found = await engine.searchCommits({
      query: parsed,
      targets,
      branch: branch || undefined,
      authors,
      offset: start,
      count: countOf(count, DEFAULT, MOST),
      signal: context.signal,
      progress: context.progress,
    });
    const people = authors?.map((author) => `author:${JSON.stringify(author)}`).join(" OR ");
    const filters = [
      "type:commit",
      `(${queryText(parsed)})`,
      ...(people ? [`(${people})`] : []),
      ...(branch ? [`branch:"${branch}"`] : []),
    ];
    return fitted({ ...found, notes: [...notes, ...found.notes] }, filters.join(" AND "), start);
  },
  render({ query, totalCount, limitHit, commits, more, note }) {
    const lines = [
      `${commits.length} of ${totalCount} commits for ${oneLine(query)}${
        limitHit ? " (page with offset)" : ""
      }`,
    ];
    for (const { repository, commit, author, committer, date, title, message, branch } of commits) {
      const by = committer && committer !== author ? `${author}, committed by ${committer}` : author;
      const place = branch ? ` ${branch.replace(/^refs\/heads\//, "")}` : "";
      lines.push("", `${oneLine(repository)}${place} ${commit} ${date} ${oneLine(by)}`, oneLine(title));
      const body = message.slice(message.indexOf("\n") + 1).trim();
      if (message.includes("\n") && body !== "") lines.push(body.replace(/^/gm, "    "));
    }
    return [...lines, ...[more, note].filter((text) => text !== undefined).map((text) => `\n(${text})`)].join(
      "\n",
    );
  },
});

/** Shorter messages first, then fewer commits. */
function fitted(found: Found<FoundCommit>, query: string, start: number): Output {
  const shape = (shown: number, longest: number): Output => {
    const commits = found.results.slice(0, shown).map((commit) => rowOf(commit, longest));
    const end = start + commits.length;
    const isCut = shown < found.results.length ||
      found.results.some(({ message }) => message.length > longest);
    const rest = shown < found.results.length ? `; further commits come with offset=${end}` : "";
    return {
      query,
      totalCount: found.total,
      limitHit: end < found.total,
      commits,
      ...(isCut ? { more: `messages are cut: git_log or a smaller count shows them whole${rest}` } : {}),
      ...noteOf(found.notes),
    };
  };
  const all = found.results.length;
  return firstFitting([
    () => shape(all, Infinity),
    ...[2_000, 800, 300, 120].map((longest) => () => shape(all, longest)),
    ...shrinking(all).slice(1).map((shown) => () => shape(shown, 120)),
  ]);
}

function rowOf(found: FoundCommit, longest: number): z.infer<typeof COMMIT> {
  const { repository, branch, commit, author, committer, time, message } = found;
  return {
    repository,
    commit,
    author,
    committer,
    date: isoOf(time),
    title: clipped(message.split("\n", 1)[0], TITLE),
    message: longest === Infinity ? message : clipped(message, longest),
    ...(branch === null ? {} : { branch }),
  };
}
