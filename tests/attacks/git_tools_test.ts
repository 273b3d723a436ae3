// deno-lint-ignore-file no-sync-fn-in-async-fn -- a scene is set for one reader, who waits
/** What the git tools must not do: leave the jail, talk to anybody, lose work, or take what was not listed. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { refused, scene, stateOf } from "../support/scene.ts";
import { Server, withServer } from "../support/server.ts";

// deno-lint-ignore no-explicit-any -- answers of any shape
type Answer = any;

/** A repository outside of the jail whose words must never show, and one inside. */
function withSecret(work: (fence: Repo, secret: Repo, dir: string) => Promise<void>): () => Promise<void> {
  return () =>
    withTemp(async (dir) => {
      const secret = makeRepo(join(dir, "secret"), { "secret.txt": "TOPSECRET\n" });
      secret.git("commit", "-q", "--allow-empty", "-m", "TOPSECRET subject");
      const fence = makeRepo(join(dir, "jail", "fence"));
      await work(fence, secret, dir);
    });
}

/** Everything the reading tools say of a root. */
async function readAll(server: Server, secret: Repo): Promise<string> {
  const calls: [string, Record<string, unknown>][] = [
    ["git_status", {}],
    ["git_inventory", {}],
    ["git_parity", { pairs: [{ left: ".", right: "." }] }],
    ["list_presets", {}],
    ["git_log", { since: "10.years" }],
    ["git_log", { since: "10.years", branch: secret.git("rev-parse", "HEAD") }],
    ["git_diff_summary", { range: "HEAD" }],
    ["git_diff_summary", {}],
    ["batch_commit", { commits: [{ message: "EVIL", files: ["a.txt"] }] }],
  ];
  const results = [];
  for (const [tool, args] of calls) results.push(JSON.stringify(await server.call(tool, args)));
  return results.join("\n");
}

const LEADS_OUT: Record<string, (fence: Repo, secret: Repo) => void> = {
  ".git as a link": (fence, secret) => {
    Deno.removeSync(join(fence.dir, ".git"), { recursive: true });
    Deno.symlinkSync(join(secret.dir, ".git"), join(fence.dir, ".git"));
  },
  "a commondir file": (fence, secret) =>
    Deno.writeTextFileSync(join(fence.dir, ".git/commondir"), `${secret.dir}/.git\n`),
  "core.worktree in a bare-looking directory": (fence, secret) => {
    fence.git("config", "core.worktree", secret.dir);
  },
  "alternates, quoted": (fence, secret) =>
    Deno.writeTextFileSync(join(fence.dir, ".git/objects/info/alternates"), `"${secret.dir}/.git/objects"\n`),
  "alternates through a link": (fence, secret) => {
    Deno.symlinkSync(secret.dir, join(fence.dir, "lnk"));
    Deno.writeTextFileSync(join(fence.dir, ".git/objects/info/alternates"), "../../lnk/.git/objects\n");
  },
  "alternates of alternates": (fence, secret) => {
    Deno.mkdirSync(join(fence.dir, "mid/info"), { recursive: true });
    Deno.writeTextFileSync(join(fence.dir, "mid/info/alternates"), `${secret.dir}/.git/objects\n`);
    Deno.writeTextFileSync(join(fence.dir, ".git/objects/info/alternates"), "../../mid\n");
  },
  "objects as a link": (fence, secret) => {
    Deno.removeSync(join(fence.dir, ".git/objects"), { recursive: true });
    Deno.symlinkSync(join(secret.dir, ".git/objects"), join(fence.dir, ".git/objects"));
  },
  "index as a link": (fence, secret) => {
    Deno.removeSync(join(fence.dir, ".git/index"));
    Deno.symlinkSync(join(secret.dir, ".git/index"), join(fence.dir, ".git/index"));
  },
  "a preset directory as a link": (fence, secret) => {
    secret.write(".rethunk/git-mcp-presets.json", "TOPSECRET=1\n");
    Deno.symlinkSync(join(secret.dir, ".rethunk"), join(fence.dir, ".rethunk"));
  },
  "mailmap.file": (fence, secret) => {
    secret.write("map", "TOPSECRET name <x@example.com> <tester@example.com>\n");
    fence.git("config", "mailmap.file", join(secret.dir, "map"));
  },
};

