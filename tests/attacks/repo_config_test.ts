/**
 * Repositories that try to run code or lead git elsewhere. Every case plants a marker; no tool of the server
 * may set it off, and each call has to say what it did or refused.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { type Server, withServer } from "../support/server.ts";

interface Attack {
  /** What the case is about. */
  name: string;
  /** Plants the attack; `marker` is a program that leaves a trace when it runs. */
  plant(repo: Repo, marker: string, dir: string): void;
  /** Keys named in the refusal; without them the attack is neutralised and the calls succeed. */
  refused?: RegExp;
}

const config =
  (key: string, value: (marker: string) => string = (marker) => marker) => (repo: Repo, marker: string) =>
    void repo.git("config", key, value(marker));

const HOOKS = [
  ..."post-checkout post-merge post-commit pre-commit reference-transaction post-index-change fsmonitor-watchman"
    .split(" "),
  ..."pre-rebase post-rewrite prepare-commit-msg commit-msg pre-merge-commit pre-auto-gc pre-push update"
    .split(" "),
];

function plantHooks(directory: string, marker: string): void {
  Deno.mkdirSync(directory, { recursive: true });
  for (const hook of HOOKS) {
    Deno.copyFileSync(marker, join(directory, hook));
    Deno.chmodSync(join(directory, hook), 0o755);
  }
}

