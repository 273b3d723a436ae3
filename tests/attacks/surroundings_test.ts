/** Attacks from around the repository: links, planted programs, the environment, prompts. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, withTemp } from "../support/repo.ts";
import { withServer } from "../support/server.ts";

Deno.test(".worktrees as a link out of the repository is refused", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    await Deno.mkdir(join(dir, "outside"));
    await Deno.symlink(join(dir, "outside"), join(repo.dir, ".worktrees"));
    await withServer({ cwd: repo.dir, flags: ["-db", dir] }, async (server) => {
      const text = await server.refusal("create_worktree", { sessionId: "out" });
      assert.match(text, /\(path_escapes_repository\)$/);
    });
    assert.deepEqual(await Array.fromAsync(Deno.readDir(join(dir, "outside"))), []);
    assert.equal(repo.git("branch", "--list", "session-*"), "");
  }));

Deno.test("a worktree replaced by a link is neither read nor removed", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const other = makeRepo(join(dir, "other"), { "secret.txt": "SECRET" });
    await withServer({ cwd: repo.dir, flags: ["-db", dir] }, async (server) => {
      const { worktreePath } = await server.payload("create_worktree", { sessionId: "swap" });
      await Deno.rename(worktreePath, join(dir, "moved"));
      await Deno.symlink(other.dir, worktreePath);
      const [row] = (await server.payload("get_sessions")).sessions;
      assert.equal(row.statsAvailable, false);
      assert.match(
        await server.refusal("remove_session", { sessionId: "swap", force: true }),
        /\(worktree_path_exists\)$/,
      );
    });
    assert.equal(await Deno.readTextFile(join(other.dir, "secret.txt")), "SECRET");
  }));

Deno.test(".worktreeinclude copies nothing through a link that leads outside", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), {
      ".gitignore": "config/local\n",
      ".worktreeinclude": "config/local\n",
    });
    await Deno.mkdir(join(dir, "outside"));
    // In the base the directory is a link; in the main working tree it is a directory by now.
    await Deno.symlink(join(dir, "outside"), join(repo.dir, "config"));
    repo.git("add", "--all");
    repo.git("commit", "--quiet", "-m", "A link");
    repo.git("checkout", "--quiet", "-b", "later");
    await Deno.remove(join(repo.dir, "config"));
    repo.commit("A directory", { "config/tracked": "t" });
    repo.write("config/local", "SECRET");
    await withServer({ cwd: repo.dir, flags: ["-db", dir] }, async (server) => {
      const made = await server.payload("create_worktree", { sessionId: "inc" });
      assert.deepEqual([made.copiedFiles, made.skippedFiles], [undefined, ["config/local"]]);
    });
    assert.deepEqual(await Array.fromAsync(Deno.readDir(join(dir, "outside"))), []);
  }));

Deno.test(".worktreeinclude as a link, or with patterns that climb, copies nothing from outside", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), {
      ".gitignore": "*.env\nlinked\n",
      ".worktreeinclude": "../x.env\n/../x.env\n**/x.env\nlinked\n",
    });
    await Deno.writeTextFile(join(dir, "x.env"), "SECRET");
    await Deno.symlink(join(dir, "x.env"), join(repo.dir, "linked"));
    await withServer({ cwd: repo.dir, flags: ["-db", dir] }, async (server) => {
      const made = await server.payload("create_worktree", { sessionId: "climb" });
      assert.deepEqual(made.skippedFiles, ["linked"]);
      assert.equal(made.copiedFiles, undefined);
    });
    await Deno.rename(join(repo.dir, ".worktreeinclude"), join(dir, "list"));
    await Deno.symlink(join(dir, "list"), join(repo.dir, ".worktreeinclude"));
    await withServer({ cwd: repo.dir, flags: ["-db", dir] }, async (server) => {
      const made = await server.payload("create_worktree", { sessionId: "link" });
      assert.equal(made.skippedFiles, undefined);
    });
  }));

Deno.test("a git planted in the repository or reached by a relative PATH entry never runs", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const trace = join(dir, "TRACE");
    for (const place of ["git", "bin/git"]) {
      repo.write(place, `#!/bin/sh\ntouch '${trace}'\nexec /usr/bin/git "$@"\n`);
      await Deno.chmod(join(repo.dir, place), 0o755);
    }
    const PATH = [".", "bin", repo.dir, join(repo.dir, "bin"), "", Deno.env.get("PATH")].join(":");
    await withServer({ cwd: repo.dir, flags: ["-db", dir], env: { PATH } }, async (server) => {
      await server.payload("create_worktree", { sessionId: "path" }).catch((error) => {
        // The permission to run git may have been bound to the planted one: then nothing runs at all.
        assert.match(String(error), /git/);
      });
    });
    await assert.rejects(Deno.stat(trace), Deno.errors.NotFound);
  }));

