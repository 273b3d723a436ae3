/** Paths that try to leave the root, or to reach what is not a caller's to write. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { isGitName, pathFault } from "../../src/platform/path_forms.ts";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { rounds } from "../support/rounds.ts";
import { Server, withServer } from "../support/server.ts";

interface Scene {
  server: Server;
  repo: Repo;
  /** Beside the root: nothing in it may change. */
  outside: string;
}

async function scene(work: (scene: Scene) => Promise<void>, flags: string[] = []): Promise<void> {
  await withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "root"), { "a.txt": "a\n", "sub/b.txt": "b\n" });
    const outside = join(dir, "outside");
    await Deno.mkdir(join(dir, "root-evil"));
    await Deno.mkdir(outside);
    await Deno.writeTextFile(join(outside, "secret.txt"), "secret\n");
    const all = ["-repo", repo.dir, "-db", join(dir, "outside"), ...flags];
    await withServer({ cwd: dir, flags: all }, (server) => work({ server, repo, outside }));
    assert.equal(await Deno.readTextFile(join(outside, "secret.txt")), "secret\n");
    assert.deepEqual(namesIn(outside).filter((name) => !name.startsWith(".orch")), ["secret.txt"]);
    assert.deepEqual(namesIn(join(dir, "root-evil")), []);
  });
}

function namesIn(dir: string): string[] {
  return [...Deno.readDirSync(dir)].map(({ name }) => name);
}

/** What every writing tool answers to a path. */
async function answers(server: Server, path: string): Promise<string[]> {
  return [
    await server.refusal("write_file", { path, content: "evil" }),
    await server.refusal("append", { path, content: "evil" }),
    await server.refusal("create_directory", { path }),
    await server.refusal("move_file", { source: "a.txt", destination: path }),
  ];
}

Deno.test("paths that lead out of the root are refused by every tool, with the path and the root", () =>
  scene(async ({ server, repo, outside }) => {
    await Deno.symlink(outside, join(repo.dir, "link-dir"));
    await Deno.symlink(join(outside, "secret.txt"), join(repo.dir, "link-file"));
    await Deno.symlink(join(outside, "new.txt"), join(repo.dir, "dangling"));
    await Deno.symlink("link-dir", join(repo.dir, "chain"));
    await Deno.symlink("loop2", join(repo.dir, "loop1"));
    await Deno.symlink("loop1", join(repo.dir, "loop2"));
    await Deno.symlink("../outside/new.txt", join(repo.dir, "sub", "relative"));
    const paths = [
      "../x",
      "../outside/secret.txt",
      "sub/../../outside/secret.txt",
      "./../outside/x",
      "sub/../../../x",
      `${repo.dir}/../outside/secret.txt`,
      `${repo.dir}-evil/x`,
      `//${outside}/x`,
      `/${repo.dir}//..//outside/x`,
      outside,
      join(outside, "secret.txt"),
      "/etc/passwd",
      "/etc/new",
      "/dev/stdin",
      "/proc/self/environ",
      "/proc/self/cwd/../outside/x",
      `/proc/self/root${outside}/x`,
      "/",
      "",
      "a\0b",
      "../outside/x\0.txt",
      "a\nb",
      "\x1b[31m",
      "~/x",
      "~",
      "x".repeat(5_000),
      "\ud800",
      "link-dir/x",
      "link-dir/secret.txt",
      "link-dir/new/deep",
      "link-file",
      "dangling",
      "chain/x",
      "chain/secret.txt",
      "loop1",
      "loop1/x",
      "sub/relative",
      "sub/../link-dir/x",
    ];
    for (const path of paths) {
      for (const text of await answers(server, path)) {
        const payload = JSON.parse(text);
        assert.equal(payload.error, "OutsideRoot", `${JSON.stringify(path.slice(0, 60))}: ${text}`);
        assert.ok(payload.message.includes(repo.dir) && payload.next);
      }
    }
    assert.equal(await Deno.readTextFile(join(repo.dir, "a.txt")), "a\n");
  }));