const ATTACKS: Attack[] = [
  { name: "core.fsmonitor", plant: config("core.fsmonitor") },
  { name: "hooks in .git/hooks", plant: (repo, marker) => plantHooks(join(repo.dir, ".git/hooks"), marker) },
  {
    name: "core.hooksPath",
    plant: (repo, marker, dir) => {
      plantHooks(join(dir, "hooks"), marker);
      repo.git("config", "core.hooksPath", join(dir, "hooks"));
    },
  },
  { name: "core.pager", plant: config("core.pager") },
  { name: "pager.diff", plant: config("pager.diff") },
  { name: "core.editor", plant: config("core.editor") },
  { name: "sequence.editor", plant: config("sequence.editor") },
  { name: "core.askPass", plant: config("core.askPass") },
  { name: "core.gitProxy", plant: config("core.gitProxy") },
  { name: "core.alternateRefsCommand", plant: config("core.alternateRefsCommand") },
  { name: "alias of a used command", plant: config("alias.status", (marker) => `!${marker}`) },
  { name: "diff.external", plant: config("diff.external") },
  {
    name: "diff driver command and textconv",
    plant: (repo, marker) => {
      repo.commit("Attributes", { ".gitattributes": "* diff=evil\n" });
      repo.git("config", "diff.evil.command", marker);
      repo.git("config", "diff.evil.textconv", marker);
    },
  },
  { name: "log.showSignature", plant: config("log.showSignature", () => "true") },
  { name: "commit.gpgSign", plant: config("commit.gpgSign", () => "true") },
  { name: "gpg.program", plant: config("gpg.program"), refused: /gpg\.program/ },
  { name: "gpg.ssh.program", plant: config("gpg.ssh.program"), refused: /gpg\.ssh\.program/ },
  {
    name: "gpg.ssh.defaultKeyCommand",
    plant: config("gpg.ssh.defaultKeyCommand"),
    refused: /gpg\.ssh\.defaultkeycommand/,
  },
  { name: "core.sshCommand", plant: config("core.sshCommand"), refused: /core\.sshcommand/ },
  { name: "filter clean", plant: filterAttack("clean"), refused: /filter\.evil\.clean/ },
  { name: "filter smudge", plant: filterAttack("smudge"), refused: /filter\.evil\.smudge/ },
  { name: "filter process", plant: filterAttack("process"), refused: /filter\.evil\.process/ },
  {
    name: "a filter that calls itself lfs",
    plant: (repo, marker) => {
      repo.commit("Attributes", { ".gitattributes": "* filter=lfs\n" });
      repo.git("config", "filter.lfs.smudge", `${marker}; git-lfs smudge -- %f`);
    },
    refused: /filter\.lfs\.smudge/,
  },
  {
    name: "merge driver",
    plant: (repo, marker) => {
      repo.commit("Attributes", { ".gitattributes": "* merge=evil\n" });
      repo.git("config", "merge.evil.driver", marker);
    },
    refused: /merge\.evil\.driver/,
  },
  {
    name: "credential.helper",
    plant: config("credential.helper", (m) => `!${m}`),
    refused: /credential\.helper/,
  },
  {
    name: "credential helper by path",
    plant: config("credential.https://x.test.helper"),
    refused: /credential\.https:\/\/x\.test\.helper/,
  },
  { name: "remote uploadpack", plant: config("remote.o.uploadpack"), refused: /remote\.o\.uploadpack/ },
  { name: "remote receivepack", plant: config("remote.o.receivepack"), refused: /remote\.o\.receivepack/ },
  { name: "remote vcs", plant: config("remote.o.vcs", () => "ext"), refused: /remote\.o\.vcs/ },
  {
    name: "url insteadOf ext",
    plant: config("url.ext::sh -c x.insteadOf", () => "https://"),
    refused: /url\.ext/,
  },
  {
    name: "url insteadOf file",
    plant: config("url.file:///x.insteadOf", () => "https://"),
    refused: /url\.file/,
  },
  {
    name: "url pushInsteadOf EXT in capitals",
    plant: config("url.EXT::sh.pushInsteadOf", () => "https://"),
    refused: /url\.EXT::sh/,
  },
  {
    name: "submodule update command",
    plant: config("submodule.x.update", (m) => `!${m}`),
    refused: /submodule\.x\.update/,
  },
  { name: "trailer command", plant: config("trailer.x.command"), refused: /trailer\.x\.command/ },
  {
    name: "core.worktree elsewhere",
    plant: (repo, _marker, dir) => {
      Deno.mkdirSync(join(dir, "secret"));
      Deno.writeTextFileSync(join(dir, "secret", "SECRET-FILE"), "x");
      repo.git("config", "core.worktree", join(dir, "secret"));
    },
    refused: /core\.worktree/,
  },
  {
    name: "include.path elsewhere",
    plant: (repo, marker, dir) => {
      Deno.writeTextFileSync(join(dir, "evil.config"), `[core]\n\tfsmonitor = ${marker}\n`);
      repo.git("config", "include.path", join(dir, "evil.config"));
    },
    refused: /include\.path/,
  },
  {
    name: "include.path inside, which includes what runs",
    plant: (repo, marker) => {
      Deno.writeTextFileSync(join(repo.dir, ".git/more"), `[core]\n\tsshCommand = ${marker}\n`);
      repo.git("config", "include.path", "more");
    },
    refused: /core\.sshcommand/,
  },
  {
    name: "includeIf",
    plant: config("includeIf.gitdir:/.path", () => "/etc/evil"),
    refused: /includeif\.gitdir:\/\.path/,
  },
  {
    name: "includeIf for session branches, inside the repository",
    plant: (repo, marker) => {
      Deno.writeTextFileSync(join(repo.dir, ".git/extra"), `[filter "evil"]\n\tsmudge = ${marker}\n`);
      repo.git("config", "includeIf.onbranch:session-**.path", "extra");
    },
    refused: /filter\.evil\.smudge/,
  },
  {
    name: "an include of an include",
    plant: (repo, marker) => {
      Deno.writeTextFileSync(join(repo.dir, ".git/one"), "[include]\n\tpath = two\n");
      Deno.writeTextFileSync(join(repo.dir, ".git/two"), `[core]\n\tsshCommand = ${marker}\n`);
      repo.git("config", "includeIf.gitdir:**/worktrees/**.path", "one");
    },
    refused: /core\.sshcommand/,
  },
  {
    name: "worktree config",
    plant: (repo, marker) => {
      repo.git("config", "extensions.worktreeConfig", "true");
      repo.git("config", "--worktree", "core.sshCommand", marker);
    },
    refused: /core\.sshcommand/,
  },
  {
    name: "alternates elsewhere",
    plant: (repo, _marker, dir) => {
      makeRepo(join(dir, "away", "other"), { "s.txt": "SECRET" });
      Deno.mkdirSync(join(repo.dir, ".git/objects/info"), { recursive: true });
      Deno.writeTextFileSync(
        join(repo.dir, ".git/objects/info/alternates"),
        join(dir, "away/other/.git/objects\n"),
      );
    },
    refused: /objects\/info\/alternates/,
  },
  {
    name: ".git file that names another repository",
    plant: (repo, _marker, dir) => {
      makeRepo(join(dir, "other"), { "s.txt": "SECRET" });
      Deno.removeSync(join(repo.dir, ".git"), { recursive: true });
      Deno.writeTextFileSync(join(repo.dir, ".git"), `gitdir: ${join(dir, "other/.git")}\n`);
    },
    refused: /\.git/,
  },
  {
    name: ".git file that names another repository's worktree",
    plant: (repo, _marker, dir) => {
      const other = makeRepo(join(dir, "other"), { "s.txt": "SECRET" });
      other.git("worktree", "add", "--quiet", join(dir, "other-tree"));
      Deno.removeSync(join(repo.dir, ".git"), { recursive: true });
      Deno.writeTextFileSync(
        join(repo.dir, ".git"),
        `gitdir: ${join(dir, "other/.git/worktrees/other-tree")}\n`,
      );
    },
    refused: /\.git/,
  },
  {
    name: "a bare repository inside the working tree",
    plant: (repo, marker) => {
      repo.git("init", "--quiet", "--bare", "bare/sub");
      repo.at(join(repo.dir, "bare/sub")).git("config", "core.fsmonitor", marker);
      repo.git("add", "--all");
      repo.git("commit", "--quiet", "-m", "Bare inside");
    },
  },
];

