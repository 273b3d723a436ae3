/** gb_file_search and gb_commit_search over stdio: every query form, and the same answers as git grep. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "../support/paths.ts";
import { makeRepo, Repo, withTemp } from "../support/repo.ts";
import { rounds, seededRandom } from "../support/rounds.ts";
import { LEGACY, type Message, MODERN, Server, withServer } from "../support/server.ts";

const FILES: Record<string, string> = {
  "src/Server.java": "package app;\n\npublic class HttpServer extends BaseServer {\n" +
    '  void start() {\n    System.out.println("starting");\n    throw new StartException();\n  }\n}\n',
  "src/auth.py": "import os\n\n\nasync def authenticate(user_name):\n    token = getAuthToken(user_name)\n" +
    "    # this is the end, and that is it\n    return token\n",
  "src/deep/er/util.py": "def helper():\n    pass  # roam about\n\n\nvalue = helper()\nFOO_BAR_BAZ = 1\n",
  "docs/guide.md":
    '# Guide\n\nThe quick brown fox (really) jumps.\nWrite a:b, [x] and {y} and "quoted" text.\n' +
    "A null pointer is a pointer.\n",
  "include/vec.hpp":
    "#pragma once\ntemplate <class T> struct Vec {};\nstd::vector<int> all;\nstd::list<int> most;\n",
  "Dockerfile": "FROM scratch\nCOPY . /app\n",
  "data.bin": "needle\0in a binary\n",
};

async function scene(work: (server: Server, repo: Repo, dir: string) => Promise<void>): Promise<void> {
  await withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repos", "team", "project"), FILES);
    await withServer(
      { cwd: dir, flags: ["-repos", join(dir, "repos"), "-db", dir] },
      (server) => work(server, repo, dir),
    );
  });
}

const pathsOf = (payload: Message): string[] => payload.results.map(({ path }: Message) => path).sort();

/** Each query form with the files it finds. */
const FORMS: [query: string, paths: string[]][] = [
  ["fox", ["docs/guide.md"]],
  ["FOX", ["docs/guide.md"]],
  ["println", ["src/Server.java"]],
  ["uthToke", ["src/auth.py"]],
  ["bar", ["src/deep/er/util.py"]],
  ["fox helper", ["docs/guide.md", "src/deep/er/util.py"]],
  ["fox OR helper", ["docs/guide.md", "src/deep/er/util.py"]],
  ["fox || helper", ["docs/guide.md", "src/deep/er/util.py"]],
  ["std AND list", ["include/vec.hpp"]],
  ["std && list", ["include/vec.hpp"]],
  ["std AND fox", []],
  ["+helper -fox", ["src/deep/er/util.py"]],
  ["class AND NOT std", ["src/Server.java"]],
  ["class AND !std", ["src/Server.java"]],
  ["fox AND jumps OR helper", ["docs/guide.md"]],
  ["(fox OR helper) AND pass", ["src/deep/er/util.py"]],
  ['"async def"', ["src/auth.py"]],
  ['"def async"', []],
  ['"pass roam"', []],
  ['"pass  # roam"', ["src/deep/er/util.py"]],
  ['"quick fox"~1', ["docs/guide.md"]],
  ['"quick fox"~0', []],
  ['"fox quick"~1', []],
  ['"fox quick"~3', ["docs/guide.md"]],
  ["auth*", ["src/auth.py"]],
  ["oken*", []],
  ["*oken*", ["src/auth.py"]],
  ["token*", ["src/auth.py"]],
  ["f?x", ["docs/guide.md"]],
  ["f?x AND b?own", ["docs/guide.md"]],
  ["*Exception", ["src/Server.java"]],
  ["*xceptio", []],
  ["Start*on", ["src/Server.java"]],
  ["foo_*_baz", ["src/deep/er/util.py"]],
  ["roma~", ["Dockerfile", "src/deep/er/util.py"]],
  ["raom~1", ["src/deep/er/util.py"]],
  ["quikc~1", ["docs/guide.md"]],
  ["path:*.java", ["src/Server.java"]],
  ["path:src", ["src/Server.java", "src/auth.py", "src/deep/er/util.py"]],
  ["path:src/*.py", ["src/auth.py", "src/deep/er/util.py"]],
  ["file:util.py", ["src/deep/er/util.py"]],
  ["file:src", []],
  ["lang:python", ["src/auth.py", "src/deep/er/util.py"]],
  ["lang:py AND async", ["src/auth.py"]],
  ["lang:c++", ["include/vec.hpp"]],
  ["repo:project AND fox", ["docs/guide.md"]],
  ["repo:other AND fox", []],
  ["content:fox", ["docs/guide.md"]],
  ["content:(fox helper)", ["docs/guide.md", "src/deep/er/util.py"]],
  ["type:blob AND fox", ["docs/guide.md"]],
  ["type:commit AND fox", []],
  ["branch:main AND fox", ["docs/guide.md"]],
  ['branch:"refs/heads/main" AND fox', ["docs/guide.md"]],
  ["branch:mai AND fox", []],
  ["fox^2 helper^0.5", ["docs/guide.md", "src/deep/er/util.py"]],
  ["\\(really\\)", ["docs/guide.md"]],
  ["a\\:b", ["docs/guide.md"]],
  ["\\[x\\]", ["docs/guide.md"]],
  ['"\\"quoted\\""', ["docs/guide.md"]],
  ["std::vector", ["include/vec.hpp"]],
  ["/hel+per\\(\\)/", ["src/deep/er/util.py"]],
  ["/^std::[lv]/", ["include/vec.hpp"]],
  ["/^fox/", []],
  ["/(?-i)Httpserver/", []],
  ["path:/u.*\\.py$/", ["src/auth.py", "src/deep/er/util.py"]],
  // Words that search engines like to drop.
  ["this", ["src/auth.py"]],
  ["it AND that", ["src/auth.py"]],
  ["needle", []],
  ["file:data.bin", ["data.bin"]],
  ["zzzzqqq", []],
];