for (const [name, plant] of Object.entries(LEADS_OUT)) {
  for (const flag of ["-root", "-repo"]) {
    for (const when of ["before", "after"]) {
      Deno.test(
        `${name}, planted ${when} the first call, shows nothing of another repository (${flag})`,
        withSecret(async (fence, secret, dir) => {
          const before = secret.git("for-each-ref");
          const commit = secret.git("rev-parse", "HEAD");
          await withServer({ cwd: dir, flags: [flag, fence.dir, "-db", dir] }, async (server) => {
            if (when === "after") await server.payload("git_log");
            plant(fence, secret);
            const words = (await readAll(server, secret)).replaceAll(commit, "");
            assert.doesNotMatch(words, /TOPSECRET|secret\.txt/);
          });
          assert.equal(secret.git("for-each-ref"), before);
        }),
      );
    }
  }
}

Deno.test("reading a partial clone talks to nobody", () =>
  withTemp(async (dir) => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    let connections = 0;
    const accepting = (async () => {
      for await (const connection of listener) {
        connections++;
        connection.close();
      }
    })();
    const repo = makeRepo(join(dir, "repo"));
    repo.commit("Second", { "b.txt": "b\n" });
    const blob = repo.git("rev-parse", "HEAD:b.txt");
    Deno.removeSync(join(repo.dir, ".git/objects", blob.slice(0, 2), blob.slice(2)));
    repo.git("config", "core.repositoryformatversion", "1");
    repo.git("config", "extensions.partialClone", "origin");
    repo.git("config", "remote.origin.promisor", "true");
    repo.git(
      "config",
      "remote.origin.url",
      `https://127.0.0.1:${(listener.addr as Deno.NetAddr).port}/x.git`,
    );
    await withServer({ cwd: dir, flags: ["-root", repo.dir, "-db", dir] }, async (server) => {
      await server.call("git_diff_summary", { range: "HEAD" });
      await server.call("git_log");
      await server.call("git_status");
    });
    listener.close();
    await accepting;
    assert.equal(connections, 0);
  }));

Deno.test("a root that changes what it is gets a verdict of its own", () =>
  withTemp(async (dir) => {
    const [one, two] = ["one", "two"].map((name) => makeRepo(join(dir, name)));
    const link = join(dir, "current");
    Deno.symlinkSync(one.dir, link);
    const host = makeRepo(join(dir, "host"), { "lib/x.txt": "x\n" });
    await withServer({ cwd: dir, flags: ["-root", dir, "-db", dir] }, async (server) => {
      await server.payload("git_status", { workspaceRoot: link });
      const inventory = async () =>
        (await server.payload("git_inventory", { workspaceRoot: host.dir, nestedRoots: ["lib"] }))
          .inventories[0]
          .entries[0].headAbbrev;
      assert.equal(await inventory(), "main");
      Deno.removeSync(link);
      Deno.symlinkSync(two.dir, link);
      two.write("b.txt", "b\n");
      const commits = [{ message: "b", files: ["b.txt"] }];
      assert.equal((await server.payload("batch_commit", { workspaceRoot: link, commits })).ok, true);
      assert.equal(two.git("log", "-1", "--format=%s"), "b");
      const lib = host.at(join(host.dir, "lib"));
      lib.git("init", "--quiet", "--initial-branch=own");
      assert.equal(await inventory(), "own");
    });
  }));

