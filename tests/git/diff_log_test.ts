/** Parsers of diffs, logs, merges and dates; properties against git itself. */
import assert from "node:assert/strict";
import { conflictHunks } from "../../src/git/conflicts.ts";
import { parseCommit } from "../../src/git/commit_objects.ts";
import { parseDiff } from "../../src/git/diff.ts";
import { parseLog } from "../../src/git/log.ts";
import { parseMergeTree } from "../../src/git/merge_tree.ts";
import { isProtected } from "../../src/git/protected_branches.ts";
import { localPath } from "../../src/git/push.ts";
import { parseRange } from "../../src/git/range.ts";
import { age, isDate } from "../../src/git/since.ts";
import { quoted } from "../../src/git/short_status.ts";
import { globMatcher } from "../../src/platform/glob.ts";

const OID = "0123456789abcdef0123456789abcdef01234567";

Deno.test("parseDiff() on nothing, and on a patch that was cut", () => {
  assert.deepEqual(parseDiff(""), []);
  const raw =
    `:100644 100644 ${OID} ${OID} M\0a\0:100644 100644 ${OID} ${OID} M\0b\x001\t1\ta\x001\t1\tb\0\0`;
  const patch =
    "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\ndiff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x";
  const [a, b] = parseDiff(raw + patch, true);
  assert.deepEqual([a.lines, a.cut], [["@@ -1 +1 @@", "-x", "+y"], false]);
  assert.deepEqual([b.lines.slice(0, 2), b.cut, b.additions], [["@@ -1 +1 @@", "-x"], true, 1]);
});

Deno.test("parseLog() keeps odd fields apart", () => {
  const record = [OID, "0123456", "", "", "2026-01-02T03:04:05Z", "1767323045", ""].join("\0") + "\0\n";
  const commits = parseLog(`${record}\n 3 files changed, 1 deletion(-)\n${record}`);
  assert.equal(commits.length, 2);
  assert.deepEqual([commits[0].oid, commits[0].subject, commits[0].files, commits[0].deletions], [
    OID,
    "",
    3,
    1,
  ]);
  assert.deepEqual([commits[1].oid, commits[1].files], [OID, 0]);
  assert.deepEqual(parseLog(""), []);
});

Deno.test("parseMergeTree() reads stages and messages of odd paths", () => {
  assert.deepEqual(parseMergeTree(`${OID}\0`), { tree: OID, conflicts: [] });
  const text = [
    OID,
    ...[1, 2, 3].map((stage) => `100644 ${OID} ${stage}\tnew\nline`),
    `100644 ${OID} 2\tgone`,
    "",
    ...["1", "new\nline", "Auto-merging", "Auto-merging new\nline\n"],
    ...["1", "new\nline", "CONFLICT (contents)", "CONFLICT (content): Merge conflict in new\nline\n"],
    ...["2", "gone", "other", "CONFLICT (modify/delete)", "CONFLICT (modify/delete): gone\n"],
    "",
  ].join("\0");
  assert.deepEqual(parseMergeTree(text).conflicts, [
    { path: "new\nline", stages: [1, 2, 3], message: "CONFLICT (content): Merge conflict in new\nline" },
    { path: "gone", stages: [2], message: "CONFLICT (modify/delete): gone" },
  ]);
});

Deno.test("conflictHunks() finds regions with and without a base, and passes over half ones", () => {
  const text =
    "a\n<<<<<<< x\nours\n||||||| y\nbase\n=======\ntheirs\n>>>>>>> z\n=======\nb\n<<<<<<< x\r\n=======\r\nt\r\n>>>>>>> z\r\n<<<<<<< open";
  assert.deepEqual(conflictHunks(text), [
    { line: 2, ours: "ours", base: "base", theirs: "theirs" },
    { line: 11, ours: "", theirs: "t\r" },
  ]);
});

Deno.test("parseCommit() reads authors and messages of every encoding", () => {
  const raw = (encoding: string, name: string, message: string) =>
    `tree ${OID}\nparent ${OID}\nparent ${OID}\nauthor ${name} <a b@x> 1700000000 -0330\ncommitter C <c> 1 +0000\n` +
    `${encoding}gpgsig x\n tree fake\n\n${message}`;
  const latin = parseCommit(OID, raw("encoding ISO-8859-1\n", "Zo\xeb", "caf\xe9\n\nbody"));
  assert.deepEqual([latin.author.name, latin.message], ["Zoë", "café\n\nbody"]);
  assert.deepEqual([latin.author.email, latin.author.date, latin.parents.length], [
    "a b@x",
    "@1700000000 -0330",
    2,
  ]);
  assert.equal(parseCommit(OID, raw("", "Zo\xc3\xab", "")).author.name, "Zoë");
  assert.equal(parseCommit(OID, raw("encoding nonsense\n", "A", "m")).message, "m");
});