for (const era of [LEGACY, MODERN] as const) {
  Deno.test(`gb_file_search knows every form of a query (${era})`, () =>
    withTemp(async (dir) => {
      makeRepo(join(dir, "project"), FILES);
      await withServer({ cwd: dir, era, flags: ["-repos", dir, "-db", dir] }, async (server) => {
        for (const [query, paths] of FORMS) {
          const payload = await server.payload("gb_file_search", { query });
          assert.deepEqual(pathsOf(payload), [...paths].sort(), query);
          assert.equal(payload.totalCount, paths.length, query);
          assert.equal(payload.limitHit, false, query);
        }
      });
    }));
}

Deno.test("gb_file_search: a query with only negatives finds everything else", () =>
  scene(async (server) => {
    const { results } = await server.payload("gb_file_search", { query: "NOT src", pathPattern: "*.py" });
    assert.deepEqual(results.map(({ path }: Message) => path), ["src/auth.py", "src/deep/er/util.py"]);
    const payload = await server.payload("gb_file_search", { query: "!def !FROM" });
    assert.deepEqual(pathsOf(payload), ["data.bin", "docs/guide.md", "include/vec.hpp", "src/Server.java"]);
  }));

Deno.test("gb_file_search answers as the contract shows, with true line numbers", () =>
  scene(async (server, repo) => {
    const result = await server.call("gb_file_search", { query: "helper", contextLines: 2 });
    assert.deepEqual(result.structuredContent, {
      query: "type:blob AND (helper)",
      totalCount: 1,
      limitHit: false,
      results: [{
        repository: "team/project",
        path: "src/deep/er/util.py",
        branch: "refs/heads/main",
        commitId: repo.git("rev-parse", "HEAD"),
        chunks: [
          { startLine: 1, endLine: 2, content: "1: def helper():\n2:     pass  # roam about\n" },
          { startLine: 4, endLine: 6, content: "4: \n5: value = helper()\n6: FOO_BAR_BAZ = 1\n" },
        ],
      }],
    });
    assert.match(
      result.content[0].text,
      /1 of 1 files for type:blob AND \(helper\)[^]*5: value = helper\(\)/,
    );
  }));

