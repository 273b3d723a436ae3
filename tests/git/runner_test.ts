/** The runner with gits of all kinds: old, missing, slow, talkative. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { GitRunner } from "../../src/git/runner.ts";
import { findGit } from "../../src/git/binary.ts";
import { Repositories } from "../../src/git/repository.ts";
import { makeRepo, testEnv, withTemp } from "../support/repo.ts";

async function fakeGit(dir: string, script: string): Promise<void> {
  await Deno.mkdir(dir, { recursive: true });
  await Deno.writeTextFile(join(dir, "git"), `#!/bin/sh\n${script}\n`);
  await Deno.chmod(join(dir, "git"), 0o755);
}

Deno.test("findGit() refuses an old git, passes over what is none, and never looks into a root", () =>
  withTemp(async (dir) => {
    await fakeGit(join(dir, "old"), "echo git version 2.29.2");
    await fakeGit(join(dir, "none"), "echo something else");
    await fakeGit(join(dir, "root/bin"), "echo git version 9.9.9");
    await assert.rejects(findGit(join(dir, "old"), {}, []), { code: "git_too_old" });
    await assert.rejects(findGit(join(dir, "none"), {}, []), { code: "git_not_found" });
    await assert.rejects(findGit("", {}, []), { code: "git_not_found" });
    const path = [join(dir, "root/bin"), join(dir, "none"), testEnv().PATH].join(":");
    const binary = await findGit(path, testEnv(), [join(dir, "root")]);
    assert.ok(!binary.file.startsWith(dir));
  }));

Deno.test("a git that appears, or goes, while the server runs is noticed", () =>
  withTemp(async (dir) => {
    const git = new GitRunner({ ...testEnv(), PATH: join(dir, "bin") });
    const place = { root: dir };
    await assert.rejects(git.exec(place, ["version"]), { code: "git_not_found" });
    await fakeGit(join(dir, "bin"), "echo git version 2.99.0");
    assert.match((await git.exec(place, ["version"])).stdout, /2\.99/);
    await Deno.remove(join(dir, "bin/git"));
    await assert.rejects(git.exec(place, ["version"]), { code: "git_not_found" });
    await fakeGit(join(dir, "bin"), "echo git version 2.99.1");
    assert.match((await git.exec(place, ["version"])).stdout, /2\.99\.1/);
  }));

Deno.test("git that hangs is stopped with its children after the time limit", () =>
  withTemp(async (dir) => {
    const pid = join(dir, "pid");
    await fakeGit(
      join(dir, "bin"),
      `[ "$1" = --version ] && echo git version 2.99.0 && exit\nsleep 60 & echo $! > '${pid}'\nwait`,
    );
    const git = new GitRunner({ ...testEnv(), PATH: `${join(dir, "bin")}:/usr/bin:/bin` });
    const started = performance.now();
    await assert.rejects(git.exec({ root: dir }, ["fetch"], { timeoutMs: 300, programs: true }), {
      code: "git_timeout",
    });
    assert.ok(performance.now() - started < 3_000);
    const grandchild = (await Deno.readTextFile(pid)).trim();
    const state = await Deno.readTextFile(`/proc/${grandchild}/stat`).catch(() => ") Z");
    assert.match(state, /\) Z/, "the grandchild is gone or a zombie");
  }));

Deno.test("output beyond the cap is cut and told of", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "r"), { "big.txt": "line\n".repeat(100_000) });
    const git = new GitRunner(testEnv());
    const out = await git.exec({ root: repo.dir }, ["cat-file", "blob", "HEAD:big.txt"], { maxStdout: 1000 });
    assert.equal(out.truncated, true);
    assert.equal(out.stdout.length, 1000);
  }));

Deno.test("a failure carries git's words without credentials, and the exit code", () =>
  withTemp(async (dir) => {
    const git = new GitRunner(testEnv());
    const repo = makeRepo(join(dir, "r"));
    await assert.rejects(
      git.exec({ root: repo.dir }, ["checkout", "https://user:secret@example.com/x"]),
      (error: { code: string; message: string; details: { exitCode: number } }) => {
        assert.equal(error.code, "git_failed");
        assert.equal(error.details.exitCode, 1);
        assert.doesNotMatch(error.message, /secret/);
        assert.match(error.message, /https:\/\/\*\*\*@example\.com/);
        return true;
      },
    );
    await assert.rejects(git.exec({ root: dir }, ["status"]), { code: "not_a_git_repository" });
    await assert.rejects(git.exec({ root: join(dir, "nowhere") }, ["status"]), {
      code: "not_a_git_repository",
    });
  }));

Deno.test("a cancelled command ends at once", () =>
  withTemp(async (dir) => {
    await fakeGit(join(dir, "bin"), `[ "$1" = --version ] && echo git version 2.99.0 && exit\nsleep 60`);
    const git = new GitRunner({ ...testEnv(), PATH: `${join(dir, "bin")}:/usr/bin:/bin` });
    await git.binary();
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 100);
    const started = performance.now();
    await assert.rejects(git.exec({ root: dir }, ["status"], { signal: abort.signal }), {
      code: "cancelled",
    });
    assert.ok(performance.now() - started < 2_000);
    await assert.rejects(git.exec({ root: dir }, ["status"], { signal: abort.signal }), {
      code: "cancelled",
    });
  }));

Deno.test("every git child carries the hardened chain and a closed input", () =>
  withTemp(async (dir) => {
    const seen = join(dir, "seen");
    await fakeGit(
      join(dir, "bin"),
      `[ "$1" = --version ] && echo git version 2.99.0 && exit\nprintf '%s\\n' "$@" > '${seen}'\nenv | sort >> '${seen}'\ncat >> '${seen}'\nreadlink /proc/self/fd/0 >> '${seen}'`,
    );
    const git = new GitRunner({
      ...testEnv(),
      PATH: `${join(dir, "bin")}:/usr/bin:/bin`,
      MCP_APP_SECRET: "tok",
    });
    await git.exec({ root: dir, ceiling: "/up" }, ["status"]);
    const text = await Deno.readTextFile(seen);
    for (
      const part of [
        "core.fsmonitor=false",
        "core.hooksPath=/dev/null",
        "protocol.allow=never",
        "safe.bareRepository=explicit",
        "GIT_OPTIONAL_LOCKS=0",
        "GIT_TERMINAL_PROMPT=0",
        "GIT_CEILING_DIRECTORIES=/up",
        "GIT_ALLOW_PROTOCOL=none",
        "GIT_NO_LAZY_FETCH=1",
        "/dev/null",
      ]
    ) {
      assert.ok(text.includes(`${part}\n`), part);
    }
    assert.doesNotMatch(text, /tok/);
    await git.exec({ root: dir }, ["push"], { write: true, hooks: true, network: true });
    const write = await Deno.readTextFile(seen);
    assert.match(write, /^GIT_ALLOW_PROTOCOL=https:ssh$/m);
    assert.doesNotMatch(write, /hooksPath|OPTIONAL_LOCKS|CEILING/);
  }));

Deno.test("Repositories.open() asks git once and notices a changed config", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "r"));
    let children = 0;
    const git = new GitRunner(testEnv(), [], () => children++);
    const repositories = new Repositories(git, false);
    const opened = await repositories.open(repo.dir);
    assert.deepEqual([opened.root, opened.commonDir, opened.bare], [repo.dir, join(repo.dir, ".git"), false]);
    const first = children;
    repo.commit("A commit changes no config", { "x.txt": "x" });
    await repositories.open(repo.dir);
    assert.equal(children, first);
    repo.git("config", "core.sshCommand", "evil");
    await assert.rejects(repositories.open(repo.dir), { code: "unsafe_repo_config" });
  }));