Deno.test("isProtected(): the accept and reject table", () => {
  for (
    const name of [
      "main",
      "MASTER",
      " dev ",
      "develop",
      "stable",
      "trunk",
      "prod",
      "production",
      "HEAD",
      "release/1",
      "Release-2",
      "hotfix/x",
      "hotfix-y",
      "refs/heads/main",
      "",
      "  ",
    ]
  ) {
    assert.equal(isProtected(name), true, name);
  }
  for (
    const name of [
      "release",
      "releases",
      "hotfix",
      "feature/main",
      "main2",
      "my-release/1",
      "release_1",
      "developer",
    ]
  ) {
    assert.equal(isProtected(name), false, name);
  }
});

Deno.test("parseRange(): two and three dots, an empty side is HEAD", () => {
  assert.deepEqual(parseRange("a..b", "unsafe_range_token"), { left: "a", dots: "..", right: "b" });
  assert.deepEqual(parseRange("HEAD~3...ü/x^2", "unsafe_range_token"), {
    left: "HEAD~3",
    dots: "...",
    right: "ü/x^2",
  });
  assert.deepEqual(parseRange("a..", "unsafe_range_token").right, "HEAD");
  for (const bad of ["..", "...", "a....b", "a..b..c", "-x..y", "a..-y", "a..b.lock", "a b..c", "@{u}..x"]) {
    assert.throws(() => parseRange(bad, "unsafe_range_token"), /not accepted as a range/, bad);
  }
});

Deno.test("isDate() and age()", () => {
  for (
    const good of [
      "7.days",
      "2 weeks ago",
      "2026-04-01T00:00:00Z",
      "2026-04-01T10:20:30.000+02:00",
      "1.year.3.months",
      "last monday",
      "noon yesterday",
      "10:30pm",
      "1st of May".replace(" of", ""),
    ]
  ) {
    assert.ok(isDate(good), good);
  }
  for (const bad of ["bogus!!", "", "   ", "--all", "$(x)", "days of thunder", "1.day\n", "x7.days"]) {
    assert.ok(!isDate(bad), bad);
  }
  const ages: [number, string][] = [
    [-5, "0s ago"],
    [59, "59s ago"],
    [2520, "42m ago"],
    [86_399, "23h ago"],
    [86_400, "1d ago"],
    [8 * 86_400, "1w ago"],
    [70 * 86_400, "2mo ago"],
    [800 * 86_400, "2y ago"],
  ];
  for (const [seconds, text] of ages) assert.equal(age(seconds), text);
});

Deno.test("localPath() tells this machine from others", () => {
  for (
    const [url, path] of [["/a/b.git", "/a/b.git"], ["file:///a%20b", "/a b"], ["../x", "/r/x"], [
      "./a:b",
      "/r/repo/a:b",
    ], ["x/y:z", "/r/repo/x/y:z"]]
  ) {
    assert.equal(localPath(url, "/r/repo"), path, url);
  }
  for (const url of ["https://h/x", "ssh://h/x", "git@h:x/y", "h:x", "ext::sh -c x", "", "HTTPS://h/x"]) {
    assert.equal(localPath(url, "/r/repo"), null, url);
  }
});

Deno.test("quoted() and globMatcher()", () => {
  assert.equal(quoted("plain/ü.txt"), "plain/ü.txt");
  assert.equal(quoted('a "b"\\\n\t\x01\x7f'), '"a \\"b\\"\\\\\\n\\t\\001\\177"');
  const match = (pattern: string, path: string) => globMatcher([pattern])(path);
  for (
    const [pattern, path] of [
      ["*.ts", "a/b.ts"],
      ["src/**", "src/a/b"],
      ["**/x.js", "a/b/x.js"],
      ["(g)/[id].ts", "(g)/[id].ts"],
      ["(g)/*", "(g)/a"],
      ["*.{a,b}", "x.b"],
      [".*", ".env"],
      ["a+b", "a+b"],
    ]
  ) {
    assert.ok(match(pattern, path), `${pattern} ${path}`);
  }
  for (
    const [pattern, path] of [["src/*", "src/a/b"], ["*.ts", "a.tsx"], ["(a|b)", "a"], ["a+", "aa"], [
      "vendor/**",
      "pkg/vendor/x",
    ]]
  ) {
    assert.ok(!match(pattern, path), `${pattern} ${path}`);
  }
  assert.throws(() => globMatcher(["**/**/**/**/**/x"]), /wildcards/);
  assert.throws(() => globMatcher([""]), /empty/);
});
