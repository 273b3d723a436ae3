/** Looking for one thing in a text. */
import assert from "node:assert/strict";
import { RE2JS } from "re2js";
import { editDistance } from "../../src/platform/distance.ts";
import { LruMap } from "../../src/platform/lru.ts";
import { dateMatcher } from "../../src/search/match/dates.ts";
import { packNumbers, packWords, unpackNumbers, unpackWords } from "../../src/search/index/packing.ts";
import { patternOf } from "../../src/search/match/pattern.ts";
import { requiredText } from "../../src/search/match/regex.ts";
import { lowerCase, prepare } from "../../src/search/match/text.ts";
import { fitsWhole, wildcardOf } from "../../src/search/match/wildcard.ts";
import { parseQuery } from "../../src/search/query/parser.ts";
import type { Leaf, Match } from "../../src/search/query/ast.ts";
import { chunksOf, hitsOf } from "../../src/search/snippets.ts";
import { languagesOf } from "../../src/search/languages.ts";
import { rounds, seededRandom } from "../support/rounds.ts";

const matchOf = (query: string): Match => (parseQuery(query) as Leaf).match;

async function found(query: string, text: string): Promise<string[]> {
  const pattern = await patternOf(matchOf(query));
  const prepared = prepare(text);
  const spans = [...pattern.spans(prepared)].map(([start, end]) => text.slice(start, end));
  assert.equal(pattern.test(prepared), spans.length > 0, `${query} in ${text}`);
  return spans;
}

Deno.test("what each kind of match finds", async () => {
  const cases: [query: string, text: string, found: string[]][] = [
    ["tln", "println PRINTLN", ["tln", "TLN"]],
    ['"a  b"', "a b, a\n\tb, ab", ["a b", "a\n\tb"]],
    ['"a b"', "aa b a  b", ["a b", "a  b"]],
    ["auth*", "auth oauth myAuthor my_auth AUTHOR unauthorized", ["auth", "Auth", "auth", "AUTH"]],
    ["*ion", "nation nationality fooIonBar", ["ion", "Ion"]],
    ["te?t", "test text tet teext contest myTest", ["test", "text", "Test"]],
    ["a*z", "abcz a z abc", ["abcz"]],
    ["get*Token", "getAuthToken getTokens gettoken", ["getAuthToken", "gettoken"]],
    ["HTTP*", "HTTPServer", ["HTTP"]],
    ["Server", "HTTPServer", ["Server"]],
    ["server*", "HTTPServer httpserver", ["Server"]],
    ["foo.b*", "foo.bar foo-bar", ["foo.b"]],
    ["roam~1", "foam roams roaming road groams", ["foam", "roams", "road"]],
    ["ab~1", "ba a abc xx", ["ba", "a", "abc"]],
    ["/^b.r$/", "foo\nbar\nbarr\nBUR", ["bar", "BUR"]],
    ['"a c"~1', "a b c, c a", ["a b c"]],
    ["ß", "straße STRASSE", ["ß"]],
    ["İ", "İstanbul", ["İ"]],
    ["日本", "私は日本語", ["日本"]],
  ];
  for (const [query, text, expected] of cases) assert.deepEqual(await found(query, text), expected, query);
});

Deno.test("lower case keeps the length of every text", () => {
  for (const text of ["İSTANBUL", "ÀÉ", "ABC", "Σ ΟΔΟΣ", "\u{10400}", "ẞ"]) {
    assert.equal(lowerCase(text).length, text.length, text);
  }
});

/** Words over few letters, so that patterns hit. */
function word(random: () => number, letters: string, most: number): string {
  return Array.from(
    { length: Math.floor(random() * (most + 1)) },
    () => letters[Math.floor(random() * letters.length)],
  ).join("");
}

Deno.test("wildcards over whole values agree with a regular expression", () => {
  const random = seededRandom("wildcards");
  for (let round = 0; round < rounds(20_000, 200_000); round++) {
    const pattern = word(random, "ab*?", 6);
    const value = word(random, "ab", 8);
    const parts = [...pattern].map((char) => char === "*" || char === "?" ? char : { text: char } as const);
    const expected = new RegExp(`^${pattern.replaceAll("*", ".*").replaceAll("?", ".")}$`).test(value);
    if (pattern === "") continue;
    assert.equal(fitsWhole(wildcardOf(parts), value), expected, `${pattern} ${value}`);
  }
});