function filterAttack(kind: string) {
  return (repo: Repo, marker: string) => {
    repo.commit("Attributes", { ".gitattributes": "* filter=evil\n" });
    repo.git("config", `filter.evil.${kind}`, marker);
  };
}

/** A program that leaves a file behind when anything runs it. */
function makeMarker(dir: string): { marker: string; trace: string } {
  const [marker, trace] = [join(dir, "marker.sh"), join(dir, "TRACE")];
  Deno.writeTextFileSync(marker, `#!/bin/sh\necho "$0 $*" >> '${trace}'\ncat\n`);
  Deno.chmodSync(marker, 0o755);
  return { marker, trace };
}

const ran = (trace: string) => Deno.readTextFile(trace).catch(() => "");

/** Drives every tool through a session's life. */
async function liveThrough(server: Server, repo: Repo): Promise<void> {
  const { worktreePath } = await server.payload("create_worktree", { sessionId: "victim" });
  await Deno.writeTextFile(join(worktreePath, "a.txt"), "changed\n");
  await Deno.writeTextFile(join(worktreePath, "new.txt"), "new\n");
  await server.payload("get_sessions");
  await server.payload("remove_session", { sessionId: "victim" });
  await server.payload("remove_session", { sessionId: "victim", force: true });
  const merged = await server.payload("create_worktree", { sessionId: "second" });
  repo.at(merged.worktreePath).git(
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "commit.gpgSign=false",
    "commit",
    "--quiet",
    "--allow-empty",
    "-m",
    "w",
  );
  await server.payload("get_sessions");
  await server.payload("remove_session", { sessionId: "second", force: true });
  await workWithGit(server, repo);
}

/** Drives every tool of the git family; what fails on the way may fail, as long as nothing runs. */
async function workWithGit(server: Server, repo: Repo): Promise<void> {
  const bare = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false"];
  const quiet = (...args: string[]) => repo.try(...bare, "-c", "core.alternateRefsCommand=", ...args);
  for (const branch of ["topic", "picked"]) {
    quiet("branch", branch);
    quiet("worktree", "add", "--quiet", "--detach", join(repo.dir, "..", branch), branch);
    const tree = repo.at(join(repo.dir, "..", branch));
    tree.write(`${branch}.txt`, "x\n");
    tree.try(...bare, "add", "--all");
    tree.try(...bare, "commit", "--quiet", "-m", branch);
    quiet("update-ref", `refs/heads/${branch}`, tree.try(...bare, "rev-parse", "HEAD").out.trim());
  }
  repo.write("b.txt", "b\n");
  repo.write("a.txt", "changed again\n");
  await callGitTools(server);
}

async function callGitTools(server: Server): Promise<void> {
  const calls: [string, Record<string, unknown>][] = [
    ["git_status", {}],
    ["git_inventory", { nestedRoots: ["."] }],
    ["git_parity", { pairs: [{ left: ".", right: "." }] }],
    ["list_presets", {}],
    ["git_log", { grep: "x", author: "y" }],
    ["git_diff_summary", {}],
    ["git_diff_summary", { range: "HEAD" }],
    ["batch_commit", { commits: [{ message: "dry", files: ["a.txt"] }], dryRun: true }],
    ["batch_commit", {
      commits: [{ message: "b", files: ["b.txt", { path: "a.txt", lines: { from: 1, to: 9 } }] }],
      push: "after",
    }],
    ["git_merge", { sources: ["topic"], dryRun: true }],
    ["git_merge", { sources: ["topic"], deleteMergedBranches: true }],
    ["git_cherry_pick", { sources: ["picked"] }],
    ["git_merge", { sources: ["picked"], strategy: "merge" }],
  ];
  for (const [tool, args] of calls) await server.call(tool, args);
}

