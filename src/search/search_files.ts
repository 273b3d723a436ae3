/** Searching files: the index says where to look, the text itself has the last word. */
import { ToolError } from "../errors.ts";
import type { Listing } from "../git/trees.ts";
import type { FileSearch, Found, FoundFile } from "./engine.ts";
import {
  always,
  compile,
  type Compiled,
  decide,
  type Judge,
  MAYBE,
  NO,
  positiveLeaves,
  type Truth,
  YES,
} from "./evaluate.ts";
import { candidatesFor, exactExpression, rowTruth, UNKNOWN } from "./index/candidates.ts";
import type { IndexStore } from "./index/store.ts";
import { languagesOf } from "./languages.ts";
import { patternOf, type TextPattern } from "./match/pattern.ts";
import type { Prepared } from "./match/text.ts";
import { pathForms, refForms, valueMatcher } from "./match/value.ts";
import type { Leaf, Query } from "./query/ast.ts";
import { mapBounded } from "../platform/pool.ts";
import { type FileScope, NO_TEXT, preparedText } from "./scope.ts";
import { definesIn, hitsOf } from "./snippets.ts";

/** One path of a scope, and its text once that was looked at. */
interface Thing {
  scope: FileScope;
  at: number;
  text?: Prepared | null;
}

interface Scored extends Thing {
  score: number;
}

/** Texts in memory at a time, and how often it is told how many were looked at. */
const AT_ONCE = 64;
const REPORTED = 500;
/** Texts that are worth keeping for the next search. */
const FEW = 600;
/** So many of the best are looked into to find the definitions among them. */
const LOOKED_INTO = 40;
/** Documents whose rank is asked for; what stands in more of them is told apart by other things. */
const MOST_RANKED = 500;
const POINTS = { definition: 8, fileName: 4, path: 2 };

/** The files of the scopes that match. */
export async function searchFiles(
  request: FileSearch,
  scopes: readonly FileScope[],
  index: IndexStore | null,
): Promise<Found<FoundFile>> {
  const patterns = new Map<Leaf, TextPattern>();
  const query = await compile(request.query, (leaf) => judgeOf(leaf, index, patterns));
  const found = await matching(query, request, scopes);
  const leaves = positiveLeaves(request.query).filter(isAboutContent);
  const ranked = rank(found, leaves, index);
  const wanted = leaves.flatMap((leaf) => patterns.get(leaf) ?? []);
  const best = await definitionsFirst(ranked, wanted, request.signal);
  const page = best.slice(request.offset, request.offset + request.count);
  const results = await Promise.all(page.map(async (thing): Promise<FoundFile> => {
    const { scope, at } = thing;
    const text = wanted.length > 0 ? await textOf(thing) : null;
    return {
      repository: scope.name,
      path: scope.listing.paths[at],
      branch: scope.at.ref,
      commit: scope.at.commit,
      matches: text ? { text: text.text, hits: hitsOf(text, wanted) } : null,
    };
  }));
  return { results, total: found.length, notes: [] };
}

/** Whether a query names branches, so that more than the default ones have to be looked at. */
export function branchLeaves(query: Query): Leaf[] {
  return positiveLeaves(query).filter(({ field }) => field === "branch");
}

function isAboutContent({ field, match }: Leaf): boolean {
  return (field === null || field === "content") && match.kind !== "all";
}

async function matching(
  query: Compiled<Thing>,
  { wanted, signal, progress }: FileSearch,
  scopes: readonly FileScope[],
): Promise<Thing[]> {
  const sure: Thing[] = [];
  const open: Thing[] = [];
  const cursor: Thing = { scope: scopes[0], at: 0 };
  for (const scope of scopes) {
    cursor.scope = scope;
    for (let at = 0; at < scope.rows.length; at++) {
      cursor.at = at;
      const truth = decide(query, (judge) => judge.judge(cursor));
      if (truth === NO || (wanted && !wanted(scope.listing.paths[at]))) continue;
      (truth === YES ? sure : open).push({ scope, at });
    }
  }
  // Many texts would push everything else out of the cache.
  const keep = open.length <= FEW;
  let done = 0;
  await mapBounded(open, AT_ONCE, async (thing) => {
    if (signal?.aborted) throw new ToolError("cancelled", "the call was cancelled");
    await textOf(thing, keep);
    const truth = decide(query, (judge): Truth => {
      const known = judge.judge(thing);
      return known === MAYBE ? judge.verify(thing) ? YES : NO : known;
    });
    if (truth === YES) sure.push({ scope: thing.scope, at: thing.at });
    thing.text = undefined;
    if (++done % REPORTED === 0) progress?.(done, open.length);
  });
  return sure;
}

async function textOf(thing: Thing, keep = true): Promise<Prepared | null> {
  if (thing.text !== undefined) return thing.text;
  const { scope: { view, listing, rows }, at } = thing;
  // What is in the index was found to be text of a bearable size.
  return thing.text = await preparedText(view, listing.oids[at], { keep, checked: rows[at] !== UNKNOWN });
}

