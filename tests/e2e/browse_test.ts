/** gb_list_repos, gb_list_files, gb_read_file and gb_find_files over stdio. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, Repo, withTemp } from "../support/repo.ts";
import { rounds } from "../support/rounds.ts";
import { type Message, Server, withServer } from "../support/server.ts";

interface Scene {
  server: Server;
  /** `team/project`, with a working tree. */
  repo: Repo;
  /** The served directory. */
  repos: string;
  dir: string;
}

async function scene(work: (scene: Scene) => Promise<void>): Promise<void> {
  await withTemp(async (dir) => {
    const repos = join(dir, "git");
    const repo = makeRepo(join(repos, "team", "project"), {
      "README.md": "# Project\n\nHello\n",
      "src/main.ts": "one\ntwo\nthree\nfour",
      "src/deep/Dockerfile": "FROM x\n",
      "notDockerfile": "",
      "Zed.txt": "z\n",
      "apple.txt": "a\n",
      "b/c.proto": "x\n",
    });
    repo.git("clone", "-q", "--bare", repo.dir, join(repos, "team", "api.git"));
    new Repo(repos).git("init", "-q", "--bare", join(repos, "empty.git"));
    makeRepo(join(repos, "zoo"), { "Dockerfile": "FROM y\n", "src/test_a.py": "", "src/x/test_b.py": "" });
    await withServer(
      { cwd: dir, flags: ["-repos", repos, "-db", dir] },
      (server) => work({ server, repo, repos, dir }),
    );
  });
}

const names = (payload: Message): string[] => payload.repositories.map(({ name }: Message) => name);

Deno.test("gb_list_repos lists bare and other repositories in folders, not linked worktrees", () =>
  scene(async ({ server, repo, repos }) => {
    repo.git("worktree", "add", "-q", join(repos, "linked"));
    await Deno.writeTextFile(join(repos, "team", "api.git", "description"), "The API\n");
    await Deno.writeTextFile(
      join(repos, "zoo", ".git", "config"),
      "[gitblit]\n\tdescription = All animals\n",
      {
        append: true,
      },
    );
    const payload = await server.payload("gb_list_repos");
    const lastChange = new Date(Number(repo.git("log", "-1", "--format=%ct")) * 1000).toISOString();
    assert.deepEqual(names(payload), ["empty.git", "team/api.git", "team/project", "zoo"]);
    assert.deepEqual(payload.repositories[0], { name: "empty.git", description: "", hasCommits: false });
    assert.deepEqual(payload.repositories[1], {
      name: "team/api.git",
      description: "The API",
      lastChange: lastChange.replace(".000", ""),
      hasCommits: true,
    });
    assert.equal(payload.repositories[3].description, "All animals");
    assert.deepEqual(payload.pagination, { totalCount: 4, hasNextPage: false, endCursor: "zoo" });
  }));

Deno.test("gb_list_repos: query, limit, cursor and offset", () =>
  scene(async ({ server, repos }) => {
    const list = async (args: Message) => await server.payload("gb_list_repos", args);
    assert.deepEqual(names(await list({ query: "API" })), ["team/api.git"]);
    assert.deepEqual(names(await list({ query: "team/" })), ["team/api.git", "team/project"]);
    const none = await list({ query: "nothing" });
    assert.deepEqual(none, { repositories: [], pagination: { totalCount: 0, hasNextPage: false } });
    const first = await list({ limit: 2 });
    assert.deepEqual(names(first), ["empty.git", "team/api.git"]);
    assert.deepEqual(first.pagination, { totalCount: 4, hasNextPage: true, endCursor: "team/api.git" });
    const second = await list({ limit: 2, after: first.pagination.endCursor });
    assert.deepEqual(names(second), ["team/project", "zoo"]);
    assert.equal(second.pagination.hasNextPage, false);
    assert.deepEqual(names(await list({ limit: 1, offset: 2 })), ["team/project"]);
    assert.deepEqual(names(await list({ offset: 99 })), []);
    assert.equal(names(await list({ limit: 0 })).length, 4);
    assert.match(await server.refusal("gb_list_repos", { after: "gone" }), /INVALID_REQUEST.*gone/);
    makeRepo(join(repos, "later"));
    assert.equal((await list({})).pagination.totalCount, 5);
    await Deno.remove(join(repos, "later"), { recursive: true });
    assert.equal((await list({})).pagination.totalCount, 4);
  }));

