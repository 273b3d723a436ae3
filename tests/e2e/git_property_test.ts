// deno-lint-ignore-file no-sync-fn-in-async-fn -- a scene is set for one reader, who waits
/** Merges and picks of random histories give what git itself gives, and a kill loses nothing. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { rounds, seededRandom } from "../support/rounds.ts";
import { Server, withServer } from "../support/server.ts";

type Random = (below: number) => number;

/** Changes, adds, renames and deletes a few files, and commits. */
function edit(repo: Repo, pick: Random, name: string): void {
  const files = repo.git("ls-files").split("\n").filter(Boolean);
  for (let n = 0; n < 1 + pick(3); n++) {
    const file = files[pick(files.length)];
    const exists = repo.try("ls-files", "--error-unmatch", file).code === 0;
    const what = pick(10);
    if (what < 6 && exists) {
      const lines = Deno.readTextFileSync(join(repo.dir, file)).split("\n");
      lines[pick(lines.length)] = `${name} ${n}`;
      repo.write(file, lines.join("\n"));
    } else if (what < 7) repo.write(`${name}-${n}.txt`, `${name}\n`);
    else if (what < 8) repo.write(`shared-${pick(3)}.txt`, `${name}\n`);
    else if (what < 9 && exists && files.length > 2) repo.git("rm", "-q", "-f", "--", file);
    else if (exists) repo.try("mv", file, `moved-${pick(4)}-${file.replaceAll("/", "-")}`);
    repo.git("add", "--all");
  }
  repo.git("commit", "-q", "--allow-empty", "-m", name);
}

/** `main` and `topic`, each with a few commits since they parted. */
function history(dir: string, pick: Random): Repo {
  const text = Array.from({ length: 12 }, (_, n) => `line ${n}`).join("\n");
  const repo = makeRepo(dir, { "a.txt": text, "b.txt": `${text}\nb`, "d/c.txt": `${text}\nc` });
  repo.git("checkout", "-q", "-b", "topic");
  for (let n = 0; n < 1 + pick(3); n++) edit(repo, pick, `topic-${n}`);
  repo.git("checkout", "-q", "main");
  for (let n = 0; n < pick(3); n++) edit(repo, pick, `main-${n}`);
  return repo;
}

Deno.test("git_merge and git_cherry_pick give what git merge, rebase and cherry-pick give", () =>
  withTemp(async (dir) => {
    const random = seededRandom("merges");
    const pick = (below: number) => Math.floor(random() * below);
    await withServer({ cwd: dir, flags: ["-root", dir, "-db", dir] }, async (server) => {
      for (let round = 0; round < rounds(8, 80); round++) {
        const repo = history(join(dir, `r${round}`), pick);
        const twin = repo.at(join(dir, `twin${round}`));
        new Deno.Command("cp", { args: ["-r", repo.dir, twin.dir] }).outputSync();
        const tool = ["merge", "rebase", "cherry-pick"][round % 3];
        const before = repo.git("for-each-ref");
        let expected: { code: number };
        let actual;
        if (tool === "merge") {
          expected = twin.try("merge", "--no-ff", "--no-edit", "topic");
          actual = await server.payload("git_merge", {
            workspaceRoot: repo.dir,
            sources: ["topic"],
            strategy: "merge",
          });
        } else if (tool === "rebase") {
          expected = twin.try("rebase", "main", "topic");
          actual = await server.payload("git_merge", {
            workspaceRoot: repo.dir,
            sources: ["topic"],
            strategy: "rebase",
          });
        } else {
          const commits = twin.git("rev-list", "--reverse", "main..topic").split("\n");
          expected = { code: 0 };
          for (const commit of commits) {
            if (twin.try("cherry-pick", "--allow-empty", "--keep-redundant-commits", commit).code !== 0) {
              expected = { code: 1 };
              break;
            }
          }
          actual = await server.payload("git_cherry_pick", { workspaceRoot: repo.dir, sources: ["topic"] });
        }
        assert.equal(actual.ok, expected.code === 0, `round ${round} ${tool}: ${JSON.stringify(actual)}`);
        if (actual.ok) {
          assert.equal(
            repo.git("rev-parse", "main^{tree}"),
            twin.git("rev-parse", "HEAD^{tree}"),
            `round ${round} ${tool}`,
          );
        } else assert.equal(repo.git("for-each-ref"), before);
        assert.equal(repo.git("status", "--porcelain"), "");
        assert.equal(repo.git("rev-parse", "--abbrev-ref", "HEAD"), "main");
      }
    });
  }));

Deno.test("a server killed in the middle of commits and merges leaves a sound repository with all work in it", () =>
  withTemp(async (dir) => {
    const random = seededRandom("killed writers");
    const repo = makeRepo(join(dir, "repo"));
    const flags = ["-repo", repo.dir, "-db", dir];
    for (let round = 0; round < rounds(5, 50); round++) {
      const server = await Server.connect({ cwd: dir, flags });
      const names = Array.from({ length: 6 }, (_, n) => `r${round}-${n}.txt`);
      for (const name of names) repo.write(name, `${name}\n`);
      repo.write("staged.txt", `staged ${round}\n`);
      repo.git("add", "staged.txt");
      const call = server.call("batch_commit", {
        commits: names.map((name) => ({ message: name, files: [name] })),
      }).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, random() * 120));
      await server.kill();
      await call;
      // A git that outlives the server ends by itself.
      await new Promise((resolve) => setTimeout(resolve, 150));
      assert.equal(repo.try("rev-parse", "-q", "--verify", "MERGE_HEAD").code, 1);
      const lock = join(repo.dir, ".git", "index.lock");
      await Deno.remove(lock).catch(() => {});
      repo.git("fsck", "--no-dangling");
      for (const name of names) assert.equal(Deno.readTextFileSync(join(repo.dir, name)), `${name}\n`);
      const made = repo.git("log", "--format=%s").split("\n").filter((subject) => names.includes(subject))
        .reverse();
      assert.deepEqual(made, names.slice(0, made.length), "what was made is made in order");
      assert.equal(Deno.readTextFileSync(join(repo.dir, "staged.txt")), `staged ${round}\n`);
      // The next server goes on where this one was stopped.
      await withServer({ cwd: dir, flags }, async (next) => {
        const rest = [...names.slice(made.length), "staged.txt"];
        const { ok, results } = await next.payload("batch_commit", {
          commits: [{ message: `rest ${round}`, files: rest }],
        });
        assert.equal(ok, true, JSON.stringify(results));
      });
      assert.equal(repo.git("status", "--porcelain"), "", `round ${round}`);
    }
  }));
