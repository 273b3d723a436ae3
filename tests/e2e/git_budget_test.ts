/** The size of answers at their defaults, and that what is left out can be had. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { type Message, type Server, withServer } from "../support/server.ts";

const LIMIT = 10_000;

/** Calls and checks that neither half of the answer is too long; returns the payload. */
async function bounded(server: Server, tool: string, args: Message = {}, limit = LIMIT): Promise<Message> {
  for (const format of ["markdown", "json"]) {
    const result = await server.call(tool, { ...args, format });
    assert.equal(result.isError, undefined, result.content[0].text);
    const [text, payload] = [result.content[0].text.length, JSON.stringify(result.structuredContent).length];
    assert.ok(text <= limit && payload <= limit, `${tool} ${format}: text ${text}, payload ${payload}`);
    if (format === "json") return result.structuredContent;
  }
  throw new Error("unreachable");
}

const manyFiles = (count: number, text: string) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`src/module-${n % 20}/component-${n}/file-${n}.ts`, text]),
  );

Deno.test("a change of 1,000 files stays within the budget, and the rest can be had", () =>
  withTemp(async (dir) => {
    const before = "export const value = 1;\n".repeat(60);
    const repo = makeRepo(join(dir, "repo"), manyFiles(1000, before));
    for (const [file, text] of Object.entries(manyFiles(1000, before.replaceAll("1", "2")))) {
      repo.write(file, text);
    }
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (server) => {
      const status = await bounded(server, "git_status");
      const [row] = status.groups[0].repos;
      assert.equal(row.modified_files.length + row.omittedFiles, 1000);
      assert.match(status.more, /maxFiles/);
      const all = await server.payload("git_status", { maxFiles: 10_000 });
      assert.equal(all.groups[0].repos[0].modified_files.length, 1000);

      const inventory = await bounded(server, "git_inventory");
      assert.match(inventory.inventories[0].entries[0].branchStatus, /… \d+ more$/);

      const diff = await bounded(server, "git_diff_summary");
      assert.deepEqual([diff.totalFiles, diff.files.length + diff.truncatedFiles], [1000, 1000]);
      assert.match(diff.more, /maxFiles=500/);
      const [, path] = /fileFilter='([^']+)' with maxLinesPerFile=2000/.exec(diff.more)!;
      const whole = await server.payload("git_diff_summary", { fileFilter: path, maxLinesPerFile: 2000 });
      assert.deepEqual([whole.files.length, whole.files[0].truncated], [1, false]);
      assert.equal(
        (await server.payload("git_diff_summary", { maxFiles: 500, maxLinesPerFile: 1 })).files.length,
        500,
      );
      const dry = await bounded(server, "batch_commit", {
        dryRun: true,
        commits: [{ message: "all", files: Object.keys(manyFiles(1000, "")) }],
      });
      assert.equal(dry.results[0].files.length + dry.results[0].omittedFiles, 1000);
    });
  }));

Deno.test("git_log of 50 commits stays under 12,000 characters, and a busy history is paged", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    for (let n = 1; n <= 60; n++) repo.commit(`Commit ${n}`, { "a.txt": `${n}\n` });
    const busy = makeRepo(join(dir, "busy"));
    for (let n = 1; n <= 60; n++) {
      busy.git(
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        `feat(module-${n}): ${"describe the change at length ".repeat(4)}`,
      );
    }
    await withServer(
      { cwd: dir, flags: ["-root", repo.dir, "-root", busy.dir, "-db", dir] },
      async (server) => {
        const { groups } = await bounded(server, "git_log", {}, 12_000);
        assert.deepEqual([groups[0].commits.length, groups[0].omittedCount], [50, 11]);
        const long = await bounded(server, "git_log", { workspaceRoot: busy.dir }, 12_000);
        const [{ commits, omittedCount }] = long.groups;
        assert.ok(commits.length >= 20 && commits.length < 50);
        assert.equal(commits.length + omittedCount, 61);
        const next = await server.payload("git_log", {
          workspaceRoot: busy.dir,
          skip: commits.length,
          maxCommits: 1,
        });
        assert.equal(next.groups[0].commits[0].shaFull, busy.git("rev-parse", `HEAD~${commits.length}`));
        const asked = await server.payload("git_log", { workspaceRoot: busy.dir, maxCommits: 60 });
        assert.equal(asked.groups[0].commits.length, 60);
        const both = await bounded(server, "git_log", { allWorkspaceRoots: true }, 12_000);
        assert.deepEqual(
          both.groups.map(({ commits, omittedCount }: Message) => commits.length + omittedCount),
          [61, 61],
        );
      },
    );
  }));

