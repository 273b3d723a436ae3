/** Parsers of git's output and of refs: examples from the manual pages, and properties. */
import assert from "node:assert/strict";
import { parseVersion, trustedDirectories } from "../../src/git/binary.ts";
import { parseConfigList, unsafeKeys } from "../../src/git/config_guard.ts";
import { gitEnvironment } from "../../src/git/environment.ts";
import { parseIndex } from "../../src/git/index_entries.ts";
import { parseNumstat, sumLines } from "../../src/git/numstat.ts";
import { checkCommitish } from "../../src/git/refs.ts";
import { parseStatus } from "../../src/git/status.ts";
import { parseWorktrees } from "../../src/git/worktrees.ts";

const OID = "0123456789abcdef0123456789abcdef01234567";

Deno.test("parseStatus() reads every kind of entry", () => {
  const status = parseStatus([
    `# branch.oid ${OID}`,
    "# branch.head feature/x y",
    "# branch.upstream origin/x",
    "# branch.ab +1 -2",
    `1 .M N... 100644 100644 100644 ${OID} ${OID} a file with  blanks`,
    `2 R. N... 100644 100644 100644 ${OID} ${OID} R100 new name`,
    "old\nname",
    `u UU N... 100644 100644 100644 100644 ${OID} ${OID} ${OID} both`,
    `1 .M SCM. 160000 160000 160000 ${OID} ${OID} sub`,
    "? dir/",
    "! ignored",
    "",
  ].join("\0"));
  assert.deepEqual([status.head, status.branch], [OID, "feature/x y"]);
  assert.deepEqual(status.entries.map(({ kind, xy, path }) => [kind, xy, path]), [
    ["changed", ".M", "a file with  blanks"],
    ["renamed", "R.", "new name"],
    ["unmerged", "UU", "both"],
    ["changed", ".M", "sub"],
    ["untracked", "??", "dir/"],
    ["ignored", "!!", "ignored"],
  ]);
  assert.equal(status.entries[1].from, "old\nname");
  assert.equal(status.entries[3].submodule, "SCM.");
});

Deno.test("parseStatus() knows an unborn and a detached HEAD, and survives nonsense", () => {
  const unborn = parseStatus("# branch.oid (initial)\0# branch.head main\0");
  assert.deepEqual([unborn.head, unborn.branch], [null, "main"]);
  const detached = parseStatus(`# branch.oid ${OID}\0# branch.head (detached)\0`);
  assert.deepEqual([detached.head, detached.branch], [OID, null]);
  for (const text of ["", "\0", "2 R.", "x\0y\0", "1\0", "u \0"]) parseStatus(text);
});

Deno.test("parseWorktrees() reads main, linked, detached, bare and locked ones", () => {
  const text = [
    ["worktree /repo with\nnewline", `HEAD ${OID}`, "branch refs/heads/main"],
    ["worktree /w1", `HEAD ${OID}`, "detached", "locked"],
    ["worktree /w2", `HEAD ${"0".repeat(40)}`, "branch refs/heads/x", "locked on a stick", "prunable gone"],
    ["worktree /bare.git", "bare"],
  ].map((lines) => [...lines, ""].join("\0")).join("\0");
  assert.deepEqual(parseWorktrees(text), [
    { path: "/repo with\nnewline", head: OID, branch: "refs/heads/main", bare: false, locked: null },
    { path: "/w1", head: OID, branch: null, bare: false, locked: "" },
    { path: "/w2", head: null, branch: "refs/heads/x", bare: false, locked: "on a stick" },
    { path: "/bare.git", head: null, branch: null, bare: true, locked: null },
  ]);
});

Deno.test("parseNumstat() reads files, binary files and renames, whatever their names", () => {
  const text =
    "3\t1\ta\0-\t-\tbin\x000\t2\t\x005\t5\tlooks like a record\0new\nname\x0010\t0\t5\t5\tname with tabs\0";
  const files = parseNumstat(text.split("\0"));
  assert.deepEqual(files, [
    { added: 3, removed: 1, binary: false, path: "a" },
    { added: 0, removed: 0, binary: true, path: "bin" },
    { added: 0, removed: 2, binary: false, from: "5\t5\tlooks like a record", path: "new\nname" },
    { added: 10, removed: 0, binary: false, path: "5\t5\tname with tabs" },
  ]);
  assert.deepEqual(sumLines(files), { added: 13, removed: 3 });
  assert.deepEqual(sumLines(parseNumstat(["", "x", "1\t2"])), { added: 0, removed: 0 });
});