async function judgeOf(
  leaf: Leaf,
  index: IndexStore | null,
  patterns: Map<Leaf, TextPattern>,
): Promise<Judge<Thing>> {
  const { field, match } = leaf;
  switch (field) {
    case null:
    case "content": {
      if (match.kind === "all") return always(() => true);
      const pattern = await patternOf(match);
      patterns.set(leaf, pattern);
      const candidates = index && candidatesFor(index.blobs, match);
      return {
        judge: ({ scope, at }) => scope.rows[at] === NO_TEXT ? NO : rowTruth(candidates, scope.rows[at]),
        verify: ({ text }) => text ? pattern.test(text) : false,
      };
    }
    case "path":
    case "file": {
      const matches = await valueMatcher(match, "part");
      return always(({ scope, at }) => {
        const forms = pathForms(scope.listing.paths[at]);
        return field === "file" ? matches(forms.at(-1)!) : matches(...forms);
      });
    }
    case "lang": {
      const matches = await valueMatcher(match, "whole");
      return always(({ scope, at }) => matches(...languagesOf(scope.listing.paths[at])));
    }
    case "repo": {
      const matches = await valueMatcher(match, "part");
      return always(({ scope }) => matches(scope.name));
    }
    case "branch": {
      const matches = await valueMatcher(match, "whole");
      return always(({ scope }) => scope.at.ref !== null && matches(...refForms(scope.at.ref)));
    }
    case "type": {
      const matches = await valueMatcher(match, "whole");
      const answer = matches("blob");
      return always(() => answer);
    }
    default:
      throw new ToolError("INVALID_REQUEST", `field '${field}' is one of commits, and files are searched`, {
        next: "Use gb_commit_search for it; fields of files are path, file, repo, branch, lang and content.",
      });
  }
}

/** By bm25 of whole words, then by names that hold them, then by path. */
function rank(found: readonly Thing[], leaves: readonly Leaf[], index: IndexStore | null): Scored[] {
  const scores: Map<number, number>[] = [];
  const names: string[] = [];
  for (const { match } of leaves) {
    if (match.kind !== "text") continue;
    names.push(match.text.toLowerCase());
    const expression = exactExpression(match.text);
    if (!index || expression === null) continue;
    const ranks = index.blobs.ranked(expression, MOST_RANKED + 1);
    if (ranks.size <= MOST_RANKED) scores.push(ranks);
  }
  const scored = found.map((thing) => {
    const row = thing.scope.rows[thing.at];
    let score = 0;
    for (const ranks of scores) score += ranks.get(row) ?? 0;
    return { ...thing, score: score + namePoints(lowerPaths(thing.scope.listing)[thing.at], names) };
  });
  // In one scope the paths are in order already, and comparing numbers is much quicker than comparing paths.
  const isOne = scored.every(({ scope }) => scope === scored[0].scope);
  if (!isOne) return scored.sort(byScore);
  return scored.sort((a, b) => b.score - a.score || a.at - b.at);
}

/** @param path In lower case. */
function namePoints(path: string, names: readonly string[]): number {
  let points = 0;
  for (const name of names) {
    const at = path.lastIndexOf(name);
    if (at >= 0) points += at > path.lastIndexOf("/") ? POINTS.fileName : POINTS.path;
  }
  return points;
}

const inLowerCase = new WeakMap<Listing, string[]>();

function lowerPaths(listing: Listing): string[] {
  const known = inLowerCase.get(listing) ?? listing.paths.map((path) => path.toLowerCase());
  inLowerCase.set(listing, known);
  return known;
}

function byScore(a: Scored, b: Scored): number {
  if (a.score !== b.score) return b.score - a.score;
  const [one, other] = [a.scope.listing.paths[a.at], b.scope.listing.paths[b.at]];
  if (one !== other) return one < other ? -1 : 1;
  return a.scope.name < b.scope.name ? -1 : a.scope.name > b.scope.name ? 1 : 0;
}

/** Looks into the best ones for the places where the thing is defined; the others keep their order behind them. */
async function definitionsFirst(
  ranked: readonly Scored[],
  patterns: readonly TextPattern[],
  signal?: AbortSignal,
): Promise<Scored[]> {
  if (patterns.length === 0 || ranked.length < 2) return [...ranked];
  const head = ranked.slice(0, LOOKED_INTO);
  await Promise.all(head.map((thing) => textOf(thing)));
  if (signal?.aborted) throw new ToolError("cancelled", "the call was cancelled");
  for (const thing of head) {
    if (thing.text && definesIn(thing.text, patterns)) thing.score += POINTS.definition;
  }
  return [...head.sort(byScore), ...ranked.slice(LOOKED_INTO)];
}