for (const attack of ATTACKS) {
  Deno.test(`${attack.name} ${attack.refused ? "is refused by name" : "is neutralised"}`, () =>
    withTemp(async (dir) => {
      const repo = makeRepo(join(dir, "inner", "repo"));
      const { marker, trace } = makeMarker(dir);
      await attack.plant(repo, marker, dir);
      // Planting may run git, and git the marker: that is not the server's doing.
      await Deno.remove(trace).catch(() => {});
      // Hooks of commit and push run unless the operator says no; nothing else ever does.
      const flags = ["-db", dir, "-log-level", "silent", "--no-hooks"];
      await withServer({ cwd: repo.dir, flags }, async (server) => {
        if (!attack.refused) await liveThrough(server, repo);
        else {
          for (
            const [tool, args] of [["get_sessions", {}], ["create_worktree", { sessionId: "v1" }], [
              "remove_session",
              { sessionId: "v1" },
            ]] as const
          ) {
            const text = await server.refusal(tool, args);
            assert.match(text, attack.refused);
            assert.match(text, /\(unsafe_repo_config\)$/);
            assert.doesNotMatch(text, /SECRET/);
          }
          for (
            const [tool, args] of [
              ["git_diff_summary", {}],
              ["batch_commit", { commits: [{ message: "m", files: ["a.txt"] }] }],
              ["git_merge", { sources: ["main"] }],
              ["git_cherry_pick", { sources: ["main"] }],
            ] as const
          ) {
            const { error, keys } = JSON.parse(await server.refusal(tool, args));
            assert.equal(error, "unsafe_repo_config");
            assert.match(String(keys), attack.refused);
          }
          await callGitTools(server);
        }
      });
      assert.equal(await ran(trace), "");
    }));
}

Deno.test("config planted while the server runs is refused at the next call", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const { marker, trace } = makeMarker(dir);
    await withServer({ cwd: repo.dir, flags: ["-db", dir] }, async (server) => {
      await server.payload("create_worktree", { sessionId: "one" });
      repo.git("config", "core.sshCommand", marker);
      assert.match(await server.refusal("get_sessions"), /unsafe_repo_config/);
      repo.git("config", "--unset", "core.sshCommand");
      assert.equal((await server.payload("get_sessions")).totalCount, 1);
      // A worktree's own config is judged as well.
      repo.git("config", "extensions.worktreeConfig", "true");
      repo.at(join(repo.dir, ".worktrees/session-one")).git("config", "--worktree", "filter.x.clean", marker);
      const [row] = (await server.payload("get_sessions")).sessions;
      assert.match(row.statsError, /filter\.x\.clean/);
    });
    assert.equal(await ran(trace), "");
  }));

Deno.test("an included file that is filled while the server runs is judged at the next call", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), { "a.txt": "a\n", ".gitattributes": "* filter=evil\n" });
    const { marker, trace } = makeMarker(dir);
    repo.git("config", "include.path", "../.later");
    await withServer({ cwd: repo.dir, flags: ["-db", dir] }, async (server) => {
      await server.payload("get_sessions");
      await Deno.writeTextFile(
        join(repo.dir, ".later"),
        `[filter "evil"]\n\tclean = ${marker}\n\tsmudge = ${marker}\n`,
      );
      assert.match(await server.refusal("create_worktree", { sessionId: "late" }), /filter\.evil/);
    });
    assert.equal(await ran(trace), "");
  }));

Deno.test("a submodule's own config runs nothing", () =>
  withTemp(async (dir) => {
    const { marker, trace } = makeMarker(dir);
    const library = makeRepo(join(dir, "library"), {
      "f.txt": "0123456789\n",
      ".gitattributes": "* filter=evil\n",
    });
    const repo = makeRepo(join(dir, "repo"));
    repo.git("submodule", "--quiet", "add", library.dir, "lib");
    repo.commit("With a submodule");
    await withServer({ cwd: repo.dir, flags: ["-db", dir] }, async (server) => {
      const { worktreePath } = await server.payload("create_worktree", { sessionId: "subcfg" });
      repo.at(worktreePath).git("submodule", "--quiet", "update", "--init");
      const inner = repo.at(join(worktreePath, "lib"));
      inner.git("config", "filter.evil.clean", marker);
      inner.write("f.txt", "9876543210\n");
      await server.payload("get_sessions");
      for (const force of [false, true]) {
        assert.match(
          await server.refusal("remove_session", { sessionId: "subcfg", force }),
          /filter\.evil\.clean/,
        );
      }
    });
    assert.equal(await ran(trace), "");
  }));

