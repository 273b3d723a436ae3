/** Ahead, behind and merge base from one walk agree with git, on random histories. */
import assert from "node:assert/strict";
import { GitRunner } from "../../src/git/runner.ts";
import { standings } from "../../src/git/graph.ts";
import { Repositories } from "../../src/git/repository.ts";
import { isContained } from "../../src/git/containment.ts";
import { makeRepo, testEnv, withTemp } from "../support/repo.ts";
import { rounds, seededRandom } from "../support/rounds.ts";

Deno.test("standings() agrees with rev-list and merge-base on random histories", () =>
  withTemp(async (dir) => {
    const random = seededRandom("graph");
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)];
    for (let round = 0; round < rounds(4, 40); round++) {
      const repo = makeRepo(`${dir}/r${round}`);
      const tree = repo.git("rev-parse", "HEAD^{tree}");
      const commits = [repo.git("rev-parse", "HEAD")];
      // A second root makes unrelated histories.
      if (round % 3 === 0) commits.push(repo.git("commit-tree", tree, "-m", "root 2"));
      for (let n = 0; n < 25; n++) {
        const parents = new Set([pick(commits), ...(random() < 0.3 ? [pick(commits)] : [])]);
        commits.push(
          repo.git("commit-tree", tree, "-m", `c${n}`, ...[...parents].flatMap((oid) => ["-p", oid])),
        );
      }
      const git = new GitRunner(testEnv());
      const repository = await new Repositories(git, false).open(repo.dir);
      const base = pick(commits);
      const tips = Array.from({ length: 6 }, () => pick(commits));
      const stands = await standings(git, repository, base, tips);
      for (const tip of tips) {
        const stand = stands.get(tip)!;
        const [behind, ahead] = repo.git("rev-list", "--left-right", "--count", `${base}...${tip}`).split(
          "\t",
        ).map(Number);
        assert.deepEqual([stand.ahead, stand.behind], [ahead, behind], `${base}...${tip}`);
        const bases = repo.try("merge-base", "--all", base, tip).out.trim().split("\n").filter(Boolean);
        if (bases.length === 0) assert.equal(stand.mergeBase, null);
        else assert.ok(bases.includes(stand.mergeBase!), `${stand.mergeBase} is none of ${bases}`);
      }
    }
  }));

Deno.test("isContained() is false for unrelated histories and for work that is only partly there", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(`${dir}/r`);
    const start = repo.git("rev-parse", "HEAD");
    repo.git("checkout", "--quiet", "-b", "side");
    repo.commit("One", { "x.txt": "1\n2\n3\n" });
    const tip = repo.commit("Two", { "y.txt": "y\n" });
    repo.git("checkout", "--quiet", "main");
    const base = repo.commit("Only x", { "x.txt": "1\n2\n3\n" });
    const git = new GitRunner(testEnv());
    const repository = await new Repositories(git, false).open(repo.dir);
    assert.equal(await isContained(git, repository, { base, tip, mergeBase: start }), false);
    assert.equal(await isContained(git, repository, { base, tip, mergeBase: null }), false);
    const whole = repo.commit("And y", { "y.txt": "y\n" });
    assert.equal(await isContained(git, repository, { base: whole, tip, mergeBase: start }), true);
    assert.equal(
      await isContained(git, repository, { base: whole, tip, mergeBase: start, readOnly: true }),
      true,
    );
  }));
