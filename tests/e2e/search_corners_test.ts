/** Corners of searching: odd letters, odd histories, odd repositories, and queries that ask for too much. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { type Message, Server, withServer } from "../support/server.ts";

const pathsOf = (payload: Message): string[] => payload.results.map(({ path }: Message) => path).sort();

/** Both with an index and without a place for one: the answers have to be the same. */
async function both(
  files: Record<string, string>,
  work: (find: (query: string) => Promise<string[]>, server: Server) => Promise<void>,
): Promise<void> {
  await withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), files);
    await Deno.writeTextFile(join(dir, "file"), "");
    for (const db of [dir, join(dir, "file")]) {
      await withServer(
        { cwd: dir, flags: ["-repo", repo.dir, "-db", db] },
        (server) => work(async (query) => pathsOf(await server.payload("gb_file_search", { query })), server),
      );
    }
  });
}

Deno.test("letters outside of ASCII are the same with an index and without", () =>
  both({
    "nbsp": "foo\u00a0bar\n",
    "wide": "全角\u3000空白 foo\u3000bar\n",
    "plain": "foo bar\n",
    "long-s": "maſter\n",
    "sigma1": "ΟΔΟΣ x\n",
    "sigma2": "ΟΔΟΣΑ\n",
    "sigma3": "İ ΟΔΟΣ x\n",
    "crlf": "one two\r\nthree\r\n",
  }, async (find) => {
    assert.deepEqual(await find('"foo bar"'), ["plain"]);
    assert.deepEqual(await find('"foo\u00a0bar"'), ["nbsp"]);
    assert.deepEqual(await find("foo"), ["nbsp", "plain", "wide"]);
    assert.deepEqual(await find("空白"), ["wide"]);
    assert.deepEqual(await find("master"), ["long-s"]);
    assert.deepEqual(await find("/ma.?ster/"), ["long-s"]);
    assert.deepEqual(await find("ΟΔΟΣ"), ["sigma1", "sigma2", "sigma3"]);
    assert.deepEqual(await find("οδος"), ["sigma1", "sigma2", "sigma3"]);
    assert.deepEqual(await find('"two three"'), ["crlf"]);
  }));

Deno.test("words that are longer than the index keeps them are told apart", () =>
  both({
    "one": `${"a".repeat(40_000)}needle1\n`,
    "two": `${"a".repeat(40_000)}other2\n`,
  }, async (find) => {
    assert.deepEqual(await find("needle1"), ["one"]);
    assert.deepEqual(await find("aaaa"), ["one", "two"]);
    assert.deepEqual(await find("*needle1"), ["one"]);
  }));

Deno.test("wildcards, repeated words and operators at the edge", () =>
  both(
    { "dots": "a.b.c\n", "foos": "foo.foo.bar\n", "slop": "x a a q\n", "plain": "foo\n" },
    async (find) => {
      assert.deepEqual(await find("?.*c"), ["dots"]);
      assert.deepEqual(await find("foo.*bar"), ["foos"]);
      assert.deepEqual(await find('"a q a"~4'), ["slop"]);
      assert.deepEqual(await find('"a a q"~4'), ["slop"]);
      assert.deepEqual(await find('"a a a q"~9'), []);
      assert.deepEqual(await find('foo NOT"foo.foo"'), ["plain"]);
    },
  ));

Deno.test("queries that ask too much are refused, and costly ones end", () =>
  both({ "a": "a ".repeat(500_000), "b": "the end\n" }, async (find, server) => {
    assert.deepEqual(await find(`"${"a ".repeat(15)}b"~5`), []);
    assert.deepEqual(await find(`"${"a ".repeat(60)}b"`), []);
    for (
      const query of [
        `"${"a ".repeat(17)}"~5`,
        `"${"a ".repeat(100)}b"`,
        "wxab~2 ".repeat(13),
        "/a.b/ ".repeat(13),
        "x ".repeat(200),
      ]
    ) assert.match(await server.refusal("gb_file_search", { query }), /INVALID_REQUEST.*at most/);
  }));

Deno.test("a match far to the right of a long line is shown", () =>
  both({ "min.js": `${"y".repeat(1000)} 😀NEEDLE${"😀".repeat(500)}\n` }, async (_find, server) => {
    const { results } = await server.payload("gb_file_search", { query: "NEEDLE" });
    const [{ content }] = results[0].chunks;
    assert.match(content, /^1: ….*NEEDLE.*…\n$/);
    assert.ok(content.isWellFormed() && content.length < 500);
  }));