Deno.test("odd files where git keeps its own spoil one root, and hang nothing", () =>
  withTemp(async (dir) => {
    const good = makeRepo(join(dir, "good"));
    const bad = ["fifo", "directory", "modules", "loop"].map((name) => makeRepo(join(dir, name)));
    new Deno.Command("mkfifo", { args: [join(bad[0].dir, ".git/objects/info/alternates")] }).outputSync();
    Deno.mkdirSync(join(bad[1].dir, ".git/objects/info/alternates"));
    bad[2].write(".gitmodules", `[submodule "x"]\n path = ${"x".repeat(300)}\n url = x\n`);
    Deno.symlinkSync(".rethunk", join(bad[3].dir, ".rethunk"));
    const roots = [...bad.map((repo) => repo.dir), good.dir];
    const odd = ["file:///tmp/%00x", `file:///tmp/${"y".repeat(300)}`, "not a uri"];
    await withServer({ cwd: dir, roots: [...odd, ...roots] }, async (server) => {
      for (const tool of ["git_status", "git_inventory", "list_presets", "git_log"]) {
        const result = await server.call(tool, { allWorkspaceRoots: true });
        assert.equal(result.isError, undefined, `${tool}: ${result.content[0].text}`);
        assert.ok(JSON.stringify(result.structuredContent).includes(good.dir));
      }
      for (const workspaceRoot of ["a\0b", "z".repeat(4000), "~/x"]) {
        assert.equal((await refused(server, "git_status", { workspaceRoot })).error, "root_not_allowed");
      }
    });
  }));

Deno.test("a fence may stand around a linked worktree or a submodule, and a .bare layout is ordinary", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    repo.git("worktree", "add", "--quiet", join(dir, "linked"), "-b", "linked");
    repo.git("clone", "--quiet", "--bare", repo.dir, join(dir, "layout", ".bare"));
    Deno.writeTextFileSync(join(dir, "layout", ".git"), "gitdir: ./.bare\n");
    await withServer({ cwd: dir, flags: ["-root", join(dir, "linked"), "-db", dir] }, async (server) => {
      assert.equal((await server.payload("git_status")).groups[0].repos[0].branch, "linked");
      assert.equal(
        (await refused(server, "git_status", { workspaceRoot: repo.dir })).error,
        "root_not_allowed",
      );
    });
    await withServer({ cwd: dir, flags: ["-repo", join(dir, "layout"), "-db", dir] }, async (server) => {
      assert.equal((await server.payload("git_log", { since: "1.day" })).groups[0].commits.length, 1);
    });
  }));

Deno.test("an absolute path through a link to the root is inside", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "real"));
    const link = join(dir, "link");
    Deno.symlinkSync(repo.dir, link);
    await withServer({ cwd: dir, flags: ["-repo", link, "-db", dir] }, async (server) => {
      const [group] = (await server.payload("git_log", { paths: [join(link, "a.txt")] })).groups;
      assert.equal(group.commits?.length, 1, JSON.stringify(group));
      const { inventories } = await server.payload("git_inventory", { nestedRoots: [link] });
      assert.equal(inventories[0].entries[0].headAbbrev, "main");
    });
  }));