Deno.test("names that only look like ways out are names", () =>
  scene(async ({ server, repo }) => {
    for (
      const path of [
        "%2e%2e/x",
        "..x/y",
        "x../y",
        ".\\..\\x",
        "a..b",
        "$HOME",
        "$(id)",
        ";id",
        "-rf",
        "e\u0301",
        "…",
      ]
    ) {
      await server.payload("write_file", { path, content: path });
      assert.equal(await Deno.readTextFile(join(repo.dir, path)), path);
    }
  }));

Deno.test("what belongs to git, to the server and to agents' clients is not written", () =>
  scene(async ({ server, repo }) => {
    await Deno.mkdir(join(repo.dir, "bare.git"));
    repo.at(join(repo.dir, "bare.git")).git("init", "-q", "--bare");
    repo.git("worktree", "add", "-q", "--detach", join(repo.dir, "wt"));
    await Deno.symlink(".git", join(repo.dir, "innocent"));
    const config = await Deno.readTextFile(join(repo.dir, ".git", "config"));
    const paths = [
      ".git/config",
      ".git/hooks/pre-commit",
      ".git",
      ".GIT/config",
      ".Git/hooks/x",
      ".git./config",
      ".git /config",
      "GIT~1/config",
      "git~2/x",
      ".g\u200cit/config",
      ".gi\u200dt/config",
      "\ufeff.git/config",
      "sub/.git",
      "sub/.git/config",
      "x/.git/config",
      ".git::$INDEX_ALLOCATION/config",
      "wt/.git",
      ".git/worktrees/wt/HEAD",
      "innocent/config",
      "bare.git/hooks/post-update",
      "bare.git/config",
      "bare.git/objects/aa/x",
      ".orchestragent-mcp.db",
      "sub/.orchestragent-mcp.index.db",
      ".mcp.json",
      "sub/.mcp.json",
      ".vscode/mcp.json",
      ".vscode/tasks.json",
      ".claude/settings.json",
      ".codex/config.toml",
      ".cursor/mcp.json",
      ".CLAUDE/settings.json",
    ];
    for (const path of paths) {
      for (const text of await answers(server, path)) {
        assert.equal(JSON.parse(text).error, "PermissionDenied", `${JSON.stringify(path)}: ${text}`);
      }
      const away = await server.refusal("move_file", { source: path, destination: "away" });
      assert.match(JSON.parse(away).error, /PermissionDenied|NotFound/, path);
    }
    assert.equal(await Deno.readTextFile(join(repo.dir, ".git", "config")), config);
    for (const path of [".gitignore", ".github/x", ".gitattributes", "git", "x.git", ".vscode/x.json"]) {
      await server.payload("write_file", { path, content: "" });
    }
  }));

Deno.test("with --allow-agent-config clients' files may be written", () =>
  scene(async ({ server }) => {
    await server.payload("write_file", { path: ".mcp.json", content: "{}" });
    assert.match(
      await server.refusal("write_file", { path: ".git/config", content: "" }),
      /PermissionDenied/,
    );
  }, ["--allow-agent-config"]));

Deno.test("pipes, devices and directories are no files to write", () =>
  scene(async ({ server, repo }) => {
    await new Deno.Command("mkfifo", { args: [join(repo.dir, "pipe")] }).output();
    for (const path of ["pipe", "sub", "."]) {
      for (const tool of ["write_file", "append"]) {
        assert.match(await server.refusal(tool, { path, content: "x" }), /InvalidTarget/, `${tool} ${path}`);
      }
    }
    await Deno.mkdir(join(repo.dir, "locked"), { mode: 0o555 });
    if (Deno.uid() === 0) return;
    assert.match(await server.refusal("write_file", { path: "locked/x", content: "" }), /PermissionDenied/);
  }));