Deno.test("large answers stay bounded whatever is asked for", () =>
  both(
    Object.fromEntries(
      Array.from({ length: 100 }, (_, n) => [`f${n}`, `needle ${"x".repeat(390)}\n`.repeat(200)]),
    ),
    async (_find, server) => {
      const payload = await server.payload("gb_file_search", {
        query: "needle",
        count: 100,
        contextLines: 200,
      });
      assert.ok(JSON.stringify(payload).length < 130_000);
      assert.equal(payload.totalCount, 100);
      assert.match(payload.more, /shortened/);
      assert.equal(payload.results[0].matchingLines, 200);
    },
  ));

Deno.test("commits: tags taken away, mailmaps, shallow clones, messages of any size", () =>
  withTemp(async (dir) => {
    const repos = join(dir, "repos");
    const repo = makeRepo(join(repos, "full"));
    const one = repo.commit("fix one", { "1": "" });
    const two = repo.commit("fix two", { "2": "" });
    repo.git("tag", "v1", one);
    repo.git("clone", "-q", "--depth", "1", `file://${repo.dir}`, join(repos, "shallow"));
    await withServer({ cwd: dir, flags: ["-repos", repos, "-db", dir] }, async (server) => {
      const search = async (query: string, name = "full") => {
        const { commits, totalCount } = await server.payload("gb_commit_search", { query, repos: [name] });
        assert.equal(commits.length, totalCount);
        return commits.map(({ commit }: Message) => commit);
      };
      assert.deepEqual(await search("fix -tag:v1"), [two]);
      assert.deepEqual(await search("fix AND NOT tag:v*"), [two]);
      assert.equal((await search("*")).length, 3);
      assert.equal((await search("*", "shallow")).length, 1);
      assert.equal((await search("*")).length, 3);
      repo.at(join(repos, "shallow")).git("fetch", "-q", "--unshallow");
      assert.equal((await search("*", "shallow")).length, 3);
      repo.commit("map", { ".mailmap": "Renamed <new@x.org> <tester@example.com>\n" });
      assert.equal((await search("author:Renamed")).length, 0);
      assert.equal((await search("author:Tester")).length, 4);
      await Deno.writeTextFile(join(dir, "message"), `giant\n\n${"word ".repeat(8_000_000)}`);
      repo.git("commit", "-q", "--allow-empty", "-F", join(dir, "message"));
      repo.commit("after the giant");
      assert.equal((await search("giant")).length, 2);
      assert.equal((await search('"after the giant"')).length, 1);
    });
  }));

Deno.test("a branch in the query is searched beside the default one", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), { "a": "alpha\n" });
    repo.git("checkout", "-q", "-b", "dev");
    repo.commit("Dev", { "a": "beta\n", "d": "delta\n" });
    repo.git("checkout", "-q", "main");
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (server) => {
      const { results } = await server.payload("gb_file_search", { query: "alpha (branch:dev AND delta)" });
      assert.deepEqual(results.map(({ path, branch }: Message) => `${branch} ${path}`).sort(), [
        "refs/heads/dev d",
        "refs/heads/main a",
      ]);
    });
  }));

/** Damages a loose object, or makes it a link to somewhere. */
async function damage(repo: Repo, oid: string, link?: string): Promise<void> {
  const file = join(repo.dir, ".git", "objects", oid.slice(0, 2), oid.slice(2));
  await Deno.remove(file);
  if (link) await Deno.symlink(link, file);
  else await Deno.writeTextFile(file, "x");
}

