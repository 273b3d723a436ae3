/** The search index as its users meet it: deleted, damaged, shared, killed, and built by hand. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { rounds, seededRandom } from "../support/rounds.ts";
import { type Message, runProgram, Server, withServer } from "../support/server.ts";

const INDEX = ".orchestragent-mcp.index.db";

/** Files of words that tell where they stand: `w7` in file 7, `mod3x1` in each file whose number is 1 mod 3. */
function numbered(count: number, lines = 40): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => {
    const filler = Array.from(
      { length: lines },
      (_, line) => `common filler${line} text_${n * lines + line}\n`,
    );
    return [`d${n % 20}/f${n}.txt`, `uniq${n}x mod3x${n % 3}\n${filler.join("")}`];
  }));
}

async function answersRight(server: Server, count: number): Promise<void> {
  for (const n of [0, 1, Math.floor(count / 2), count - 1]) {
    const { results, totalCount } = await server.payload("gb_file_search", { query: `uniq${n}x` });
    assert.equal(totalCount, 1, `uniq${n}x`);
    assert.equal(results[0].path, `d${n % 20}/f${n}.txt`);
  }
  for (const rest of [0, 1, 2]) {
    const { totalCount } = await server.payload("gb_file_search", { query: `mod3x${rest}` });
    assert.equal(totalCount, Math.ceil((count - rest) / 3), `mod3x${rest}`);
  }
}

const indexed = async (server: Server) => {
  for (let tries = 0; tries < 300; tries++) {
    const { note } = await server.payload("gb_file_search", { query: "common", count: 1 });
    if (note === undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`nothing was indexed: ${server.stderr}`);
};

Deno.test("what is not indexed yet is searched all the same, and is indexed behind the call", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), numbered(900));
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (server) => {
      const first = await server.payload("gb_file_search", { query: "uniq700x" });
      assert.equal(first.totalCount, 1);
      assert.match(first.note, /900 files are not in the index yet/);
      await answersRight(server, 900);
      await indexed(server);
      await answersRight(server, 900);
      // A change of everything at once is as much work as the first time.
      repo.commit(
        "All",
        Object.fromEntries(Object.entries(numbered(900)).map(([k, v]) => [k, `again ${v}`])),
      );
      assert.equal((await server.payload("gb_file_search", { query: "again" })).totalCount, 900);
      await indexed(server);
      assert.equal((await server.payload("gb_file_search", { query: "again" })).totalCount, 900);
    });
  }));

Deno.test("an index that is deleted, cut short, overwritten or of another version is built anew", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), numbered(60));
    const options = { cwd: dir, flags: ["-repo", repo.dir, "-db", dir] };
    const file = join(dir, INDEX);
    await withServer(options, async (server) => {
      await answersRight(server, 60);
      for (const suffix of ["", "-wal", "-shm"]) await Deno.remove(file + suffix).catch(() => {});
      await answersRight(server, 60);
      assert.ok((await Deno.stat(file)).size > 0);
    });
    const damages: [string, () => Promise<void>][] = [
      ["deleted", () => Deno.remove(file)],
      [
        "text",
        () => Deno.writeTextFile(file, "not a database at all, but long enough to be one".repeat(100)),
      ],
      ["empty", () => Deno.writeTextFile(file, "")],
      ["short", () => Deno.truncate(file, 9000)],
      ["overwritten", async () => {
        const bytes = await Deno.readFile(file);
        bytes.fill(0x5a, 4096, Math.min(bytes.length, 40_000));
        await Deno.writeFile(file, bytes);
      }],
      ["version", async () => {
        const { DatabaseSync } = await import("node:sqlite");
        const db = new DatabaseSync(file);
        db.exec("PRAGMA user_version = 99");
        db.close();
      }],
    ];
    for (const [name, damage] of damages) {
      await damage();
      await withServer(options, async (server) => {
        await answersRight(server, 60).catch((error) => {
          throw new Error(`${name}: ${error.message}\n${server.stderr}`);
        });
      });
    }
  }));

Deno.test("without a place for an index every file is looked into", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), numbered(30));
    await Deno.writeTextFile(join(dir, "file"), "");
    const flags = ["-repo", repo.dir, "-db", join(dir, "file")];
    await withServer({ cwd: dir, flags }, async (server) => {
      await answersRight(server, 30);
      const { note } = await server.payload("gb_file_search", { query: "common" });
      assert.match(note, /index/);
      const commits = await server.payload("gb_commit_search", { query: "First", repos: ["repo"] });
      assert.equal(commits.totalCount, 1);
    });
  }));

Deno.test("a server killed while it indexes leaves an index that answers right", () =>
  withTemp(async (dir) => {
    const random = seededRandom("killed while indexing");
    const repo = makeRepo(join(dir, "repo"), numbered(1200, 60));
    const options = { cwd: dir, flags: ["-repo", repo.dir, "-db", dir] };
    for (let round = 0; round < rounds(4, 20); round++) {
      const server = await Server.connect(options);
      await server.payload("gb_file_search", { query: "uniq5x" });
      await new Promise((resolve) => setTimeout(resolve, random() * 500));
      await server.kill();
    }
    await withServer(options, async (server) => {
      await answersRight(server, 1200);
      await indexed(server);
      await answersRight(server, 1200);
    });
  }));