Deno.test(
  "rows cannot be forged with line breaks in names",
  scene(async (server, repo) => {
    repo.git("config", "-f", ".gitmodules", "submodule.x.path", "q\n\n## . — /fake\n(clean)");
    repo.write("x\n\n## fake.txt (+0 −0, modified)", "x\n");
    repo.git("add", "--all");
    const status = await server.call("git_status");
    assert.doesNotMatch(status.content[0].text, /^## \. — \/fake/m);
    const diff = await server.call("git_diff_summary", { range: "staged" });
    assert.doesNotMatch(diff.content[0].text, /^## fake\.txt/m);
  }),
);

/** A branch with one commit; the working tree is on `main` again afterwards. */
function branch(repo: Repo, name: string, files: Record<string, string>): string {
  repo.git("checkout", "--quiet", "-b", name, "main");
  const oid = repo.commit(`Work on ${name}`, files);
  repo.git("checkout", "--quiet", "main");
  return oid;
}

Deno.test(
  "a commit made while a merge is worked out stays, and the merge gives way",
  scene(async (server, repo) => {
    repo.git("checkout", "--quiet", "-b", "topic");
    for (let n = 0; n < 60; n++) repo.commit(`t${n}`, { [`t${n}.txt`]: "t\n" });
    repo.git("checkout", "--quiet", "main");
    repo.commit("Main goes on", { "m.txt": "m\n" });
    const merging = server.payload("git_merge", { sources: ["topic"] });
    await new Promise((resolve) => setTimeout(resolve, 120));
    const mine = repo.commit("MINE", { "mine.txt": "m\n" });
    const { ok, results } = await merging;
    if (!ok) assert.equal(results[0].error, "merge_failed");
    assert.equal(repo.try("merge-base", "--is-ancestor", mine, "main").code, 0);
    assert.equal(Deno.readTextFileSync(join(repo.dir, "mine.txt")), "m\n");
    assert.equal(repo.git("status", "--porcelain"), "");
  }),
);

Deno.test(
  "a commit made while an entry is staged is not undone by it",
  () =>
    withTemp(async (dir) => {
      const repo = makeRepo(join(dir, "repo"), {
        ".gitattributes": "slow.txt filter=slow\n",
        "a.txt": "a\n",
      });
      const script = join(dir, "filter.sh");
      // The filter stands for a slow disk: somebody else commits while git reads the file.
      Deno.writeTextFileSync(
        script,
        `#!/bin/sh\ncd '${repo.dir}'\nif [ ! -e theirs.txt ]; then echo t > theirs.txt\n` +
          `env -i PATH="$PATH" HOME="$HOME" GIT_CONFIG_NOSYSTEM=1 sh -c 'git add theirs.txt && git -c user.name=T -c user.email=t@e commit -qm THEIRS' >&2\nfi\ncat\n`,
      );
      Deno.chmodSync(script, 0o755);
      Deno.writeTextFileSync(join(dir, ".gitconfig"), `[filter "slow"]\n\tclean = ${script}\n`);
      repo.write("slow.txt", "s\n");
      const env = { HOME: dir };
      await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir], env }, async (server) => {
        const { ok, results } = await server.payload("batch_commit", {
          commits: [{ message: "slow", files: ["slow.txt"] }],
        });
        assert.equal(ok, false);
        assert.equal(results[0].error, "commit_failed");
        assert.match(results[0].detail, /another commit .* was made meanwhile/);
      });
      assert.equal(repo.git("log", "-1", "--format=%s"), "THEIRS");
      assert.equal(repo.git("show", "HEAD:theirs.txt"), "t");
      assert.equal(repo.git("status", "--porcelain", "--", "theirs.txt"), "");
    }),
);

Deno.test(
  "clean-up keeps worktrees that hold what nobody else has",
  scene(async (server, repo, dir) => {
    repo.commit("Ignore", { ".gitignore": ".env\nbuild/\n" });
    const cases: Record<string, (tree: Repo) => void> = {
      env: (tree) => tree.write(".env", "SECRET\n"),
      hidden: (tree) => {
        tree.git("update-index", "--skip-worktree", "a.txt");
        tree.write("a.txt", "LOCAL\n");
      },
      nested: (tree) => void makeRepo(join(tree.dir, "build", "dep")),
      plain: (tree) => tree.write("build/out.o", "o\n"),
    };
    for (const [name, prepare] of Object.entries(cases)) {
      branch(repo, name, { [`${name}.txt`]: "x\n" });
      const tree = repo.at(join(dir, `tree-${name}`));
      repo.git("worktree", "add", "--quiet", tree.dir, name);
      prepare(tree);
    }
    const { results } = await server.payload("git_merge", {
      sources: Object.keys(cases),
      strategy: "merge",
      deleteMergedBranches: true,
      deleteMergedWorktrees: true,
    });
    assert.deepEqual(results.map((row: Answer) => row.worktreeRemoved !== undefined), [
      false,
      false,
      false,
      true,
    ]);
    assert.equal(Deno.readTextFileSync(join(dir, "tree-env", ".env")), "SECRET\n");
    assert.equal(Deno.readTextFileSync(join(dir, "tree-hidden", "a.txt")), "LOCAL\n");
  }),
);