Deno.test("gb_list_repos: the last change is that of the newest branch", () =>
  scene(async ({ server, repo }) => {
    const env = { GIT_COMMITTER_DATE: "2035-01-02T03:04:05Z" };
    repo.git("checkout", "-q", "-b", "newer");
    const { code } = new Deno.Command("git", {
      args: ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
      cwd: repo.dir,
      env,
    }).outputSync();
    assert.equal(code, 0);
    repo.git("checkout", "-q", "main");
    const { repositories } = await server.payload("gb_list_repos", { query: "project" });
    assert.equal(repositories[0].lastChange, "2035-01-02T03:04:05Z");
  }));

Deno.test("without -repos the roots are the repositories", () =>
  withTemp(async (dir) => {
    const one = makeRepo(join(dir, "one", "app"), { "1.txt": "first\n" });
    const two = makeRepo(join(dir, "two", "app"), { "2.txt": "second\n" });
    const three = makeRepo(join(dir, "lib"), { "3.txt": "third\n" });
    const flags = ["-repo", one.dir, "-root", two.dir, "-root", three.dir, "-db", dir];
    await withServer({ cwd: dir, flags }, async (server) => {
      assert.deepEqual(names(await server.payload("gb_list_repos")), ["lib", "one/app", "two/app"]);
      const { content } = await server.payload("gb_read_file", { repo: "two/app", path: "2.txt" });
      assert.equal(content, "1: second\n");
    });
  }));

Deno.test("gb_list_files: directories first, each kind by name", () =>
  scene(async ({ server, repo }) => {
    const list = async (args: Message) =>
      (await server.payload("gb_list_files", { repo: "team/project", ...args })).files;
    const root = await list({});
    assert.deepEqual(root, [
      { path: "b/", isDirectory: true },
      { path: "src/", isDirectory: true },
      ...["apple.txt", "notDockerfile", "README.md", "Zed.txt"].map((path) => ({ path, isDirectory: false })),
    ]);
    assert.deepEqual(await list({ path: "/" }), root);
    assert.deepEqual((await list({ path: "src/" })).map(({ path }: Message) => path), ["deep/", "main.ts"]);
    assert.deepEqual(await list({ path: "src" }), await list({ path: "src/", revision: "HEAD" }));
    assert.deepEqual((await server.payload("gb_list_files", { repo: "team/api" })).files, root);
    repo.git("checkout", "-q", "-b", "work/one");
    repo.commit("More", { "src/new.ts": "" });
    repo.git("checkout", "-q", "main");
    for (const revision of ["work/one", "refs/heads/work/one", repo.git("rev-parse", "work/one")]) {
      assert.equal((await list({ path: "src", revision })).length, 3, revision);
    }
    const refusals: [Message, RegExp][] = [
      [{ path: "nope" }, /NOT_FOUND.*Path not found: nope/],
      [{ path: "README.md" }, /NOT_FOUND.*gb_read_file/],
      [{ path: "../.." }, /NOT_FOUND/],
      [{ revision: "nope" }, /INVALID_REQUEST.*Cannot resolve revision: nope/],
      [{ revision: "--output=x" }, /INVALID_REQUEST/],
      [{ revision: "a..b" }, /INVALID_REQUEST/],
      [{ revision: "main\nHEAD" }, /INVALID_REQUEST/],
      [{ repo: "team/projekt" }, /NOT_FOUND.*Did you mean: 'team\/project'\?/],
      [{ repo: "empty" }, /NOT_FOUND.*no commits/],
    ];
    for (const [args, expected] of refusals) {
      const text = await server.refusal("gb_list_files", { repo: "team/project", ...args });
      assert.match(text, expected);
      assert.ok(JSON.parse(text).error.next, text);
    }
  }));

Deno.test("gb_list_files: a large directory comes in pages", () =>
  scene(async ({ server, repo }) => {
    repo.commit(
      "Many",
      Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`many/file-${n}.txt`, ""])),
    );
    const first = await server.payload("gb_list_files", { repo: "team/project", path: "many" });
    assert.ok(JSON.stringify(first).length < 10_000);
    assert.equal(first.totalCount, 1000);
    const offset = Number(/offset=(\d+)/.exec(first.more)![1]);
    assert.equal(first.files.length, offset);
    const rest = await server.payload("gb_list_files", {
      repo: "team/project",
      path: "many",
      offset,
      limit: 5000,
    });
    assert.equal(rest.files.length, 1000 - offset);
  }));