Deno.test("variables of the server's environment do not reach git", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const other = makeRepo(join(dir, "other"), { "s.txt": "SECRET" });
    const trace = join(dir, "TRACE");
    const program = join(dir, "evil.sh");
    await Deno.writeTextFile(program, `#!/bin/sh\ntouch '${trace}'\n`);
    await Deno.chmod(program, 0o755);
    const env = {
      GIT_DIR: join(other.dir, ".git"),
      GIT_WORK_TREE: other.dir,
      GIT_INDEX_FILE: join(dir, "index"),
      GIT_OBJECT_DIRECTORY: join(dir, "objects"),
      GIT_EXTERNAL_DIFF: program,
      GIT_SSH_COMMAND: program,
      GIT_ASKPASS: program,
      GIT_PAGER: program,
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "core.fsmonitor",
      GIT_CONFIG_VALUE_0: program,
      GIT_CONFIG_PARAMETERS: `'core.fsmonitor=${program}'`,
      GIT_TRACE: join(dir, "trace.log"),
    };
    await withServer({ cwd: repo.dir, flags: ["-db", dir], env }, async (server) => {
      const { worktreePath } = await server.payload("create_worktree", { sessionId: "env" });
      assert.equal(await Deno.readTextFile(join(worktreePath, "a.txt")), "one\ntwo\nthree\n");
      await server.payload("get_sessions");
      await server.payload("remove_session", { sessionId: "env" });
    });
    for (const file of ["TRACE", "trace.log", "index", "objects"]) {
      await assert.rejects(Deno.stat(join(dir, file)), Deno.errors.NotFound, file);
    }
  }));

Deno.test("git missing, or not allowed, is a clear error", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const bin = join(dir, "bin");
    await Deno.mkdir(bin);
    await withServer({ cwd: repo.dir, flags: ["-db", dir], env: { PATH: bin } }, async (server) => {
      assert.match(await server.refusal("get_sessions"), /\(git_not_found\)$/);
      await Deno.writeTextFile(join(bin, "git"), "#!/bin/sh\necho git version 2.39.5\n");
      await Deno.chmod(join(bin, "git"), 0o755);
      assert.match(await server.refusal("get_sessions"), /may not run .*bin\/git\n.*restart it/);
    });
  }));

Deno.test("what git says is shown without escapes and credentials", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    await withServer({ cwd: repo.dir, flags: ["-db", dir, "-base", "main"] }, async (server) => {
      const text = await server.refusal("create_worktree", {
        sessionId: "esc",
        baseRef: "x\u001b[31mred\u202e",
      });
      // deno-lint-ignore no-control-regex -- their absence is what is checked
      assert.doesNotMatch(text, /[\x00-\x08\x1b\u202e]/);
    });
  }));

Deno.test("a database that is not one is left as it is, with a clear error", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const file = join(dir, ".orchestragent-mcp.db");
    const content = "my precious notes, not a database\n".repeat(500);
    await Deno.writeTextFile(file, content);
    await withServer({ cwd: repo.dir, flags: ["-db", dir] }, async (server) => {
      for (const tool of ["get_sessions", "get_sessions"]) {
        assert.match(
          await server.refusal(tool),
          /\.orchestragent-mcp\.db' cannot be read[^]*\(database_corrupt\)$/,
        );
      }
      assert.match(await server.refusal("create_worktree", { sessionId: "xx" }), /\(database_corrupt\)$/);
      assert.equal(await Deno.readTextFile(file), content);
      assert.equal(repo.git("branch", "--list", "session-*"), "");
      await Deno.remove(file);
      await server.payload("create_worktree", { sessionId: "works-now" });
    });
  }));

Deno.test("a database directory that cannot be made is a clear error", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    await Deno.writeTextFile(join(dir, "file"), "");
    await withServer({ cwd: repo.dir, flags: ["-db", join(dir, "file", "sub")] }, async (server) => {
      assert.match(await server.refusal("get_sessions"), /\(database_unavailable\)$/);
    });
  }));

Deno.test("a repository without git, and a path that does not exist, are clear errors", () =>
  withTemp(async (dir) => {
    await Deno.mkdir(join(dir, "plain"));
    await Deno.writeTextFile(join(dir, "file"), "");
    for (const place of ["plain", "nowhere", "file"]) {
      await withServer({ cwd: dir, flags: ["-repo", join(dir, place), "-db", dir] }, async (server) => {
        assert.match(
          await server.refusal("get_sessions"),
          new RegExp(`${place}[^]*\\(not_a_git_repository\\)$`),
        );
      });
    }
  }));