Deno.test(
  "the destination, a detached HEAD and symbolic branches are not lost in a merge",
  scene(async (server, repo, dir) => {
    branch(repo, "topic", { "t.txt": "t\n" });
    const bare = repo.at(join(dir, "bare.git"));
    repo.git("clone", "--quiet", "--bare", repo.dir, bare.dir);
    await server.payload("git_cherry_pick", {
      workspaceRoot: bare.dir,
      sources: ["topic"],
      onto: "topic",
      deleteMergedBranches: true,
    });
    assert.ok(bare.git("rev-parse", "--verify", "refs/heads/topic"));
    repo.git("checkout", "--quiet", "--detach");
    const detached = repo.commit("Detached", { "d.txt": "d\n" });
    await server.payload("git_merge", { sources: ["topic"], into: "main" });
    assert.notEqual(repo.git("for-each-ref", "--contains", detached), "");
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main");
    branch(repo, "more", { "more.txt": "m\n" });
    const { ok, into } = await server.payload("git_merge", { sources: ["more"], into: "alias" });
    assert.deepEqual([ok, into], [true, "main"]);
    assert.equal(repo.git("status", "--porcelain"), "");
    assert.equal(repo.git("symbolic-ref", "HEAD"), "refs/heads/main");
    for (const name of ["main~1", "HEAD^"]) {
      assert.equal(
        (await refused(server, "git_merge", { sources: ["topic"], into: name })).error,
        "destination_not_found",
      );
    }
  }),
);

Deno.test(
  "a branch that is being rebased in another worktree is not moved",
  scene(async (server, repo, dir) => {
    branch(repo, "topic", { "x.txt": "one\n" });
    repo.commit("Clash", { "x.txt": "two\n" });
    const tree = repo.at(join(dir, "tree"));
    repo.git("worktree", "add", "--quiet", tree.dir, "topic");
    tree.try("rebase", "main");
    repo.git("checkout", "--quiet", "-b", "other", "main~1");
    repo.commit("Other", { "o.txt": "o\n" });
    const tip = repo.git("rev-parse", "topic");
    const { results } = await server.payload("git_merge", { sources: ["topic"] });
    assert.equal(results[0].outcome, "merge_commit");
    assert.equal(repo.git("rev-parse", "topic"), tip);
    assert.equal(
      (await refused(server, "git_merge", { sources: ["main"], into: "topic" })).error,
      "checkout_failed",
    );
  }),
);

Deno.test(
  "a conflict without unmerged paths is a conflict",
  scene(async (server, repo) => {
    const text = (name: string) => Array.from({ length: 20 }, (_, n) => `${name}${n}\n`).join("");
    repo.commit("Files", Object.fromEntries(["a", "b", "c", "d"].map((name) => [`d/${name}`, text(name)])));
    branch(repo, "topic", { "d/e": "n\n" });
    for (const [from, to] of [["a", "x"], ["b", "x"], ["c", "y"], ["d", "y"]]) {
      Deno.mkdirSync(join(repo.dir, to), { recursive: true });
      repo.git("mv", `d/${from}`, `${to}/${from}`);
    }
    repo.commit("Split");
    const before = await stateOf(repo);
    const { ok, results } = await server.payload("git_merge", { sources: ["topic"], strategy: "merge" });
    assert.deepEqual([ok, results[0].error], [false, "merge_conflicts"]);
    assert.match(JSON.stringify(results[0].conflicts), /split/);
    assert.deepEqual(await stateOf(repo), before);
  }),
);