Deno.test("a root that is a link works by either name", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "real"));
    await Deno.symlink(repo.dir, join(dir, "link"));
    await withServer({ cwd: dir, flags: ["-repo", join(dir, "link"), "-db", dir] }, async (server) => {
      for (const path of ["one.txt", join(dir, "link", "two.txt"), join(repo.dir, "three.txt")]) {
        await server.payload("write_file", { path, content: "x" });
      }
      assert.match(
        await server.refusal("write_file", { path: join(dir, "four.txt"), content: "" }),
        /OutsideRoot/,
      );
    });
  }));

Deno.test("read-only mode lists no tool that writes, and writes nothing", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir, "--read-only"] }, async (server) => {
      const { tools } = (await server.request("tools/list")).result;
      for (const name of ["write_file", "append", "create_directory", "move_file"]) {
        assert.ok(!tools.some((tool: { name: string }) => tool.name === name));
        const answer = await server.request("tools/call", { name, arguments: { path: "x", content: "x" } });
        assert.ok(answer.error ?? answer.result.isError);
      }
      assert.equal(repo.git("status", "--porcelain"), "");
    });
  }));

Deno.test("a directory that is swapped for a link while it is written leads nowhere", () =>
  scene(async ({ server, repo, outside }) => {
    await Deno.mkdir(join(repo.dir, "real"));
    await Deno.mkdir(join(repo.dir, "swap"));
    // Renames are atomic, so that at each moment there is one of the two.
    await Deno.symlink(outside, join(repo.dir, "evil"));
    const swapper = new Deno.Command("sh", {
      args: ["-c", "while :; do mv swap real2; mv evil swap; mv swap evil; mv real2 swap; done"],
      cwd: repo.dir,
      stderr: "null",
    }).spawn();
    let written = 0;
    for (let round = 0; round < rounds(300, 2_000); round++) {
      const results = await Promise.all([
        server.call("write_file", { path: `swap/f${round % 7}`, content: "x" }),
        server.call("write_file", { path: "swap/secret.txt", content: "x" }),
        server.call("append", { path: "swap/secret.txt", content: "x" }),
        server.call("move_file", { source: "a.txt", destination: "swap/moved" }),
      ]);
      written += results.filter(({ isError }) => !isError).length;
      const { isError } = results[3];
      if (!isError) repo.write("a.txt", "a\n");
    }
    swapper.kill("SIGKILL");
    await swapper.status;
    assert.ok(written > 0);
  }));

Deno.test("path forms of Windows and Unix", () => {
  const windows = [
    "\\\\srv\\share\\x",
    "//srv/share",
    "\\\\?\\C:\\x",
    "\\\\.\\COM1",
    "C:x",
    "f.txt:ads",
    "C:\\a\\f.txt::$DATA",
    "con",
    "con.txt",
    "a\\NUL",
    "a/aux.c",
    "COM1",
    "lpt9.log",
    "x.",
    "x ",
    "a./b",
    "a<b",
    "a|b",
    "a?b",
    "a*b",
    "",
    "a\0",
    "~\\x",
  ];
  for (const path of windows) assert.ok(pathFault(path, "windows") !== null, path);
  for (const path of ["C:\\a\\b.txt", "a\\b", "a/b", "..\\x", ".", "console.txt", "a.b.c", "C:/x"]) {
    assert.equal(pathFault(path, "windows"), null, path);
  }
  for (const path of ["con", "a:b", "x.", "\\\\x", "C:x", "a*b", "//x"]) {
    assert.equal(pathFault(path, "posix"), null);
  }
  for (
    const name of [".git", ".GIT", ".git.", ".git ", ".git::$DATA", "git~1", "GIT~12", ".g\u200cit", "．git"]
  ) {
    assert.ok(isGitName(name), name);
  }
  for (const name of [".gitignore", "git", ".github", "x.git", "git~", "git~x", ".gi"]) {
    assert.ok(!isGitName(name), name);
  }
});
