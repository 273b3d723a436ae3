/** The command line as a person meets it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { FLAGS, parseCommandLine } from "../../src/cli/flags.ts";
import { makeRepo, withTemp } from "../support/repo.ts";
import { runProgram } from "../support/server.ts";
import { ROOT } from "../support/paths.ts";

Deno.test("parseCommandLine() takes one dash, two dashes, '=' and blanks", () => {
  for (const args of [["-repo", "/r"], ["--repo", "/r"], ["-repo=/r"], ["--repo=/r"]]) {
    assert.equal(parseCommandLine(args).repo, "/r");
  }
  const line = parseCommandLine(
    ["-root", "/a", "--root=/b,c", "--tools", "x,y", "-tools=z", "--read-only", "call", "t", "-5"].slice(
      0,
      -1,
    ),
  );
  assert.deepEqual(line.roots, ["/a", "/b,c"]);
  assert.deepEqual(line.tools, ["x", "y", "z"]);
  assert.equal(line.readOnly, true);
  assert.deepEqual([line.command, line.operands], ["call", ["t"]]);
  assert.equal(parseCommandLine([]).command, "serve");
  assert.deepEqual(parseCommandLine(["call", "t", "--", "-x"]).operands, ["t", "-x"]);
  assert.equal(parseCommandLine(["-repo=a=b"]).repo, "a=b");
});

Deno.test("parseCommandLine() refuses what it does not know, in one line", () => {
  const cases: [string[], RegExp][] = [
    [["--nope"], /^unknown flag '--nope'/],
    [["--read"], /did you mean '--read-only'/],
    [["-repo"], /^flag '--repo' needs a value/],
    [["-repo="], /needs a value/],
    [["-repo", "a", "-repo", "b"], /given twice/],
    [["--read-only=yes"], /takes no value/],
    [["serv"], /^unknown command 'serv'/],
    [["doctor", "x"], /takes no operand/],
    [["--log-level", "loud"], /^unknown log level 'loud'/],
    [["-1"], /unknown flag/],
  ];
  for (const [args, message] of cases) {
    assert.throws(() => parseCommandLine(args), (error: Error) => {
      assert.match(error.message, message);
      assert.ok(!error.message.includes("\n"));
      return true;
    });
  }
});

Deno.test("bad flags: one line on stderr, exit code 2, nothing on stdout", async () => {
  for (
    const flags of [["--nope"], ["--toolsets", "x"], ["--tools", "zz*"], ["--exclude-tools", "*"], ["call"], [
      "call",
      "nope",
    ], ["call", "get_sessions", "{"]]
  ) {
    const { code, stdout, stderr } = await runProgram({ cwd: "/", flags });
    assert.equal(code, 2, flags.join(" "));
    assert.equal(stdout, "");
    assert.match(stderr, /^orchestragent-mcp: [^\n]+$/);
  }
});

Deno.test("--help names every flag, --version the version of deno.json", async () => {
  const help = await runProgram({ cwd: "/", flags: ["--help"] });
  assert.equal(help.code, 0);
  for (const { name } of FLAGS) assert.ok(help.stdout.includes(`-${name}`), name);
  const { version } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const shown = await runProgram({ cwd: "/", flags: ["-version"] });
  assert.deepEqual([shown.code, shown.stdout], [0, `orchestragent-mcp ${version}`]);
});

Deno.test("call prints the result and tells errors by its exit code", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const flags = ["-repo", repo.dir, "-db", dir];
    const made = await runProgram({
      cwd: dir,
      flags: [...flags, "call", "create_worktree", '{"sessionId":"cli"}'],
    });
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /^Successfully created worktree for session 'cli'/);
    assert.match(made.stdout, /"branchName": "session-cli"/);
    const listed = await runProgram({ cwd: dir, flags: ["call", "get_sessions", ...flags] });
    assert.match(listed.stdout, /^Found 1 session\(s\)/);
    const again = await runProgram({
      cwd: dir,
      flags: [...flags, "call", "create_worktree", '{"sessionId":"cli"}'],
    });
    assert.deepEqual([again.code, again.stdout.split("\n")[0]], [1, "session already exists: cli"]);
    const wrong = await runProgram({
      cwd: dir,
      flags: [...flags, "call", "create_worktree", '{"sessionID":"cli"}'],
    });
    assert.equal(wrong.code, 1);
    assert.match(wrong.stdout, /sessionId[^]*sessionID[^]*\(invalid_arguments\)/);
  }));

Deno.test("doctor says what works, and what to do about what does not", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const flags = ["-repo", repo.dir, "-db", dir, "doctor"];
    const fine = await runProgram({ cwd: dir, flags });
    assert.equal(fine.code, 0, fine.stdout);
    for (const check of ["permissions", "git", "repository", "database", "base branch", "sessions"]) {
      assert.match(fine.stdout, new RegExp(`^✓ ${check}: `, "m"));
    }
    await Deno.mkdir(join(dir, "plain"));
    const none = await runProgram({ cwd: dir, flags: ["-repo", join(dir, "plain"), "doctor"] });
    assert.equal(none.code, 1);
    assert.match(none.stdout, /✗ repository: .*plain' is not inside a git repository\n {2}→ Point -repo at/);

    await runProgram({
      cwd: dir,
      flags: ["-repo", repo.dir, "-db", dir, "call", "create_worktree", '{"sessionId":"gone"}'],
    });
    await Deno.remove(join(repo.dir, ".worktrees/session-gone"), { recursive: true });
    const missing = await runProgram({ cwd: dir, flags });
    assert.match(missing.stdout, /gone: its worktree is gone; remove_session forgets it/);
  }));

Deno.test("demo plays a life, and with -repo only reads", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const before = repo.git("status", "--porcelain", "--ignored");
    const run = async (...args: string[]) => {
      const command = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", join(ROOT, "src/main.ts"), ...args],
        cwd: dir,
        stdin: "null",
      });
      const { code, stdout } = await command.output();
      return { code, text: new TextDecoder().decode(stdout) };
    };
    const life = await run("demo");
    assert.equal(life.code, 0, life.text);
    assert.match(life.text, /has unmerged changes[^]*Successfully removed[^]*nothing was lost/);
    const reading = await run("demo", "-repo", repo.dir);
    assert.equal(reading.code, 0, reading.text);
    assert.match(reading.text, /Found 0 session\(s\)[^]*Nothing was changed/);
    assert.equal(repo.git("status", "--porcelain", "--ignored"), before);
  }));