Deno.test(
  "batch_commit takes neither more nor less than its entry lists",
  scene(async (server, repo) => {
    const commit = async (...files: unknown[]) => {
      const { results } = await server.payload("batch_commit", { commits: [{ message: "m", files }] });
      return results[0];
    };
    repo.commit("Base", {
      "f.txt": "1\n2\n3\n",
      "dir/x": "x\n",
      "dir/y": "y\n",
      "b.txt": "b\n",
      "was-file": "w\n",
    });
    // What is staged of a file is not taken out by a commit of other lines of it.
    repo.write("f.txt", "STAGED\n2\n3\n");
    repo.git("add", "f.txt");
    repo.write("f.txt", "1\n2\nHUNK\n");
    const before = await stateOf(repo);
    const mixed = await commit({ path: "f.txt", lines: { from: 3, to: 3 } });
    assert.equal(mixed.error, "stage_failed");
    assert.deepEqual(await stateOf(repo), before);
    repo.git("reset", "--quiet", "--hard");
    // A file that git was told to overlook is not passed over in silence.
    repo.git("update-index", "--assume-unchanged", "b.txt");
    repo.write("b.txt", "B\n");
    repo.write("a.txt", "A\n");
    const marked = await commit("a.txt", "b.txt");
    assert.match(marked.detail, /^b\.txt: marked assume-unchanged/);
    repo.git("update-index", "--no-assume-unchanged", "b.txt");
    // Directories, on the disk or gone from it, and with lines.
    Deno.removeSync(join(repo.dir, "dir"), { recursive: true });
    assert.match((await commit("dir")).detail, /directory/);
    repo.write("dir/un", "u\n");
    assert.match((await commit({ path: "dir", lines: { from: 1, to: 1 } })).detail, /directory/);
    // A file in whose place a directory stands now.
    Deno.removeSync(join(repo.dir, "was-file"));
    repo.write("was-file/inner", "i\n");
    assert.equal((await commit("was-file", "was-file/inner")).ok, true);
    assert.equal(repo.git("ls-tree", "-r", "--name-only", "HEAD", "was-file"), "was-file/inner");
    // A changed mode is no line.
    repo.git("checkout", "--quiet", "--", "f.txt");
    repo.write("f.txt", "1\nTWO\n3\n");
    Deno.chmodSync(join(repo.dir, "f.txt"), 0o755);
    assert.equal((await commit({ path: "f.txt", lines: { from: 2, to: 2 } })).ok, true);
    assert.match(repo.git("ls-tree", "HEAD", "f.txt"), /^100644/);
    // Names that are not UTF-8 stay staged, and out of it.
    const odd = new Deno.Command("sh", {
      args: ["-c", `printf x > "$(printf 'caf\\351.txt')" && git add "$(printf 'caf\\351.txt')"`],
      cwd: repo.dir,
    }).outputSync();
    assert.ok(odd.success);
    assert.equal((await commit("a.txt")).ok, true);
    assert.equal(repo.git("show", "--format=", "--name-only", "HEAD"), "a.txt");
    assert.match(repo.git("status", "--porcelain"), /^A {2}"caf\\351\.txt"$/m);
  }),
);

Deno.test("a submodule's own config runs nothing when its new commit is listed", () =>
  withTemp(async (dir) => {
    const trace = join(dir, "TRACE");
    const library = makeRepo(join(dir, "library"), { ".gitattributes": "* filter=evil\n", "s.txt": "s\n" });
    const repo = makeRepo(join(dir, "repo"));
    repo.git("submodule", "--quiet", "add", library.dir, "sub");
    repo.commit("With a submodule");
    repo.git("-C", "sub", "config", "filter.evil.clean", `sh -c 'touch ${trace}; cat'`);
    Deno.utimeSync(join(repo.dir, "sub/s.txt"), 1, 1);
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (server) => {
      for (const dryRun of [true, false]) {
        await server.call("batch_commit", { dryRun, commits: [{ message: "m", files: ["sub"] }] });
      }
    });
    assert.ok(!await Deno.lstat(trace).then(() => true, () => false));
  }));

Deno.test("a program that a hook leaves behind holds up neither the call nor the next one", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const hook = join(repo.dir, ".git/hooks/post-commit");
    Deno.writeTextFileSync(hook, "#!/bin/sh\nsetsid sleep 25 &\n");
    Deno.chmodSync(hook, 0o755);
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (server) => {
      const started = performance.now();
      for (const name of ["1.txt", "2.txt"]) {
        repo.write(name, name);
        assert.equal(
          (await server.payload("batch_commit", { commits: [{ message: name, files: [name] }] })).ok,
          true,
        );
      }
      assert.ok(performance.now() - started < 15_000);
      assert.equal(repo.git("status", "--porcelain"), "");
    });
  }));
