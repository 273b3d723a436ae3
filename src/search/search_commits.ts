/** Searching commits by their messages, people, dates, tags and names. */
import { ToolError } from "../errors.ts";
import type { CommitMessage } from "../git/history.ts";
import type { CommitSearch, Found, FoundCommit } from "./engine.ts";
import {
  always,
  compile,
  decide,
  type Judge,
  MAYBE,
  NO,
  positiveLeaves,
  type Truth,
  YES,
} from "./evaluate.ts";
import { candidatesFor, exactExpression, rowTruth, UNKNOWN } from "./index/candidates.ts";
import { readMessage } from "./index/commit_indexer.ts";
import type { IndexStore } from "./index/store.ts";
import { dateMatcher } from "./match/dates.ts";
import { patternOf } from "./match/pattern.ts";
import { prepare } from "./match/text.ts";
import { personForms, refForms, valueMatcher } from "./match/value.ts";
import type { Leaf } from "./query/ast.ts";

/** The commits of one branch of a repository. */
export interface CommitScope {
  name: string;
  /** Full name of the branch; null for a commit that was named by its object. */
  ref: string | null;
  /** Rows of the index, newest commits first. */
  rows: Int32Array;
  /** Commits that are not in the index, with what they say. */
  direct: readonly CommitMessage[];
  /** Full names of tags by the commit they lead to. */
  tags: ReadonlyMap<string, string[]>;
}

/** A commit of a scope: by its row, read when that is needed, or at hand. */
interface Thing {
  scope: CommitScope;
  row: number;
  read(): CommitMessage;
}

const MOST_RANKED = 20_000;

/** The commits of the scopes that match: best ones first, and the newest of those that match alike. */
export async function searchCommits(
  { query, authors, offset, count, signal, progress }: CommitSearch,
  scopes: readonly CommitScope[],
  index: IndexStore | null,
): Promise<Found<FoundCommit>> {
  const compiled = await compile(query, (leaf) => judgeOf(leaf, index));
  const people = authors?.length ? await authorMatcher(authors) : () => true;
  const found = new Map<string, Thing>();
  let done = 0;
  const total = scopes.reduce((sum, { rows, direct }) => sum + rows.length + direct.length, 0);
  for (const thing of things(scopes, index)) {
    if (++done % 20_000 === 0) {
      progress?.(done, total);
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (signal?.aborted) throw new ToolError("cancelled", "the call was cancelled");
    }
    const truth = decide(compiled, (judge): Truth => {
      const known = judge.judge(thing);
      return known === MAYBE ? judge.verify(thing) ? YES : NO : known;
    });
    if (truth === NO || !people(thing.read())) continue;
    const { oid } = thing.read();
    const key = `${thing.scope.name}\0${oid}`;
    if (!found.has(key)) found.set(key, thing);
  }
  const scores = scoresOf(positiveLeaves(query), index);
  const scored = [...found.values()].map((thing) => ({ thing, score: scores.get(thing.row) ?? 0 }));
  scored.sort((a, b) => b.score - a.score || b.thing.read().time - a.thing.read().time);
  const results = scored.slice(offset, offset + count).map(({ thing }): FoundCommit => {
    const { oid, author, committer, time, text } = thing.read();
    return {
      repository: thing.scope.name,
      branch: thing.scope.ref,
      commit: oid,
      author: author.name || author.email || "unknown",
      committer: committer.name || committer.email || "unknown",
      time,
      message: text,
    };
  });
  return { results, total: found.size, notes: [] };
}

function* things(scopes: readonly CommitScope[], index: IndexStore | null): Generator<Thing> {
  for (const scope of scopes) {
    for (const message of scope.direct) yield { scope, row: UNKNOWN, read: () => message };
    for (const row of scope.rows) {
      let message: CommitMessage | undefined;
      yield { scope, row, read: () => message ??= readMessage(index!, row) };
    }
  }
}

async function judgeOf(leaf: Leaf, index: IndexStore | null): Promise<Judge<Thing>> {
  const { field, match } = leaf;
  switch (field) {
    case null:
    case "content": {
      if (match.kind === "all") return always(() => true);
      const pattern = await patternOf(match);
      const candidates = index && candidatesFor(index.messages, match);
      return {
        judge: ({ row }) => rowTruth(candidates, row),
        verify: (thing) => pattern.test(prepare(thing.read().text)),
      };
    }
    case "summary": {
      if (match.kind === "all") return always(() => true);
      const pattern = await patternOf(match);
      const candidates = index && candidatesFor(index.messages, match);
      return {
        // A message that has it may have it further down.
        judge: ({ row }) => rowTruth(candidates, row) === NO ? NO : MAYBE,
        verify: (thing) => pattern.test(prepare(titleOf(thing.read().text))),
      };
    }
    case "author":
    case "committer": {
      const matches = await valueMatcher(match, "part");
      return always((thing) => {
        const { name, email } = thing.read()[field];
        return matches(...personForms(name, email));
      });
    }
    case "commit": {
      const matches = await valueMatcher(match, "prefix");
      return always((thing) => matches(thing.read().oid));
    }
    case "date": {
      const matches = dateMatcher(match);
      return always((thing) => matches(thing.read().time));
    }
    case "tag": {
      const matches = await valueMatcher(match, "whole");
      return always((thing) => {
        if (thing.scope.tags.size === 0) return false;
        return (thing.scope.tags.get(thing.read().oid) ?? []).some((tag) => matches(...refForms(tag)));
      });
    }
    case "branch": {
      const matches = await valueMatcher(match, "whole");
      return always(({ scope }) => scope.ref !== null && matches(...refForms(scope.ref)));
    }
    case "repo": {
      const matches = await valueMatcher(match, "part");
      return always(({ scope }) => matches(scope.name));
    }
    case "type": {
      const matches = await valueMatcher(match, "whole");
      const answer = matches("commit");
      return always(() => answer);
    }
    default:
      throw new ToolError("INVALID_REQUEST", `field '${field}' is one of files, and commits are searched`, {
        next:
          "Use gb_file_search for it; fields of commits are content, summary, author, committer, commit, " +
          "tag, date, branch and repo.",
      });
  }
}

async function authorMatcher(authors: readonly string[]): Promise<(message: CommitMessage) => boolean> {
  const tests = await Promise.all(
    authors.map((text) => valueMatcher({ kind: "text", text, quoted: true }, "part")),
  );
  return ({ author }) => tests.some((matches) => matches(...personForms(author.name, author.email)));
}

function scoresOf(leaves: readonly Leaf[], index: IndexStore | null): Map<number, number> {
  const scores = new Map<number, number>();
  for (const { field, match } of leaves) {
    if (!index || match.kind !== "text" || (field !== null && field !== "content")) continue;
    const expression = exactExpression(match.text);
    if (expression === null) continue;
    for (const [row, rank] of index.messages.ranked(expression, MOST_RANKED)) {
      scores.set(row, (scores.get(row) ?? 0) + rank);
    }
  }
  return scores;
}

/** The first line of a message. */
export function titleOf(message: string): string {
  return message.split("\n", 1)[0];
}