Deno.test("gb_file_search merges chunks that touch, and bounds context", () =>
  scene(async (server, repo) => {
    const lines = Array.from({ length: 1000 }, (_, n) =>
      `line ${n + 1}${[300, 305, 600].includes(n + 1) ? " target" : ""}`);
    repo.commit("Long", { "long.txt": `${lines.join("\n")}\n` });
    const chunks = async (contextLines?: number) =>
      (await server.payload("gb_file_search", { query: "target", contextLines })).results[0].chunks;
    const ranges = (found: Message[]) =>
      found.map(({ startLine, endLine }) => [startLine, endLine]);
    assert.deepEqual(ranges(await chunks()), [[295, 310], [595, 605]]);
    assert.deepEqual(ranges(await chunks(2)), [[299, 301], [304, 306], [599, 601]]);
    assert.deepEqual(ranges(await chunks(1)), [[300, 300], [305, 305], [600, 600]]);
    assert.deepEqual(ranges(await chunks(0)), [[295, 310], [595, 605]]);
    assert.deepEqual(ranges(await chunks(5000)), [[200, 405], [500, 700]]);
  }));

Deno.test("gb_file_search: one window at defaults is at most 15 lines", () =>
  scene(async (server, repo) => {
    repo.commit("Long", { "long.txt": `${"x\n".repeat(100)}target\n${"y\n".repeat(100)}` });
    const size = async (contextLines?: number) => {
      const [{ chunks: [{ startLine, endLine }] }] =
        (await server.payload("gb_file_search", { query: "target", contextLines })).results;
      return endLine - startLine + 1;
    };
    assert.equal(await size(), 11);
    assert.ok(await size(50) >= 10);
    assert.ok(await size(500) <= 210);
  }));

Deno.test("gb_file_search filters by path, repository and branch", () =>
  scene(async (server, repo, dir) => {
    repo.git("checkout", "-q", "-b", "feature/x");
    repo.commit("Side", { "src/only_side.ts": "const sideways = 1;\n" });
    repo.git("checkout", "-q", "main");
    makeRepo(join(dir, "repos", "other.git"), { "src/fox.ts": "// fox\n" });
    const find = async (args: Message) => {
      const { results, totalCount } = await server.payload("gb_file_search", args);
      assert.equal(results.length, totalCount);
      return results.map(({ repository, path }: Message) => `${repository} ${path}`).sort();
    };
    assert.deepEqual(await find({ query: "fox" }), ["other.git src/fox.ts", "team/project docs/guide.md"]);
    assert.deepEqual(await find({ query: "fox", repos: ["other"] }), ["other.git src/fox.ts"]);
    assert.deepEqual(await find({ query: "fox", pathPattern: "*.md" }), ["team/project docs/guide.md"]);
    assert.deepEqual(await find({ query: "fox", pathPattern: "" }), await find({ query: "fox" }));
    assert.deepEqual(await find({ query: "*", pathPattern: "**/*ee*/**" }), [
      "team/project src/deep/er/util.py",
    ]);
    assert.deepEqual(await find({ query: "*", pathPattern: "*ut*i*" }), ["team/project src/deep/er/util.py"]);
    assert.deepEqual(await find({ query: "*", pathPattern: "*.PY" }), []);
    for (const pathPattern of ["src/(x)/*.ts", "a+b", "[", "]", "^x$", "*.{md}", "$", "\\"]) {
      await find({ query: "fox", pathPattern });
    }
    assert.deepEqual(await find({ query: "sideways" }), []);
    assert.deepEqual(await find({ query: "sideways", branch: "refs/heads/feature/x" }), [
      "team/project src/only_side.ts",
    ]);
    assert.deepEqual(await find({ query: "sideways", branch: "feature/x" }), [
      "team/project src/only_side.ts",
    ]);
    assert.deepEqual(await find({ query: "sideways AND branch:feature/*" }), [
      "team/project src/only_side.ts",
    ]);
    const listed = await server.payload("gb_file_search", { query: "*", repos: ["other"] });
    assert.deepEqual(listed.results.map(({ chunks }: Message) => chunks), [[]]);
    assert.match(await server.refusal("gb_file_search", { query: "*" }), /at least one filter/);
    assert.match(
      await server.refusal("gb_file_search", { query: "fox", branch: "nope" }),
      /INVALID_REQUEST.*nope/,
    );
    assert.match(
      await server.refusal("gb_file_search", { query: "fox", repos: ["projct"] }),
      /Did you mean: 'team\/project'/,
    );
  }));