Deno.test("wildcards in text agree with a regular expression", async () => {
  const random = seededRandom("wildcards in text");
  for (let round = 0; round < rounds(3_000, 30_000); round++) {
    const pattern = word(random, "ab*?", 5).replaceAll("**", "*");
    if (!/[ab]/.test(pattern) || !/[*?]/.test(pattern)) continue;
    const text = word(random, "aab_ ", 14);
    const body = pattern.replace(/^\*|\*$/g, "").replaceAll("*", "\\w*").replaceAll("?", "\\w");
    const start = pattern.startsWith("*") ? "" : "(?<![a-z])";
    const end = pattern.endsWith("*") ? "" : "(?![a-z])";
    // A question mark at an end is a character of a word like any other.
    const expected = new RegExp(`${start}${body}${end}`).test(text);
    if (/^\?|\?$/.test(pattern)) continue;
    assert.equal((await found(pattern, text)).length > 0, expected, `${pattern} in '${text}'`);
  }
});

Deno.test("what a regular expression requires is in everything it matches", () => {
  const random = seededRandom("required text");
  const atoms = [
    "a",
    "b",
    "ab",
    ".",
    "\\.",
    "[ab]",
    "[^a]",
    "(ab|b)",
    "(?:a)",
    "\\w",
    "\\b",
    "^",
    "$",
    "b{2}",
    "a{0,1}",
  ];
  const tails = ["", "", "", "*", "+", "?", "{0}", "{1,2}", "*?"];
  let matched = 0;
  for (let round = 0; round < rounds(5_000, 50_000); round++) {
    const source = Array.from({ length: 1 + Math.floor(random() * 5) }, () => {
      const atom = atoms[Math.floor(random() * atoms.length)];
      const tail = tails[Math.floor(random() * tails.length)];
      return random() < 0.05
        ? "|"
        : `${atom}${/[}^$b]$/.test(atom) && atom !== "b" && atom !== "ab" ? "" : tail}`;
    }).join("");
    let regex: RE2JS;
    try {
      regex = RE2JS.compile(source, RE2JS.CASE_INSENSITIVE | RE2JS.MULTILINE);
    } catch {
      continue;
    }
    const text = word(random, "abAB. ", 8);
    if (!regex.test(text)) continue;
    matched++;
    for (const required of requiredText(source)) {
      assert.ok(text.toLowerCase().includes(required), `/${source}/ matches '${text}' without '${required}'`);
    }
  }
  assert.ok(matched > 500);
});

Deno.test("no pattern takes more than time in proportion to the text", async () => {
  const text = prepare("a".repeat(1_000_000));
  for (
    const query of [
      "a*b",
      "a*a*a*b",
      "*a*a*c",
      "a?a?a?b*",
      "/(a*)*b/",
      "/(a|aa)+c/",
      "/(.*)(.*)(.*)d/",
      '"a a"~900',
      "a~2",
    ]
  ) {
    const pattern = await patternOf(matchOf(query));
    const started = performance.now();
    assert.equal(pattern.test(text), false, query);
    assert.ok(performance.now() - started < 5_000, query);
  }
  for (const source of ["(a{1000}){1000}", "x".repeat(2_000), "(?=a)", "(a)\\1", "["]) {
    await assert.rejects(patternOf({ kind: "regex", source }), /RE2|INVALID|longer|large|understood/);
  }
});

Deno.test("edit distance", () => {
  const cases: [string, string, number][] = [
    ["kitten", "sitting", 3],
    ["saturday", "sunday", 3],
    ["", "abc", 3],
    ["abc", "abc", 0],
    ["ab", "ba", 1],
    ["abcd", "badc", 2],
  ];
  for (const [a, b, distance] of cases) {
    assert.equal(editDistance(a, b), distance, `${a} ${b}`);
    assert.equal(editDistance(b, a), distance, `${b} ${a}`);
    assert.ok(editDistance(a, b, 1) === distance || editDistance(a, b, 1) > 1);
  }
});

Deno.test("dates stand for periods, and ranges take in their ends", () => {
  const at = (iso: string) => Date.parse(iso) / 1000;
  const holds = (query: string, iso: string) => dateMatcher(matchOf(`date:${query}`))(at(iso));
  assert.ok(holds("2024", "2024-12-31T23:59:59Z"));
  assert.ok(!holds("2024", "2025-01-01T00:00:00Z"));
  assert.ok(holds("202402", "2024-02-29T12:00:00Z"));
  assert.ok(holds("20240229*", "2024-02-29T12:00:00Z"));
  assert.ok(holds("[2024-02-28 TO 2024-02-29]", "2024-02-29T23:59:59Z"));
  assert.ok(!holds("[20240228 TO 20240229}", "2024-02-29T00:00:00Z"));
  assert.ok(!holds("{20240228 TO *]", "2024-02-28T23:59:59Z"));
  assert.ok(holds("{20240228 TO *]", "2024-02-29T00:00:00Z"));
  assert.ok(holds("202402291230", "2024-02-29T12:30:59Z"));
  for (const bad of ["20230229", "2024x", "20", "yesterday", "*2024", "2024~"]) {
    assert.throws(() => dateMatcher(matchOf(`date:${bad}`)), /date:/, bad);
  }
});