Deno.test("parseVersion() reads what gits of all systems print", () => {
  const cases: [string, string, boolean, boolean][] = [
    ["git version 2.39.5", "2.39.5", true, false],
    ["git version 2.39.5 (Apple Git-154)", "2.39.5", true, false],
    ["git version 2.47.0.windows.1", "2.47.0.windows.1", true, true],
    ["git version 2.30.0-rc1", "2.30.0-rc1", true, false],
    ["git version 3.0.0", "3.0.0", true, true],
    ["git version 2.29.9", "2.29.9", false, false],
    ["git version 1.99.0", "1.99.0", false, false],
  ];
  for (const [line, text, is230, is241] of cases) {
    const version = parseVersion(line)!;
    assert.deepEqual(
      [version.text, version.atLeast(2, 30), version.atLeast(2, 41)],
      [text, is230, is241],
      line,
    );
  }
  assert.equal(parseVersion("hub version 2.14"), null);
  assert.equal(parseVersion(""), null);
});

Deno.test("trustedDirectories() drops relative entries and those inside a root", () => {
  assert.deepEqual(
    trustedDirectories("/usr/bin:.::bin:/repo/bin:/repo:/repo-tools:/usr/local/bin", ["/repo"]),
    [
      "/usr/bin",
      "/repo-tools",
      "/usr/local/bin",
    ],
  );
});

Deno.test("gitEnvironment() hands on what it names and nothing else", () => {
  const env = gitEnvironment({
    PATH: "/bin",
    HOME: "/home/x",
    MCP_APP_SECRET: "s",
    GIT_DIR: "/elsewhere",
    LD_PRELOAD: "x.so",
    GIT_EXEC_PATH: "/evil",
    SSH_AUTH_SOCK: "/sock",
    GIT_SSH_COMMAND: "evil",
    LANG: "de_DE",
  }, "/usr/bin");
  assert.deepEqual(Object.keys(env).sort(), [
    "GCM_INTERACTIVE",
    "GIT_ALLOW_PROTOCOL",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_LITERAL_PATHSPECS",
    "GIT_MERGE_AUTOEDIT",
    "GIT_NO_LAZY_FETCH",
    "GIT_PAGER",
    "GIT_PROGRESS_DELAY",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_TERMINAL_PROMPT",
    "HOME",
    "LANG",
    "LC_ALL",
    "PATH",
    "SSH_ASKPASS",
    "SSH_ASKPASS_REQUIRE",
    "SSH_AUTH_SOCK",
  ]);
  assert.equal(env.GIT_SSH_COMMAND, "ssh -oBatchMode=yes");
  assert.deepEqual([env.LANG, env.PATH], ["C.UTF-8", "/usr/bin"]);
});

Deno.test("checkCommitish() takes what names one commit", () => {
  const fine = [
    "main",
    "feature/x",
    "v1.2.3",
    "HEAD",
    "HEAD~3",
    "HEAD^",
    "main~2^2",
    OID,
    OID.slice(0, 7),
    "a.b_c-d",
    "ünïcode/分支",
    "refs/heads/x",
    "origin/main",
    "x@y",
    "a{b}",
    "@",
    "release-1.0+build",
  ];
  for (const token of fine) assert.equal(checkCommitish(token), token);
});

Deno.test("checkCommitish() refuses options, ranges, reflog and every forbidden form", () => {
  const bad = [
    "",
    "-x",
    "--output=/tmp/x",
    "a..b",
    "a...b",
    "..",
    "HEAD@{1}",
    "@{-1}",
    "@{u}",
    "x.lock",
    "x.lock/y",
    "a b",
    "a\tb",
    "a\nb",
    "a\0b",
    "a:b",
    ":/x",
    "a?b",
    "a*",
    "a[b",
    "a\\b",
    "/a",
    "a/",
    "a//b",
    ".a",
    "a/.b",
    "a.",
    "re\u202elease",
    "zero\u200bwidth",
    "\u007f",
    "x".repeat(257),
    "HEAD~1~x/^",
    "^a",
    "~1",
    "a^{tree}",
    "a~1b",
  ];
  for (const token of bad) {
    assert.throws(() => checkCommitish(token), { code: "unsafe_ref_token" }, JSON.stringify(token));
  }
});