Deno.test("gb_file_search: paging walks through every file once, in an order that stays", () =>
  scene(async (server, repo) => {
    const files = Array.from(
      { length: 137 },
      (_, n) => [`many/f${n}.txt`, `${"word ".repeat(n % 7)}marker\n`],
    );
    repo.commit("Many", Object.fromEntries(files));
    const seen: string[] = [];
    for (let offset = 0;; offset += 30) {
      const page = await server.payload("gb_file_search", { query: "marker", count: 30, offset });
      assert.equal(page.totalCount, 137);
      assert.equal(page.limitHit, offset + 30 < 137);
      if (page.results.length === 0) break;
      seen.push(...page.results.map(({ path }: Message) => path));
    }
    assert.equal(new Set(seen).size, 137);
    assert.equal(seen.length, 137);
    const over = await server.payload("gb_file_search", { query: "marker", count: 5000 });
    assert.equal(over.results.length, 100);
    const none = await server.payload("gb_file_search", { query: "marker", count: -1, offset: -5 });
    assert.ok(none.results.length > 0 && none.results.length <= 25);
  }));

Deno.test("gb_file_search puts definitions and names before mentions", () =>
  scene(async (server, repo) => {
    repo.commit("Ranks", {
      "a_mentions.ts": "// Widget Widget Widget Widget\n".repeat(20),
      "m_define.ts": `${"// filler\n".repeat(50)}export class Widget {\n}\n`,
      "z/widget.ts": "import { Widget } from './m_define.ts';\n",
    });
    const { results } = await server.payload("gb_file_search", { query: "Widget" });
    assert.deepEqual(results.map(({ path }: Message) => path), [
      "m_define.ts",
      "z/widget.ts",
      "a_mentions.ts",
    ]);
  }));

Deno.test("gb_file_search says where a query cannot be understood", () =>
  scene(async (server) => {
    for (
      const [query, position, expected] of [
        ["(fox", 5, "'\\)'"],
        ["fox)", 4, "the end"],
        ['"fox', 1, '\\\\"'],
        ["fox AND", 8, "a word"],
        ["AND fox", 4, "a word"],
        ["fox AND AND x", 9, "a word"],
        ["nofield:fox", 1, "one of path"],
        ["path:", 6, "a word"],
        ["[fox", 1, "TO"],
        ["fox~3", 6, "0 to 2"],
        ["fox^", 5, "a boost"],
        ["fox\\", 5, "a character"],
        ["()", 2, "a word"],
        ["   ", 4, "a word"],
        ["/(/", 0, "RE2"],
        ["/(?=x)/", 0, "RE2"],
        ["date:2024", 0, "gb_commit_search"],
        ["author:joe", 0, "gb_commit_search"],
      ] as const
    ) {
      const text = await server.refusal("gb_file_search", { query });
      const { error } = JSON.parse(text);
      assert.equal(error.code, "INVALID_REQUEST", query);
      if (position > 0) assert.equal(error.position, position, `${query}: ${error.message}`);
      assert.match(text, new RegExp(expected), query);
    }
  }));

Deno.test("answers are never stale: commits, branches, new and removed repositories", () =>
  scene(async (server, repo, dir) => {
    const count = async (query: string, more: Message = {}) =>
      (await server.payload("gb_file_search", { query, ...more })).totalCount;
    const commits = async (query: string) =>
      (await server.payload("gb_commit_search", { query, repos: ["team/project"] })).totalCount;
    for (let round = 0; round < 10; round++) {
      assert.equal(await count(`fresh${round}x`), 0);
      repo.commit(`Message${round}x`, { "fresh.txt": `fresh${round}x\n` });
      assert.equal(await count(`fresh${round}x`), 1);
      assert.equal(await commits(`Message${round}x`), 1);
      if (round > 0) assert.equal(await count(`fresh${round - 1}x`), 0);
    }
    repo.git("reset", "-q", "--hard", "HEAD~3");
    assert.equal(await count("fresh9x"), 0);
    assert.equal(await count("fresh6x"), 1);
    assert.equal(await commits("Message9x"), 0);
    repo.git("pack-refs", "--all");
    assert.equal(await count("fresh6x"), 1);
    repo.git("checkout", "-q", "-b", "other", "HEAD~1");
    assert.equal(await count("fresh5x"), 1);
    const second = makeRepo(join(dir, "repos", "second"), { "s.txt": "secondary\n" });
    assert.equal(await count("secondary"), 1);
    await Deno.remove(second.dir, { recursive: true });
    assert.equal(await count("secondary"), 0);
  }));