Deno.test("a damaged repository does not keep the others from being searched, and is told", () =>
  withTemp(async (dir) => {
    const repos = join(dir, "repos");
    makeRepo(join(repos, "good"), { "a.txt": "needle\n" });
    const tree = makeRepo(join(repos, "tree"), { "a.txt": "needle tree\n" });
    await damage(tree, tree.git("rev-parse", "HEAD^{tree}"));
    const head = makeRepo(join(repos, "head"), { "a.txt": "needle head\n" });
    await damage(head, head.git("rev-parse", "HEAD"));
    const blob = makeRepo(join(repos, "blob"), { "a.txt": "needle blob\n", "b.txt": "needle too\n" });
    await damage(blob, blob.git("rev-parse", "HEAD:a.txt"));
    const unsafe = makeRepo(join(repos, "unsafe"), { "a.txt": "needle unsafe\n" });
    unsafe.git("config", "filter.x.smudge", "touch x");
    await withServer({ cwd: dir, flags: ["-repos", repos, "-db", dir] }, async (server) => {
      const { results, note } = await server.payload("gb_file_search", { query: "needle" });
      const found = results.map(({ repository, path }: Message) => `${repository} ${path}`);
      assert.ok(found.includes("good a.txt"), note);
      for (const name of ["tree", "head", "unsafe"]) assert.match(note, new RegExp(`${name} was left out`));
      assert.match(
        await server.refusal("gb_file_search", { query: "x", repos: ["head"] }),
        /git_failed.*fsck/,
      );
      assert.match(
        await server.refusal("gb_file_search", { query: "x", repos: ["unsafe"] }),
        /ACCESS_DENIED.*filter/,
      );
      const text = await server.refusal("gb_read_file", { repo: "blob", path: "a.txt" });
      assert.match(text, /git_failed.*fsck/);
      await server.payload("gb_list_repos");
      await server.payload("gb_find_files", { pathPattern: "*.txt" });
      await server.payload("gb_commit_search", { query: "First", repos: ["good", "tree", "blob"] });
    });
  }));

Deno.test("links in a git directory lead nowhere", () =>
  withTemp(async (dir) => {
    const outside = makeRepo(join(dir, "outside"), { "s.txt": "topsecret\n" });
    const secret = outside.git("rev-parse", "HEAD");
    const repos = join(dir, "repos");
    const make = (name: string) => {
      const repo = makeRepo(join(repos, name), { "own.txt": "own\n" });
      repo.git("gc", "-q");
      return { objects: join(repo.dir, ".git", "objects"), repo };
    };
    const fanOut = make("fan-out");
    const prefix = secret.slice(0, 2);
    await Deno.symlink(join(outside.dir, ".git", "objects", prefix), join(fanOut.objects, prefix));
    outside.git("gc", "-q");
    const pack = make("pack");
    await Deno.remove(join(pack.objects, "pack"), { recursive: true });
    await Deno.symlink(join(outside.dir, ".git", "objects", "pack"), join(pack.objects, "pack"));
    const packFile = make("pack-file");
    for await (const { name } of Deno.readDir(join(outside.dir, ".git", "objects", "pack"))) {
      await Deno.symlink(
        join(outside.dir, ".git", "objects", "pack", name),
        join(packFile.objects, "pack", name),
      );
    }
    const described = make("described");
    await Deno.remove(join(described.repo.dir, ".git", "description"));
    await Deno.symlink("/etc/passwd", join(described.repo.dir, ".git", "description"));
    for (const name of ["fan-out", "pack", "pack-file"]) {
      await Deno.writeTextFile(join(repos, name, ".git", "refs", "heads", "y"), `${secret}\n`);
    }
    await withServer({ cwd: dir, flags: ["-repos", repos, "-db", dir] }, async (server) => {
      for (const repo of ["fan-out", "pack", "pack-file"]) {
        for (const revision of ["y", secret]) {
          const text = await server.refusal("gb_read_file", { repo, path: "s.txt", revision });
          assert.match(text, /ACCESS_DENIED.*objects/, repo);
        }
        const { results } = await server.payload("gb_file_search", { query: "topsecret" });
        assert.deepEqual(results, []);
      }
      const { repositories } = await server.payload("gb_list_repos");
      assert.doesNotMatch(JSON.stringify(repositories), /root:/);
    });
  }));

Deno.test("a cat-file that dies under many questions leaves one behind it, not many", () =>
  withTemp(async (dir) => {
    const files = Array.from({ length: 2_000 }, (_, n) => [`f${n}.txt`, `lorem ${n}\n`.repeat(50)]);
    const repo = makeRepo(join(dir, "repo"), Object.fromEntries(files));
    await Deno.writeTextFile(join(dir, "file"), "");
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", join(dir, "file")] }, async (server) => {
      const children = async () => {
        const { stdout } = await new Deno.Command("pgrep", { args: ["-P", String(server.child.pid), "git"] })
          .output();
        return new TextDecoder().decode(stdout).split("\n").filter(Boolean);
      };
      for (let round = 0; round < 5; round++) {
        const search = server.payload("gb_file_search", { query: "lorem" });
        await new Promise((resolve) => setTimeout(resolve, 40));
        for (const pid of await children()) {
          try {
            Deno.kill(Number(pid), "SIGKILL");
          } catch { /* it has ended */ }
        }
        assert.equal((await search).totalCount, 2_000);
      }
      assert.ok((await children()).length <= 1);
    });
  }));