Deno.test("gb_read_file numbers lines, of all of a file or of a range", () =>
  scene(async ({ server, repo }) => {
    const read = async (args: Message) =>
      await server.payload("gb_read_file", { repo: "team/project", path: "src/main.ts", ...args });
    assert.deepEqual(await read({}), { content: "1: one\n2: two\n3: three\n4: four\n", totalLines: 4 });
    assert.equal((await read({ startLine: 2, endLine: 3 })).content, "2: two\n3: three\n");
    assert.equal((await read({ startLine: -3, endLine: 1 })).content, "1: one\n");
    assert.equal((await read({ startLine: 3, endLine: 1 })).content, "3: three\n");
    assert.equal((await read({ startLine: 99 })).content, "");
    repo.git("checkout", "-q", "-b", "side");
    repo.commit("Change", { "src/main.ts": "changed\r\nlines\n" });
    repo.git("tag", "-a", "v1", "-m", "x");
    repo.git("checkout", "-q", "main");
    for (const revision of ["side", "v1", repo.git("rev-parse", "--short", "side")]) {
      assert.equal((await read({ revision })).content, "1: changed\r\n2: lines\n", revision);
    }
    assert.equal((await read({ revision: "v1~1" })).totalLines, 4);
    for (
      const [args, expected] of [
        [{ path: "src" }, /NOT_FOUND.*a directory/],
        [{ path: "src/none.ts" }, /NOT_FOUND.*File not found: src\/none.ts/],
        [{ path: "src/main.ts/x" }, /NOT_FOUND/],
        [{ path: "../../zoo/Dockerfile" }, /NOT_FOUND/],
        [{ path: ".git/config" }, /NOT_FOUND/],
        [{ repo: "../project" }, /NOT_FOUND/],
      ] as const
    ) {
      assert.match(
        await server.refusal("gb_read_file", { repo: "team/project", path: "x", ...args }),
        expected,
      );
    }
  }));

Deno.test("gb_read_file: the size limit is on what is returned", () =>
  scene(async ({ server, repo }) => {
    const line = "x".repeat(1023);
    repo.commit("Sizes", {
      "exact.txt": `${line}\n`.repeat(128),
      "over.txt": `${line}\n`.repeat(128) + "y",
      "large.txt": "0123456789\n".repeat(200_000),
      "bin.dat": "a\0b",
      "late.txt": `${"a".repeat(9000)}\0`,
    });
    const read = (path: string, more: Message = {}) => ({ repo: "team/project", path, ...more });
    assert.equal((await server.payload("gb_read_file", read("exact.txt"))).totalLines, 128);
    const text = await server.refusal("gb_read_file", read("over.txt"));
    assert.match(text, /FILE_TOO_LARGE.*128KB/);
    assert.match(JSON.parse(text).error.next, /startLine/);
    const part = await server.payload(
      "gb_read_file",
      read("large.txt", { startLine: 199_999, endLine: 300_000 }),
    );
    assert.equal(part.content, "199999: 0123456789\n200000: 0123456789\n");
    assert.match(await server.refusal("gb_read_file", read("large.txt", { startLine: 2 })), /FILE_TOO_LARGE/);
    assert.match(await server.refusal("gb_read_file", read("bin.dat")), /INVALID_REQUEST.*Binary/);
    await server.payload("gb_read_file", read("late.txt"));
  }));