Deno.test("parseConfigList() reads scopes, origins, values with newlines and keys without value", () => {
  const text =
    "local\0file:.git/config\0core.bare\nfalse\0global\0file:/g\0alias.x\n!a\nb\0local\0file:.git/config\0core.flag\0";
  assert.deepEqual(parseConfigList(text), [
    { scope: "local", origin: "file:.git/config", key: "core.bare", value: "false" },
    { scope: "global", origin: "file:/g", key: "alias.x", value: "!a\nb" },
    { scope: "local", origin: "file:.git/config", key: "core.flag", value: null },
  ]);
  assert.deepEqual(parseConfigList(""), []);
});

Deno.test("unsafeKeys() leaves the operator's own scopes alone", () => {
  const place = { root: "/r", gitDir: "/r/.git", commonDir: "/r/.git" };
  const entry = (scope: string) => ({ scope, origin: "file:x", key: "filter.lfs2.clean", value: "run me" });
  assert.deepEqual(unsafeKeys(["global", "system", "command"].map(entry), place), []);
  assert.deepEqual(unsafeKeys(["local", "worktree"].map(entry), place), ["filter.lfs2.clean"]);
});

Deno.test("unsafeKeys() judges values, not only names", () => {
  const place = { root: "/r", gitDir: "/r/.git", commonDir: "/r/.git" };
  const unsafe = (key: string, value: string | null) =>
    unsafeKeys([{ scope: "local", origin: "file:.git/config", key, value }], place).length > 0;
  const cases: [string, string | null, boolean][] = [
    ["core.worktree", "..", false],
    ["core.worktree", "../../x", true],
    ["core.worktree", "/r", false],
    ["include.path", "extra", false],
    ["include.path", "../.shared", false],
    ["include.path", "../../out", true],
    ["include.path", "~/x", true],
    ["include.path", "/etc/x", true],
    ["credential.helper", "", false],
    ["credential.helper", "osxkeychain", false],
    ["credential.helper", "/bin/x", true],
    ["credential.helper", "!x", true],
    ["credential.helper", "store; x", true],
    ["credential.helper", null, false],
    ["url.https://mirror/.insteadof", "https://a/", false],
    ["url.git@host:.insteadof", "https://host/", false],
    ["url.ssh://git@host/.pushinsteadof", "https://host/", false],
    ["url./srv/git/.insteadof", "https://host/", true],
    ["url.fd::17.insteadof", "x", true],
    ["submodule.a.update", "rebase", false],
    ["submodule.a.update", "!x", true],
    ["filter.lfs.process", "git-lfs filter-process --skip", false],
    ["filter.lfs.process", "git-lfs filter-process; x", true],
    ["filter.x.required", "true", false],
    ["filter.x.clean", "", false],
  ];
  for (const [key, value, expected] of cases) assert.equal(unsafe(key, value), expected, `${key}=${value}`);
});

Deno.test("parseIndex() gives gitlinks and unwatched files, and passes over the rest", () => {
  const text = [
    `H 100644 ${OID} 0\tplain`,
    `H 100755 ${OID} 0\tprogram`,
    `H 120000 ${OID} 0\tlink`,
    `H 160000 ${OID} 0\tsub module`,
    `h 100644 ${OID} 0\tassumed`,
    `S 100644 ${OID} 0\tskipped\nhere`,
    `s 100644 ${OID} 0\tboth`,
    `M 100644 ${OID} 2\tconflict`,
    "",
  ].join("\0");
  assert.deepEqual(parseIndex(text), [
    { path: "sub module", mode: "160000", unwatched: false },
    { path: "assumed", mode: "100644", unwatched: true },
    { path: "skipped\nhere", mode: "100644", unwatched: true },
    { path: "both", mode: "100644", unwatched: true },
  ]);
});