Deno.test("git_status and git_inventory look into no submodule or nested repository that would run something", () =>
  withTemp(async (dir) => {
    const { marker, trace } = makeMarker(dir);
    const library = makeRepo(join(dir, "library"), {
      "f.txt": "0123456789\n",
      ".gitattributes": "* filter=evil\n",
    });
    const repo = makeRepo(join(dir, "repo"));
    repo.git("submodule", "--quiet", "add", library.dir, "lib");
    repo.commit("With a submodule");
    const inner = repo.at(join(repo.dir, "lib"));
    inner.git("config", "filter.evil.clean", marker);
    inner.git("config", "core.fsmonitor", marker);
    inner.write("f.txt", "9876543210\n");
    await withServer({ cwd: repo.dir, flags: ["-db", dir] }, async (server) => {
      const { groups } = await server.payload("git_status");
      assert.match(groups[0].repos[1].statusText, /filter\.evil\.clean/);
      const { inventories } = await server.payload("git_inventory", { nestedRoots: ["lib"] });
      assert.match(inventories[0].entries[0].skipReason, /filter\.evil\.clean/);
      await server.payload("git_diff_summary");
    });
    assert.equal(await ran(trace), "");
  }));

Deno.test("a git-lfs planted in the repository does not run, although its filter lines are allowed", () =>
  withTemp(async (dir) => {
    const { marker, trace } = makeMarker(dir);
    const repo = makeRepo(join(dir, "repo"), { ".gitattributes": "*.bin filter=lfs\n", "a.bin": "x" });
    await Deno.mkdir(join(repo.dir, "bin"));
    await Deno.copyFile(marker, join(repo.dir, "bin/git-lfs"));
    await Deno.chmod(join(repo.dir, "bin/git-lfs"), 0o755);
    repo.git("config", "filter.lfs.smudge", "git-lfs smudge -- %f");
    const env = { PATH: `${join(repo.dir, "bin")}:${Deno.env.get("PATH")}` };
    await withServer({ cwd: repo.dir, flags: ["-db", dir], env }, async (server) => {
      await server.call("create_worktree", { sessionId: "lfs" });
    });
    assert.equal(await ran(trace), "");
  }));

Deno.test("--trust-repo-config lets the operator say yes", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    repo.git("config", "core.sshCommand", "ssh -v");
    await withServer({ cwd: repo.dir, flags: ["-db", dir, "--trust-repo-config"] }, async (server) => {
      await server.payload("create_worktree", { sessionId: "trusted" });
    });
  }));

Deno.test("ordinary repositories are not refused", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const settings: Record<string, string> = {
      "filter.lfs.clean": "git-lfs clean -- %f",
      "filter.lfs.smudge": "git-lfs smudge -- %f",
      "filter.lfs.process": "git-lfs filter-process",
      "credential.helper": "store",
      "credential.https://github.com.helper": "cache --timeout=300",
      "remote.origin.url": "git@github.com:a/b.git",
      "url.git@github.com:.insteadOf": "https://github.com/",
      "branch.main.remote": "origin",
      "user.name": "Somebody",
      "core.autocrlf": "input",
      "core.hooksPath": ".husky",
      "submodule.lib.url": "https://x.test/lib",
      "submodule.lib.active": "true",
      "pull.rebase": "true",
    };
    for (const [key, value] of Object.entries(settings)) repo.git("config", key, value);
    await withServer({ cwd: repo.dir, flags: ["-db", dir] }, async (server) => {
      await server.payload("create_worktree", { sessionId: "plain" });
      await server.payload("remove_session", { sessionId: "plain" });
    });
    // A submodule's own checkout is a repository whose .git file and core.worktree belong together.
    const parent = makeRepo(join(dir, "parent"));
    parent.git("submodule", "--quiet", "add", repo.dir, "sub");
    await withServer({ cwd: join(parent.dir, "sub"), flags: ["-db", dir] }, async (server) => {
      await server.payload("create_worktree", { sessionId: "insub" });
    });
  }));