Deno.test("two processes index and search one database at once", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), numbered(800));
    const flags = ["-repo", repo.dir, "-db", dir];
    const servers = await Promise.all([0, 1].map(() => Server.connect({ cwd: dir, flags })));
    await Promise.all(servers.map((server) => answersRight(server, 800)));
    for (let round = 0; round < rounds(5, 25); round++) {
      repo.commit(`Round${round}x`, {
        [`r${round}.txt`]: `round${round}x\n`,
        "d0/f0.txt": `uniq0x mod3x0 ${round}\n`,
      });
      await Promise.all(servers.map(async (server) => {
        const found = await server.payload("gb_file_search", { query: `round${round}x` });
        assert.equal(found.totalCount, 1);
        const commits = await server.payload("gb_commit_search", {
          query: `Round${round}x`,
          repos: ["repo"],
        });
        assert.equal(commits.totalCount, 1);
        await answersRight(server, 800);
      }));
    }
    await Promise.all(servers.map(indexed));
    await Promise.all(servers.map((server) => answersRight(server, 800)));
    for (const server of servers) assert.doesNotMatch(server.stderr, /warn|error/);
    await Promise.all(servers.map((server) => server.close()));
  }));

Deno.test("the index subcommand builds everything, says how much, and then has nothing to do", () =>
  withTemp(async (dir) => {
    const repos = join(dir, "repos");
    makeRepo(join(repos, "one"), numbered(50));
    makeRepo(join(repos, "two"), { ...numbered(50), "own.txt": "own\n", "bin.dat": "a\0b" });
    const flags = ["-repos", repos, "-db", dir, "index"];
    const first = await runProgram({ cwd: dir, flags });
    assert.equal(first.code, 0, first.stderr);
    // Blobs that both have are indexed once.
    assert.match(first.stdout, /2 repositories, 52 new blobs, 2 new commits, [\d.]+ MB at [\d.]+ MB\/s/);
    assert.match(first.stdout, /\.orchestragent-mcp\.index\.db, [\d.]+ MB/);
    const second = await runProgram({ cwd: dir, flags });
    assert.match(second.stdout, /2 repositories, 0 new blobs, 0 new commits/);
    await withServer({ cwd: dir, flags: flags.slice(0, -1) }, async (server) => {
      const { totalCount, results } = await server.payload("gb_file_search", { query: "uniq7x" });
      assert.equal(totalCount, 2);
      assert.deepEqual(results.map(({ repository }: Message) => repository), ["one", "two"]);
    });
  }));

Deno.test("a branch that was forced elsewhere, a fork and a worktree share what they have in common", () =>
  withTemp(async (dir) => {
    const repos = join(dir, "repos");
    const repo: Repo = makeRepo(join(repos, "base"), numbered(100));
    repo.git("clone", "-q", repo.dir, join(repos, "fork"));
    repo.at(join(repos, "fork")).commit("Own", { "fork.txt": "forkonly\n" });
    repo.git("worktree", "add", "-q", "-b", "session-x", join(dir, "wt"));
    repo.at(join(dir, "wt")).commit("Session", { "session.txt": "sessiononly\n" });
    await withServer({ cwd: dir, flags: ["-repos", repos, "-db", dir] }, async (server) => {
      const find = async (args: Message) => (await server.payload("gb_file_search", args)).totalCount;
      assert.equal(await find({ query: "uniq5x" }), 2);
      assert.equal(await find({ query: "forkonly" }), 1);
      assert.equal(await find({ query: "sessiononly" }), 0);
      assert.equal(await find({ query: "sessiononly", branch: "session-x" }), 1);
      assert.equal(await find({ query: "uniq5x", branch: "session-x" }), 1);
      const { DatabaseSync } = await import("node:sqlite");
      const db = new DatabaseSync(join(dir, INDEX), { readOnly: true });
      assert.deepEqual({ ...db.prepare("SELECT count(*) AS n FROM blob").get() }, { n: 102 });
      db.close();
    });
  }));

Deno.test("an index in a working tree is not to be seen in git status, nor is it committed", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), numbered(20));
    await Deno.mkdir(join(repo.dir, "sub [1]"));
    for (const db of [repo.dir, join(repo.dir, "sub [1]")]) {
      await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", db] }, async (server) => {
        await answersRight(server, 20);
        await Deno.stat(join(db, INDEX));
        assert.equal(repo.git("status", "--porcelain"), "");
      });
    }
  }));

Deno.test("in read-only mode the index is written and the repository is not", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"), numbered(20));
    const before = await Deno.readTextFile(join(repo.dir, ".git", "info", "exclude"));
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir, "--read-only"] }, async (server) => {
      await answersRight(server, 20);
      assert.equal(await Deno.readTextFile(join(repo.dir, ".git", "info", "exclude")), before);
      await Deno.stat(join(dir, INDEX));
    });
  }));
