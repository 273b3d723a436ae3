/** Deciding a query over things of which parts are only known once their text is looked at. */
import type { Clause, Leaf, Query } from "./query/ast.ts";

/** No, perhaps, yes: what is known before the text is looked at. */
export const NO = 0, MAYBE = 1, YES = 2;
/** One of {@linkcode NO}, {@linkcode MAYBE}, {@linkcode YES}. */
export type Truth = typeof NO | typeof MAYBE | typeof YES;

/** How one leaf is decided for things of a kind. */
export interface Judge<T> {
  /** Without looking at the text. */
  judge(thing: T): Truth;
  /** By the text, where that was not enough. */
  verify(thing: T): boolean;
}

/** The judge of what is known without a text. */
export function always<T>(holds: (thing: T) => boolean): Judge<T> {
  return { judge: (thing) => holds(thing) ? YES : NO, verify: holds };
}

/** A query whose leaves know how to decide. */
export type Compiled<T> =
  | { kind: "leaf"; leaf: Leaf; judge: Judge<T> }
  | { kind: "boolean"; clauses: { occur: Clause["occur"]; query: Compiled<T> }[] };

/** Compiles each leaf of a query. */
export async function compile<T>(
  query: Query,
  judgeOf: (leaf: Leaf) => Judge<T> | Promise<Judge<T>>,
): Promise<Compiled<T>> {
  if (query.kind === "leaf") return { kind: "leaf", leaf: query, judge: await judgeOf(query) };
  const clauses = [];
  for (const { occur, query: inner } of query.clauses) {
    clauses.push({ occur, query: await compile(inner, judgeOf) });
  }
  return { kind: "boolean", clauses };
}

/** What is known of a thing. With negatives alone everything matches that they do not take away. */
export function decide<T>(query: Compiled<T>, leafTruth: (judge: Judge<T>) => Truth): Truth {
  if (query.kind === "leaf") return leafTruth(query.judge);
  let all: Truth = YES;
  let any: Truth = NO;
  let optional = false;
  let required = false;
  for (const { occur, query: inner } of query.clauses) {
    const truth = decide(inner, leafTruth);
    if (occur === "should") {
      optional = true;
      any = Math.max(any, truth) as Truth;
      continue;
    }
    if (occur === "must") required = true;
    all = Math.min(all, occur === "must" ? truth : YES - truth) as Truth;
    if (all === NO) return NO;
  }
  return optional && !required ? Math.min(all, any) as Truth : all;
}

/** All leaves of a query. */
export function leavesOf(query: Query): Leaf[] {
  return query.kind === "leaf" ? [query] : query.clauses.flatMap(({ query: inner }) => leavesOf(inner));
}

/** The leaves that speak for a thing, and not against it. */
export function positiveLeaves(query: Query): Leaf[] {
  if (query.kind === "leaf") return [query];
  return query.clauses.flatMap(({ occur, query: inner }) => occur === "not" ? [] : positiveLeaves(inner));
}