Deno.test("gb_find_files: one glob dialect, sorted, counted, over every repository", () =>
  scene(async ({ server, repo }) => {
    const find = async (pathPattern: string, more: Message = {}) =>
      await server.payload("gb_find_files", { pathPattern, ...more });
    const files = async (pathPattern: string, more: Message = {}) =>
      (await find(pathPattern, more)).results.map(({ repository, files }: Message) => [repository, files]);
    assert.deepEqual(await find("**/Dockerfile"), {
      pattern: "**/Dockerfile",
      totalCount: 3,
      limitHit: false,
      results: [
        { repository: "team/api.git", revision: "refs/heads/main", files: ["src/deep/Dockerfile"] },
        { repository: "team/project", revision: "refs/heads/main", files: ["src/deep/Dockerfile"] },
        { repository: "zoo", revision: "refs/heads/main", files: ["Dockerfile"] },
      ],
    });
    const repos = ["project"];
    await assert.rejects(find("*", { repos }), /NOT_FOUND/);
    const one = { repos: ["team/project"] };
    assert.deepEqual(await files("*.txt", one), [["team/project", ["Zed.txt", "apple.txt"]]]);
    assert.deepEqual(await files("*.proto", one), [["team/project", ["b/c.proto"]]]);
    assert.deepEqual(await files("?pple.txt", one), [["team/project", ["apple.txt"]]]);
    assert.deepEqual(await files("{Zed,apple}.txt", one), [["team/project", ["Zed.txt", "apple.txt"]]]);
    assert.deepEqual(await files("src/*", one), [["team/project", ["src/main.ts"]]]);
    assert.deepEqual(await files("src/**/test_*.py"), [["zoo", ["src/test_a.py", "src/x/test_b.py"]]]);
    assert.deepEqual(await files("dockerfile"), []);
    assert.deepEqual(await find("*.nothing"), {
      pattern: "*.nothing",
      totalCount: 0,
      limitHit: false,
      results: [],
    });
    const limited = await find("**", { limit: 3 });
    assert.equal(limited.limitHit, true);
    assert.equal(limited.totalCount, 17);
    const paged = await find("**", { limit: 3, offset: 16 });
    assert.deepEqual(paged.results.map(({ files }: Message) => files), [["src/x/test_b.py"]]);
    assert.equal(paged.limitHit, false);
    const head = repo.git("rev-parse", "HEAD");
    assert.equal((await find("b/*", { ...one, revision: head })).results[0].revision, "refs/heads/main");
    repo.commit("Later", { "b/later.txt": "" });
    assert.equal((await find("b/*", { ...one, revision: head })).results[0].revision, head);
    assert.equal((await find("b/*", { ...one, revision: head })).totalCount, 1);
    assert.equal((await find("b/*", one)).totalCount, 2);
    assert.match(await server.refusal("gb_find_files", { pathPattern: "x", repos: ["nope"] }), /NOT_FOUND/);
    assert.match(
      await server.refusal("gb_find_files", { pathPattern: "a*".repeat(40) }),
      /INVALID_REQUEST.*glob/,
    );
    const missing = await server.refusal("gb_find_files", { pathPattern: "x", ...one, revision: "nope" });
    assert.match(missing, /Cannot resolve revision/);
  }));

Deno.test("strange names and strange repositories break nothing", () =>
  scene(async ({ server, repo, repos, dir }) => {
    const odd = [
      "with space.txt",
      'quo"te.txt',
      "new\nline.txt",
      "-dash.txt",
      "ünï.txt",
      "tab\t.txt",
      "a b/c.txt",
    ];
    repo.commit("Odd", Object.fromEntries(odd.map((name) => [name, `oddity ${name.length}\n`])));
    const broken = makeRepo(join(repos, "broken"), { "ok.txt": "fine here\n" });
    await Deno.writeTextFile(join(broken.dir, ".git", "refs", "heads", "garbage"), "nonsense\n");
    await Deno.writeTextFile(join(broken.dir, ".git", "refs", "heads", "dangling"), `${"ab".repeat(20)}\n`);
    await Deno.writeTextFile(join(broken.dir, ".git", "refs", "heads", "empty"), "");
    const headless = makeRepo(join(repos, "headless"), { "in-branch.txt": "no head\n" });
    headless.git("symbolic-ref", "HEAD", "refs/heads/none");
    const many = makeRepo(join(repos, "many"), { "m.txt": "manyrefs\n" });
    const tip = many.git("rev-parse", "HEAD");
    const lines = Array.from({ length: 10_000 }, (_, n) => `create refs/heads/b/${n} ${tip}\n`).join("");
    const child = new Deno.Command("git", { args: ["update-ref", "--stdin"], cwd: many.dir, stdin: "piped" })
      .spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(lines));
    await writer.close();
    assert.equal((await child.status).code, 0);
    many.git("pack-refs", "--all");
    // A name in Latin-1, which no client can type.
    const latin = new Repo(join(repos, "team", "project"));
    const blob = latin.git("rev-parse", "HEAD:apple.txt");
    const latin1 = new Uint8Array([...new TextEncoder().encode(`100644 ${blob}\t`), 0x63, 0xe9, 0x0a]);
    const index = new Deno.Command("git", {
      args: ["update-index", "--index-info"],
      cwd: repo.dir,
      stdin: "piped",
    }).spawn();
    const indexWriter = index.stdin.getWriter();
    await indexWriter.write(latin1);
    await indexWriter.close();
    assert.equal((await index.status).code, 0);
    repo.git("commit", "-q", "-m", "Latin");

    const list = await server.payload("gb_list_repos");
    assert.deepEqual(names(list).includes("broken"), true);
    for (const name of ["broken", "headless", "many"]) {
      const row = list.repositories.find((one: Message) => one.name === name);
      assert.equal(row.hasCommits, true, JSON.stringify(row));
    }
    for (const name of odd) {
      const { content } = await server.payload("gb_read_file", { repo: "team/project", path: name });
      assert.equal(content, `1: oddity ${name.length}\n`);
    }
    assert.equal(
      (await server.payload("gb_read_file", { repo: "team/project", path: "c\ufffd" })).content,
      "1: a\n",
    );
    assert.equal((await server.payload("gb_find_files", { pathPattern: "c\ufffd" })).totalCount, 1);
    const found = await server.payload("gb_file_search", { query: "oddity" });
    assert.deepEqual(found.results.map(({ path }: Message) => path).sort(), [...odd].sort());
    assert.equal((await server.payload("gb_file_search", { query: '"fine here"' })).totalCount, 1);
    assert.equal((await server.payload("gb_file_search", { query: '"no head"' })).totalCount, 1);
    assert.equal((await server.payload("gb_file_search", { query: "manyrefs" })).totalCount, 1);
    assert.equal(
      (await server.payload("gb_file_search", { query: "manyrefs", branch: "b/9999" })).totalCount,
      1,
    );
    for (const repo of ["broken", "headless", "many"]) {
      await server.payload("gb_list_files", { repo });
      await server.payload("gb_commit_search", { query: "First", repos: [repo] });
    }
    assert.deepEqual(await server.payload("gb_commit_search", { query: "*", repos: ["empty"] }), {
      query: "type:commit AND (*)",
      totalCount: 0,
      limitHit: false,
      commits: [],
    });
    assert.match(
      await server.refusal("gb_read_file", { repo: "broken", path: "ok.txt", revision: "dangling" }),
      /resolve/,
    );
    await Deno.stat(join(dir, ".orchestragent-mcp.index.db"));
  }));

