import * as z from "zod";
import { asToolError, ToolError } from "../../errors.ts";
import { globMatcher } from "../../platform/glob.ts";
import type { Found, FoundFile } from "../../search/engine.ts";
import { queryText } from "../../search/query/ast.ts";
import { parseQuery } from "../../search/query/parser.ts";
import { type Chunk, chunksOf } from "../../search/snippets.ts";
import { ANSWER_BUDGET, firstFitting, shrinking } from "../budget.ts";
import { oneLine } from "../markdown.ts";
import { COUNT, countOf, noteOf, OFFSET, offsetOf, REPOS, targetsOf } from "../served.ts";
import { defineTool } from "../tool.ts";

const RESULT = z.strictObject({
  repository: z.string(),
  path: z.string(),
  branch: z.string().optional(),
  commitId: z.string().optional(),
  chunks: z.array(z.strictObject({
    startLine: z.int().min(1),
    endLine: z.int().min(1),
    content: z.string(),
  })),
  matchingLines: z.int().min(1).optional(),
});
const OUTPUT = z.strictObject({
  query: z.string(),
  totalCount: z.int().min(0),
  limitHit: z.boolean(),
  results: z.array(RESULT),
  more: z.string().optional(),
  note: z.string().optional(),
});
type Output = z.infer<typeof OUTPUT>;

const DEFAULT = 25;
const MOST = 100;
const DEFAULT_CONTEXT = 10;
const MOST_CONTEXT = 200;
const CHUNKS = 3;
/** Characters of an answer when the caller said how much. */
const ASKED_BUDGET = 120_000;
/** A query of nothing but wildcards. */
const ANYTHING = /^[\s*?]*[*?][\s*?]*$/;

/** `gb_file_search`: code by what is in it. */
export const gbFileSearch = defineTool({
  name: "gb_file_search",
  toolset: "browse",
  title: "Search files",
  description:
    "Finds code in all repositories, or in repos, on the default branch unless branch says otherwise. Lucene " +
    'syntax: words are found inside identifiers, without case, and are alternatives ("a b" is OR): write AND, ' +
    '"exact phrase", -without, pre*, *suf, te?t, fuzzy~, /regex/, (groups), path:src, file:*.ts, lang:python, ' +
    "repo:name. Definitions come first. totalCount counts files; page with offset.",
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: z.strictObject({
    query: z.string().min(1).max(4000),
    repos: REPOS.optional(),
    pathPattern: z.string().max(1000).optional().describe("glob, as in gb_find_files"),
    branch: z.string().max(600).optional(),
    count: COUNT.describe("default 25, at most 100"),
    offset: OFFSET,
    contextLines: z.int().optional().describe("lines around a match, default 10, at most 200"),
  }),
  output: OUTPUT,
  async run(input, context) {
    const { query, repos, pathPattern, branch, count, offset, contextLines } = input;
    const { signal, progress } = context;
    const wanted = pathPattern === undefined || pathPattern.trim() === ""
      ? undefined
      : matcherOf(pathPattern);
    if (ANYTHING.test(query) && !repos?.length && !wanted && !branch) {
      throw new ToolError(
        "INVALID_REQUEST",
        "Wildcard queries require at least one filter: repos, pathPattern, or branch",
        { next: "Add a filter, or search for a word." },
      );
    }
    const parsed = parseQuery(query);
    const start = offsetOf(offset);
    const { targets, notes } = await targetsOf(context, repos);
    const engine = await context.app.search();
    const found = await engine.searchFiles({
      query: parsed,
      targets,
      branch: branch || undefined,
      wanted,
      offset: start,
      count: countOf(count, DEFAULT, MOST),
      signal,
      progress,
    });
    const filters = [`type:blob`, `(${queryText(parsed)})`, ...(branch ? [`branch:"${branch}"`] : [])];
    return fitted({ ...found, notes: [...notes, ...found.notes] }, filters.join(" AND "), start, {
      context: countOf(contextLines, DEFAULT_CONTEXT, MOST_CONTEXT),
      asked: count !== undefined || contextLines !== undefined,
    });
  },
  render({ query, totalCount, limitHit, results, more, note }) {
    const lines = [
      `${results.length} of ${totalCount} files for ${oneLine(query)}${
        limitHit ? " (page with offset)" : ""
      }`,
    ];
    for (const { repository, path, branch, commitId, chunks, matchingLines } of results) {
      const place = branch?.replace(/^refs\/heads\//, "") ?? commitId?.slice(0, 12) ?? "";
      const count = matchingLines ? `, ${matchingLines} matching lines` : "";
      lines.push("", `## ${oneLine(repository)} ${oneLine(path)} (${place}${count})`);
      lines.push(chunks.map(({ content }) => content.trimEnd()).join("\n--\n"));
    }
    return [...lines, ...[more, note].filter((text) => text !== undefined).map((text) => `\n(${text})`)].join(
      "\n",
    );
  },
});

interface Wish {
  context: number;
  /** The caller said how much: then little is taken away. */
  asked: boolean;
}

/** Less around each match first, then fewer places in a file, then fewer files. */
function fitted(found: Found<FoundFile>, query: string, start: number, { context, asked }: Wish): Output {
  const shape = (shown: number, lines: number, chunks: number): Output => {
    const results = found.results.slice(0, shown).map((file) => resultOf(file, lines, chunks));
    const end = start + results.length;
    const cut = lines < context || chunks < CHUNKS || shown < found.results.length;
    return {
      query,
      totalCount: found.total,
      limitHit: end < found.total,
      results,
      ...(cut ? { more: moreText(shown < found.results.length ? end : null) } : {}),
      ...noteOf(found.notes),
    };
  };
  const all = found.results.length;
  return firstFitting([
    () => shape(all, context, CHUNKS),
    () => shape(all, 4, CHUNKS),
    () => shape(all, 4, 1),
    () => shape(all, 1, 1),
    ...shrinking(all).slice(1).map((shown) => () => shape(shown, 1, 1)),
  ], asked ? ASKED_BUDGET : ANSWER_BUDGET);
}

function moreText(next: number | null): string {
  const rest = next === null ? "" : `; further files come with offset=${next}`;
  return `shortened: give contextLines and count for more around fewer files${rest}`;
}

function resultOf(file: FoundFile, contextLines: number, most: number): z.infer<typeof RESULT> {
  const { repository, path, branch, commit, matches } = file;
  const chunks: Chunk[] = matches ? chunksOf(matches.text, matches.hits, contextLines, most) : [];
  const hidden = matches?.hits.some(({ first }) =>
    !chunks.some(({ startLine, endLine }) => first + 1 >= startLine && first + 1 <= endLine)
  );
  return {
    repository,
    path,
    ...(branch === null ? {} : { branch }),
    commitId: commit,
    chunks,
    ...(hidden ? { matchingLines: matches!.hits.length } : {}),
  };
}

function matcherOf(pattern: string): (path: string) => boolean {
  try {
    return globMatcher([pattern]);
  } catch (cause) {
    throw new ToolError("INVALID_REQUEST", `Invalid glob pattern: ${asToolError(cause).message}`, { cause });
  }
}
