/** The query language: what is understood, how it is written down again, and that nothing makes it fail badly. */
import assert from "node:assert/strict";
import { ToolError } from "../../src/errors.ts";
import { compile, decide, MAYBE, NO, type Truth, YES } from "../../src/search/evaluate.ts";
import { type Query, queryText } from "../../src/search/query/ast.ts";
import { parseQuery } from "../../src/search/query/parser.ts";
import { rounds, seededRandom } from "../support/rounds.ts";

const UNDERSTOOD: [query: string, text: string][] = [
  ["foo", "foo"],
  ["foo bar", "foo bar"],
  ["foo AND bar", "+foo +bar"],
  ["foo && bar", "+foo +bar"],
  ["foo OR bar", "foo bar"],
  ["a AND b OR c", "+a +b c"],
  ["a OR b AND c", "a +b +c"],
  ["+foo -bar", "+foo -bar"],
  ["NOT bar", "-bar"],
  ["!bar", "-bar"],
  ["a AND NOT b", "+a -b"],
  ["(a OR b) AND c", "+(a b) +c"],
  ["((a))", "a"],
  ['"async def"', '"async def"'],
  ['"a \\"b\\""', '"a \\"b\\""'],
  ['"a b"~3', '"a b"~3'],
  ["auth* te?t *Exception", "auth* te?t *Exception"],
  ["a**b", "a*b"],
  ["a\\*b", "a\\*b"],
  ["roam~ roam~1 roam~0 roam~0.5", "roam~2 roam~1 roam roam~2"],
  ["path:*.java", "path:*.java"],
  ["PATH:x", "path:x"],
  ['author:"John Doe"', 'author:"John Doe"'],
  ["content:(a b AND c)", "content:a +content:b +content:c".replace("+content:b", "+content:b")],
  ["date:[20240101 TO 20241231]", "date:[20240101 TO 20241231]"],
  ["date:{* TO 2024}", "date:{* TO 2024}"],
  ['date:["2024-01-01" TO 2024]', "date:[2024-01-01 TO 2024]"],
  ["a^2 (b c)^0.5", "a (b c)"],
  ["/a\\/b[x y]+/", "/a\\/b[x y]+/"],
  ["src/main.ts /usr/lib", "src/main.ts \\/usr/lib"],
  ["std::vector http://x.org", "std\\:\\:vector http\\://x.org"],
  ["a-b c+d e!f", "a-b c+d e!f"],
  ["ANDROID ORACLE NOTE", "ANDROID ORACLE NOTE"],
  ["and or not", "and or not"],
  ["arr[0] {x", "arr\\[0\\] \\{x"],
];

Deno.test("queries are understood as Lucene's classic parser understands them", () => {
  for (const [query, text] of UNDERSTOOD) {
    if (query.endsWith("{x")) {
      assert.throws(() => parseQuery(query), ToolError);
      continue;
    }
    assert.equal(queryText(parseQuery(query)), text, query);
  }
});

Deno.test("a query that was written down is understood the same again", () => {
  const random = seededRandom("queries");
  const pieces = [
    "a",
    "b*",
    "?c",
    '"d e"',
    '"f"~2',
    "g~1",
    "/h.i/",
    "path:j",
    "(",
    ")",
    "AND",
    "OR",
    "NOT",
    "+",
    "-",
    "!",
  ];
  const more = [
    "&&",
    "||",
    "k^2",
    "[a TO b]",
    "date:{1 TO *]",
    "\\(",
    "\\",
    '"',
    "~",
    "^",
    ":",
    " ",
    "{",
    "*",
    "x:y",
    "/",
  ];
  let understood = 0;
  for (let round = 0; round < rounds(3_000, 30_000); round++) {
    const length = 1 + Math.floor(random() * 8);
    const query = Array.from({ length }, () => {
      const from = random() < 0.8 ? pieces : more;
      return from[Math.floor(random() * from.length)];
    }).join(random() < 0.8 ? " " : "");
    let parsed: Query;
    try {
      parsed = parseQuery(query);
    } catch (error) {
      assert.ok(error instanceof ToolError, `${query}: ${error}`);
      assert.equal(error.code, "INVALID_REQUEST");
      const position = Number(error.details.position);
      assert.ok(position >= 1 && position <= query.length + 1, `${query}: ${error.message}`);
      assert.match(error.message, /expected/);
      continue;
    }
    understood++;
    assert.deepEqual(queryText(parseQuery(queryText(parsed))), queryText(parsed), query);
  }
  assert.ok(understood > 200);
});

Deno.test("queries that ask too much are refused", () => {
  for (
    const query of [
      "(".repeat(100) + "a" + ")".repeat(100),
      "a ".repeat(400),
      "x".repeat(5_000),
      "*a".repeat(30),
      Array.from({ length: 300 }, (_, n) => n).join(" "),
    ]
  ) assert.throws(() => parseQuery(query), (error: unknown) => error instanceof ToolError);
});

/** What a query means, decided without any cleverness. */
function naive(query: Query, truths: Record<string, Truth>): Truth[] {
  if (query.kind === "leaf") {
    assert.equal(query.match.kind, "text");
    const truth = truths[(query.match as { text: string }).text];
    return truth === MAYBE ? [NO, YES] : [truth];
  }
  let worlds: Truth[][] = [[]];
  for (const clause of query.clauses) {
    const options = naive(clause.query, truths);
    worlds = worlds.flatMap((world) => options.map((option) => [...world, option]));
  }
  const values = worlds.map((world): Truth => {
    const of = (occur: string) => world.filter((_, nth) => query.clauses[nth].occur === occur);
    const [must, should, not] = [of("must"), of("should"), of("not")];
    const holds = must.every((truth) => truth === YES) && not.every((truth) => truth === NO) &&
      (must.length > 0 || should.length === 0 || should.some((truth) => truth === YES));
    return holds ? YES : NO;
  });
  return [...new Set(values)];
}

Deno.test("three-valued decisions are never wrong", async () => {
  const random = seededRandom("decisions");
  const build = (depth: number): string =>
    depth === 0 || random() < 0.4 ? "abcde"[Math.floor(random() * 5)] : Array.from(
      { length: 1 + Math.floor(random() * 3) },
      () => `${["", "+", "-", ""][Math.floor(random() * 4)]}(${build(depth - 1)})`,
    ).join([" ", " AND ", " OR "][Math.floor(random() * 3)]);
  for (let round = 0; round < rounds(1_000, 10_000); round++) {
    const query = parseQuery(build(3));
    const truths = Object.fromEntries([..."abcde"].map((name) => [name, Math.floor(random() * 3) as Truth]));
    const compiled = await compile(query, (leaf) => {
      const truth = truths[(leaf.match as { text: string }).text];
      return { judge: () => truth, verify: () => true };
    });
    const truth = decide(compiled, (judge) => judge.judge(undefined));
    const possible = naive(query, truths);
    // A leaf that stands twice may hide that only one world is possible: then MAYBE is right as well.
    if (truth !== MAYBE) assert.deepEqual(possible, [truth], queryText(query));
  }
});