Deno.test("a blob of 2 GB (in the short run 200 MB) is found by its path and breaks nothing", () =>
  scene(async ({ server, repo }) => {
    // A hole on disk; git packs it in seconds because it is all zeros.
    const file = await Deno.create(join(repo.dir, "huge.img"));
    await file.truncate(rounds(200 * 1024 ** 2, 2 * 1024 ** 3) + 7);
    file.close();
    repo.git("-c", "core.compression=0", "-c", "core.bigFileThreshold=1m", "add", "huge.img");
    repo.git("commit", "-q", "-m", "Huge");
    await Deno.remove(join(repo.dir, "huge.img"));
    assert.equal((await server.payload("gb_find_files", { pathPattern: "huge.img" })).totalCount, 1);
    assert.equal((await server.payload("gb_file_search", { query: "Hello" })).totalCount, 2);
    const { results } = await server.payload("gb_file_search", { query: "file:huge*" });
    assert.deepEqual(results[0].chunks, []);
    const text = await server.refusal("gb_read_file", {
      repo: "team/project",
      path: "huge.img",
      startLine: 1,
      endLine: 2,
    });
    assert.match(text, /FILE_TOO_LARGE/);
    if (Deno.build.os !== "linux") return;
    const status = await Deno.readTextFile(`/proc/${server.child.pid}/status`);
    assert.ok(Number(/VmHWM:\s+(\d+)/.exec(status)![1]) < 180 * 1024, "the blob was read whole");
  }));

Deno.test("a git that is killed while it reads is started again", () =>
  scene(async ({ server }) => {
    const read = () => server.payload("gb_read_file", { repo: "team/project", path: "README.md" });
    const { content } = await read();
    for (let round = 0; round < 10; round++) {
      const running = Promise.all(Array.from({ length: 20 }, read));
      const found = await new Deno.Command("pkill", { args: ["-P", String(server.child.pid), "git"] })
        .output();
      assert.ok(found.code <= 1);
      for (const answer of await running) assert.equal(answer.content, content);
    }
  }));

Deno.test("-repos that is no directory is told by every tool", () =>
  withTemp(async (dir) => {
    await withServer({ cwd: dir, flags: ["-repos", join(dir, "gone"), "-db", dir] }, async (server) => {
      const calls: [string, Message][] = [
        ["gb_list_repos", {}],
        ["gb_list_files", { repo: "x" }],
        ["gb_find_files", { pathPattern: "x" }],
        ["gb_file_search", { query: "x" }],
        ["gb_commit_search", { query: "x", repos: ["x"] }],
      ];
      for (const [tool, args] of calls) assert.match(await server.refusal(tool, args), /NOT_FOUND.*gone/);
    });
  }));