Deno.test("gb_commit_search answers as the contract shows, with every field of commits", () =>
  scene(async (server, repo, dir) => {
    const commit = (message: string, name: string, email: string, date: string) => {
      repo.write("n.txt", message);
      repo.git("add", ".");
      const who = [`user.name=${name}`, `user.email=${email}`].flatMap((setting) => ["-c", setting]);
      const env = {
        GIT_AUTHOR_NAME: name,
        GIT_AUTHOR_EMAIL: email,
        GIT_COMMITTER_DATE: date,
        GIT_AUTHOR_DATE: date,
      };
      const { code, stderr } = new Deno.Command("git", {
        args: [...who, "commit", "-q", "-m", message],
        cwd: repo.dir,
        env,
      }).outputSync();
      assert.equal(code, 0, new TextDecoder().decode(stderr));
      return repo.git("rev-parse", "HEAD");
    };
    const one = commit(
      "Fix the login bug\n\nTokens ran out early.",
      "John Doe",
      "john@x.org",
      "2024-03-05T10:20:00Z",
    );
    const two = commit("Add authentication", "Mary Johnson", "mary@x.org", "2024-12-31T23:59:00Z");
    const three = commit("Refactor", "john.doe", "jd@x.org", "2025-02-01T00:00:00Z");
    repo.git("tag", "-a", "v1.0", "-m", "One", one);
    repo.git("tag", "v2.0", two);
    const search = (query: string, more: Message = {}) =>
      server.payload("gb_commit_search", { query, repos: ["team/project"], ...more });
    const found = async (query: string, more: Message = {}) => {
      const { commits, totalCount } = await search(query, more);
      assert.equal(totalCount, commits.length);
      return new Set(commits.map(({ commit }: Message) => commit));
    };
    const login = await search("login");
    assert.deepEqual(login, {
      query: "type:commit AND (login)",
      totalCount: 1,
      limitHit: false,
      commits: [{
        repository: "team/project",
        commit: one,
        author: "John Doe",
        committer: login.commits[0].committer,
        date: "2024-03-05T10:20:00Z",
        title: "Fix the login bug",
        message: "Fix the login bug\n\nTokens ran out early.",
        branch: "refs/heads/main",
      }],
    });
    const cases: [string, string[]][] = [
      ["bug fix", [one]],
      ["tokens", [one]],
      ["summary:tokens", []],
      ["summary:login", [one]],
      ["auth OR login OR authentication", [one, two]],
      ["author:john*", [one, two, three]],
      ['author:"John Doe"', [one]],
      ["author:mary@x.org", [two]],
      ["author:nobody", []],
      ["committer:zzz", []],
      [`commit:${one.slice(0, 6)}*`, [one]],
      [`commit:${one.slice(0, 10)}`, [one]],
      [`commit:${two}`, [two]],
      ["tag:v1*", [one]],
      ["tag:v2.0", [two]],
      ["tag:v?.0", [one, two]],
      ["type:commit AND login", [one]],
      ["type:blob AND login", []],
      ["date:[20240101 TO 20241231]", [one, two]],
      ["date:[20240101 TO 20241231}", [one]],
      ["date:[2024-03 TO 2024-03]", [one]],
      ["date:{20241231 TO *]", [three, repo.git("rev-list", "--max-parents=0", "HEAD")]],
      ["date:202403*", [one]],
      ["date:20250201", [three]],
      ["branch:main AND login", [one]],
      ["/log.n b/", [one]],
      ["+login -tokens", []],
      ["lgoin~1", [one]],
      ["author: mary AND type:commit", [two]],
      ["path:x", []],
    ];
    for (const [query, commits] of cases) {
      if (query === "path:x") {
        assert.match(
          await server.refusal("gb_commit_search", { query, repos: ["team/project"] }),
          /gb_file_search/,
        );
        continue;
      }
      assert.deepEqual(await found(query), new Set(commits), query);
    }
    assert.deepEqual(await found("*", { authors: ["john.doe"] }), new Set([three]));
    assert.deepEqual(await found("*", { authors: ["John Doe", "Mary, or who"] }), new Set([one]));
    assert.deepEqual(await found("*", { authors: ["John Doe", "Mary Johnson"] }), new Set([one, two]));
    const all = await search("*");
    const times = all.commits.map(({ date }: Message) => date);
    assert.deepEqual(times, times.toSorted().toReversed());
    assert.match(
      (await search("x", { authors: ['a"b'], branch: "main" })).query,
      /author:"a\\"b".*branch:"main"/,
    );
    assert.match(
      await server.refusal("gb_commit_search", { query: "date:yesterday", repos: ["team/project"] }),
      /20240131/,
    );
    assert.match(await server.refusal("gb_commit_search", { query: "x", repos: [] }), /INVALID_REQUEST/);
    assert.match(await server.refusal("gb_commit_search", { query: "x" }), /INVALID_REQUEST/);
    repo.git("checkout", "-q", "-b", "side");
    const four = commit("Sideways", "John Doe", "john@x.org", "2025-03-01T00:00:00Z");
    repo.git("checkout", "-q", "main");
    assert.deepEqual(await found("Sideways"), new Set());
    assert.deepEqual(await found("Sideways", { branch: "refs/heads/side" }), new Set([four]));
    assert.deepEqual(await found("login", { branch: "side" }), new Set([one]));
    makeRepo(join(dir, "repos", "second")).commit("Another login");
    const { commits } = await search("login", { repos: ["team/project", "second"] });
    assert.deepEqual(
      new Set(commits.map(({ repository }: Message) => repository)),
      new Set(["team/project", "second"]),
    );
  }));