Deno.test("200 repositories stay within the budget, dirty ones first, and report progress", () =>
  withTemp(async (dir) => {
    const template = makeRepo(join(dir, "template"));
    const host = makeRepo(join(dir, "host"));
    const names = Array.from({ length: 200 }, (_, n) => `repository-${String(n).padStart(3, "0")}`);
    const copy = (name: string): Repo => {
      const { success } = new Deno.Command("cp", { args: ["-r", template.dir, join(host.dir, name)] })
        .outputSync();
      assert.ok(success);
      return template.at(join(host.dir, name));
    };
    const repos = names.map(copy);
    for (const n of [3, 150, 199]) repos[n].write("dirty.txt", "d\n");
    const roots = repos.map((repo) => repo.dir);
    await withServer({ cwd: dir, roots: [host.dir, ...roots] }, async (server) => {
      const seen: number[] = [];
      server.onNotification((message) => {
        if (message.method === "notifications/progress") seen.push(message.params.progress);
      });
      const status = await server.call("git_status", { allWorkspaceRoots: true }, {
        _meta: { progressToken: "p" },
      });
      assert.ok(seen.length > 0 && seen.every((value, at) => at === 0 || value > seen[at - 1]), String(seen));
      assert.equal(seen.at(-1), 201);
      assert.ok(JSON.stringify(status.structuredContent).length <= LIMIT);
      const { groups, omittedRepos, omittedDirtyRepos } = status.structuredContent;
      assert.deepEqual(groups.slice(1).map(({ mcpRoot }: Message) => mcpRoot), [
        roots[3],
        roots[150],
        roots[199],
      ]);
      assert.deepEqual([groups.length + omittedRepos, omittedDirtyRepos], [201, undefined]);
      assert.match(status.structuredContent.more, /workspaceRoot/);

      for (const tool of ["git_status", "git_inventory", "list_presets", "git_log"]) {
        await bounded(server, tool, { allWorkspaceRoots: true }, tool === "git_log" ? 12_000 : LIMIT);
      }
      const inventory = (await bounded(server, "git_inventory", { nestedRoots: names })).inventories[0];
      assert.deepEqual(
        [inventory.entries.length + (inventory.omittedEntries ?? 0), inventory.nestedRootsOmittedCount],
        [64, 136],
      );
      const pairs = names.map((name) => ({ left: ".", right: name }));
      const parity = await bounded(server, "git_parity", { pairs });
      const [{ status: verdict, omittedMatches = 0, omittedPairs = 0, pairs: shown }] = parity.parity;
      assert.deepEqual([verdict, shown.length + omittedMatches + omittedPairs], ["OK", 200]);
      const everywhere = await bounded(server, "git_parity", {
        pairs: [{ left: ".", right: "." }, { left: ".", right: "missing" }],
        allWorkspaceRoots: true,
      });
      assert.equal(everywhere.parity.length + everywhere.omittedRoots, 201);
    });
  }));

Deno.test("a merge and a pick with 300 conflicting files stay within the budget", () =>
  withTemp(async (dir) => {
    const text = (word: string) => `${word} line of some length that is not short at all\n`.repeat(30);
    const repo = makeRepo(join(dir, "repo"), manyFiles(300, text("base")));
    repo.git("checkout", "--quiet", "-b", "theirs");
    repo.commit("Theirs", manyFiles(300, text("theirs")));
    repo.git("checkout", "--quiet", "main");
    repo.commit("Mine", manyFiles(300, text("mine")));
    await withServer({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (server) => {
      const { results: [row] } = await bounded(server, "git_merge", { sources: ["theirs"] });
      assert.equal(row.conflictPaths.length + row.conflictPathsOmitted, 300);
      assert.ok(row.conflicts[0].hunks[0].ours.includes("more lines"));
      const { conflict } = await bounded(server, "git_cherry_pick", { sources: ["theirs"] });
      assert.equal(conflict.paths.length + conflict.pathsOmitted, 300);
    });
  }));