Deno.test("chunks: lines around hits, with the true numbers", async () => {
  const text = Array.from({ length: 30 }, (_, n) => [4, 6, 20].includes(n) ? `hit ${n}` : `line ${n}`).join(
    "\n",
  );
  const pattern = await patternOf(matchOf("hit"));
  const hits = hitsOf(prepare(text), [pattern]);
  assert.deepEqual(hits.map(({ first }) => first), [4, 6, 20]);
  const ranges = (context: number, most = 3) =>
    chunksOf(text, hits, context, most).map(({ startLine, endLine, content }) => {
      const lines = content.split("\n");
      assert.equal(lines.length - 1, endLine - startLine + 1);
      assert.ok(lines[0].startsWith(`${startLine}: `));
      assert.ok(lines.at(-2)!.startsWith(`${endLine}: `));
      return [startLine, endLine];
    });
  assert.deepEqual(ranges(0), [[5, 5], [7, 7], [21, 21]]);
  assert.deepEqual(ranges(2), [[4, 8], [20, 22]]);
  assert.deepEqual(ranges(100), [[1, 30]]);
  assert.deepEqual(ranges(2, 1), [[4, 6]]);
  for (
    const [content, expected] of [["hit", [[1, 1]]], ["hit\n", [[1, 1]]], ["\nhit\n", [[1, 2]]], ["\n\nhit", [
      [2, 3],
    ]]] as const
  ) {
    const chunks = chunksOf(content, hitsOf(prepare(content), [pattern]), 2, 3);
    assert.deepEqual(
      chunks.map(({ startLine, endLine }) => [startLine, endLine]),
      expected,
      JSON.stringify(content),
    );
  }
});

Deno.test("definitions are told from mentions", async () => {
  const pattern = await patternOf(matchOf("thing"));
  const cases: [string, boolean][] = [
    ["class Thing {", true],
    ["export const thing = 1;", true],
    ["def thing(self):", true],
    ["fn thing<T>() {", true],
    ["#define THING 1", true],
    ["type thing struct {", true],
    ["  thing(a, b) {", true],
    ["thing = lambda x: x", true],
    ["x = thing(1);", false],
    ["return thing;", false],
    ["class Something {", false],
    ["import { Thing } from 'x';", false],
  ];
  for (const [line, defines] of cases) {
    assert.equal(hitsOf(prepare(line), [pattern])[0].defines, defines, line);
  }
});

Deno.test("words and numbers come back as they were stored", () => {
  const random = seededRandom("packing");
  for (let round = 0; round < rounds(200, 2_000); round++) {
    const words = Array.from(
      { length: Math.floor(random() * 50) },
      () => word(random, "ab_9\u00e9\u65e5", 60),
    ).filter(Boolean);
    words.sort();
    assert.deepEqual(unpackWords(packWords(words)), words);
    const numbers = words.map(() => Math.floor(random() ** 8 * 2 ** 31));
    assert.deepEqual([...unpackNumbers(packNumbers(numbers))], numbers);
  }
});

Deno.test("languages by name", () => {
  assert.deepEqual(languagesOf("a/b.TS"), ["typescript", "ts"]);
  assert.ok(languagesOf("x/Makefile").includes("make"));
  assert.ok(languagesOf("a.h").includes("c") && languagesOf("a.h").includes("c++"));
  assert.deepEqual(languagesOf("none"), []);
});

Deno.test("the cache forgets what was not asked for the longest", () => {
  const cache = new LruMap<string, number>(3, { weight: (n) => n, most: 10 });
  cache.set("a", 1);
  cache.set("b", 2);
  cache.set("c", 3);
  cache.get("a");
  cache.set("d", 4);
  assert.equal(cache.get("b"), undefined);
  cache.set("e", 9);
  assert.deepEqual([...cache.values()], [9]);
  cache.set("f", 50);
  assert.deepEqual([...cache.values()], [50]);
});