/** Words, phrases, parts of words and expressions that stand in a real tree. */
function corpus(repo: Repo, random: () => number, count: number): { query: string; grep: string[] }[] {
  const files = repo.git("ls-files").split("\n");
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)];
  const found: { query: string; grep: string[] }[] = [];
  while (found.length < count) {
    const lines = Deno.readTextFileSync(join(repo.dir, pick(files))).split("\n");
    const line = pick(lines);
    // A line may break a phrase elsewhere, which grep does not see: only what stands on one line is compared.
    const words = line.match(/[A-Za-z0-9_]{2,}/g) ?? [];
    if (words.length === 0) continue;
    const kind = found.length % 4;
    if (kind === 0) found.push({ query: `"${pick(words)}"`, grep: ["-F"] });
    else if (kind === 1) {
      const [phrase] =
        /[A-Za-z0-9_]+[^A-Za-z0-9_\s"\\]{1,3}[A-Za-z0-9_]+/.exec(line.slice(Math.floor(random() * 10))) ?? [];
      if (phrase) found.push({ query: `"${phrase}"`, grep: ["-F"] });
    } else if (kind === 2) {
      const word = pick(words);
      const start = Math.floor(random() * (word.length - 1));
      found.push({ query: `"${word.slice(start, start + 2 + Math.floor(random() * 5))}"`, grep: ["-F"] });
    } else {
      const word = pick(words);
      found.push({ query: `/${word.slice(0, 2)}[a-z_]*${word.at(-1)}\\b/`, grep: ["-P"] });
    }
  }
  return found;
}

Deno.test("the files found are those that git grep finds, on the default and on a side branch", () =>
  withTemp(async (dir) => {
    const random = seededRandom("corpus");
    const repo = makeRepo(join(dir, "repos", "real"), {});
    // The program's own source and tests are a real tree.
    const { stdout } = await new Deno.Command("sh", {
      args: ["-c", `cd '${ROOT}' && cp -r src tests docs scripts README.md '${repo.dir}/'`],
    }).output();
    assert.equal(stdout.length, 0);
    repo.commit("Real");
    repo.git("checkout", "-q", "-b", "side");
    repo.git("rm", "-q", "-r", "docs", "src/git");
    repo.commit("Less", { "new.ts": "export const sideOnly = parseQuery;\n" });
    repo.git("checkout", "-q", "main");
    await withServer({ cwd: dir, flags: ["-repos", join(dir, "repos"), "-db", dir] }, async (server) => {
      for (const { query, grep } of corpus(repo, random, rounds(60, 200))) {
        const pattern = query.slice(1, -1);
        for (const branch of ["main", "side"]) {
          const { out } = repo.try("grep", "-l", "-i", "-I", ...grep, "-e", pattern, branch);
          const expected = out.split("\n").filter(Boolean).map((line) => line.slice(branch.length + 1))
            .sort();
          const paths: string[] = [];
          for (let offset = 0;; offset += 100) {
            const page = await server.payload("gb_file_search", {
              query,
              branch,
              count: 100,
              offset,
              contextLines: 1,
            });
            paths.push(...pathsOf(page));
            if (paths.length >= page.totalCount || page.results.length === 0) break;
          }
          assert.deepEqual(paths.sort(), expected, `${query} on ${branch}`);
        }
      }
    });
  }));
