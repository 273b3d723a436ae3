/** Several server processes on one repository and one database: the normal case, and kills in the middle. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { rounds, seededRandom } from "../support/rounds.ts";
import { type Message, Server } from "../support/server.ts";

const PROCESSES = 8;

async function withServers(
  count: number,
  options: { cwd: string; flags: string[] },
  work: (servers: Server[]) => Promise<void>,
) {
  const servers = await Promise.all(Array.from({ length: count }, () => Server.connect(options)));
  try {
    await work(servers);
  } finally {
    await Promise.all(servers.map((server) => server.close()));
  }
}

/** What git and the disk have of sessions; the database's view is asked of a server. */
function onDisk(repo: Repo): { branches: string[]; worktrees: string[]; directories: string[] } {
  const strip = (names: string[]) => names.map((name) => name.replace(/^.*session-/, "")).sort();
  const lines = (text: string) => text.split("\n").filter(Boolean);
  let directories: string[] = [];
  try {
    directories = [...Deno.readDirSync(join(repo.dir, ".worktrees"))].map((entry) => entry.name);
  } catch { /* there is none once the last session is gone */ }
  return {
    branches: strip(lines(repo.git("branch", "--list", "session-*", "--format=%(refname:short)"))),
    worktrees: strip(
      lines(repo.git("worktree", "list", "--porcelain")).filter((line) => line.startsWith("worktree ")).slice(
        1,
      ),
    ),
    directories: strip(directories),
  };
}

async function recorded(server: Server): Promise<string[]> {
  const { sessions } = await server.payload("get_sessions", { limit: 500 });
  return sessions.map((row: Message) => row.sessionId).sort();
}

Deno.test("eight processes that create one id: one winner, seven told that it exists", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    await withServers(PROCESSES, { cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (servers) => {
      for (let round = 0; round < rounds(3, 10); round++) {
        const results = await Promise.all(
          servers.map((server) => server.call("create_worktree", { sessionId: `race-${round}` })),
        );
        const winners = results.filter((result) => !result.isError);
        assert.equal(winners.length, 1);
        for (const loser of results.filter((result) => result.isError)) {
          assert.match(loser.content[0].text, new RegExp(`^session already exists: race-${round}\n`));
        }
        assert.deepEqual(onDisk(repo).worktrees.length, round + 1);
      }
    });
  }));

Deno.test("eight processes that create and then remove different ids lose none", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const each = rounds(6, 25);
    await withServers(PROCESSES, { cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async (servers) => {
      const wanted = servers.flatMap((_, at) => Array.from({ length: each }, (_, n) => `p${at}-${n}`)).sort();
      await Promise.all(servers.map(async (server, at) => {
        for (let n = 0; n < each; n++) await server.payload("create_worktree", { sessionId: `p${at}-${n}` });
      }));
      assert.deepEqual(await recorded(servers[0]), wanted);
      assert.deepEqual(onDisk(repo), { branches: wanted, worktrees: wanted, directories: wanted });
      await Promise.all(servers.map(async (server, at) => {
        // Each removes what its neighbour made.
        for (let n = 0; n < each; n++) {
          await server.payload("remove_session", { sessionId: `p${(at + 1) % PROCESSES}-${n}` });
        }
      }));
      assert.deepEqual(await recorded(servers[3]), []);
      assert.deepEqual(onDisk(repo), { branches: [], worktrees: [], directories: [] });
    });
  }));

Deno.test("parallel calls of one client are served one after the other", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    await withServers(1, { cwd: dir, flags: ["-repo", repo.dir, "-db", dir] }, async ([server]) => {
      const ids = Array.from({ length: 20 }, (_, n) => `par-${String(n).padStart(2, "0")}`);
      await Promise.all(ids.map((sessionId) => server.payload("create_worktree", { sessionId })));
      assert.deepEqual(await recorded(server), ids);
      await Promise.all(ids.map((sessionId) => server.payload("remove_session", { sessionId })));
      assert.deepEqual(onDisk(repo).worktrees, []);
    });
  }));

Deno.test("a server killed at any moment leaves nothing that the next start does not put right", () =>
  withTemp(async (dir) => {
    const random = seededRandom("kills");
    const files = Object.fromEntries(
      Array.from({ length: 300 }, (_, n) => [`d${n % 10}/f${n}.txt`, `${n}\n`.repeat(50)]),
    );
    const repo = makeRepo(join(dir, "repo"), files);
    const options = { cwd: dir, flags: ["-repo", repo.dir, "-db", dir] };
    /** Commits that must stay reachable, whatever happens to their session. */
    const precious: string[] = [];
    for (let round = 0; round < rounds(12, 100); round++) {
      const sessionId = `kill-${round}`;
      const victim = await Server.connect(options);
      const removing = round % 2 === 1;
      if (removing) {
        const { worktreePath } = await victim.payload("create_worktree", { sessionId });
        precious.push(repo.at(worktreePath).commit(`Precious ${round}`, { [`p${round}.txt`]: "p" }));
        repo.at(worktreePath).write("loose.txt", `loose ${round}`);
      } else await victim.payload("get_sessions");
      const call = removing
        ? victim.call("remove_session", { sessionId, force: true })
        : victim.call("create_worktree", { sessionId });
      call.catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, random() * (removing ? 90 : 60)));
      await victim.kill();

      const next = await Server.connect(options);
      const ids = await recorded(next);
      assert.deepEqual(onDisk(repo), { branches: ids, worktrees: ids, directories: ids }, `round ${round}`);
      const whole = ids.includes(sessionId);
      if (whole && removing) {
        const text = await Deno.readTextFile(
          join(repo.dir, ".worktrees", `session-${sessionId}`, "loose.txt"),
        );
        assert.equal(text, `loose ${round}`);
      } else if (removing) {
        const refs = repo.git(
          "for-each-ref",
          "--format=%(refname)",
          `refs/orchestragent/backup/session-${sessionId}`,
        );
        const work = refs.split("\n").find((ref) => ref.endsWith("/work"));
        assert.equal(repo.git("show", `${work}:loose.txt`), `loose ${round}`);
      }
      for (const commit of precious) {
        assert.notEqual(
          repo.git("for-each-ref", "--contains", commit, "--count=1"),
          "",
          `commit of round ${round}`,
        );
      }
      if (whole) await next.payload("remove_session", { sessionId, force: true });
      // The id is free again.
      await next.payload("create_worktree", { sessionId });
      await next.payload("remove_session", { sessionId });
      assert.equal(repo.git("status", "--porcelain"), "");
      await next.close();
    }
    assert.equal(repo.git("fsck", "--no-dangling", "--no-progress"), "");
  }));

Deno.test("cancelling a creation ends its git and leaves nothing", () =>
  withTemp(async (dir) => {
    const random = seededRandom("cancels");
    const files = Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`f${n}.txt`, `${n}\n`]));
    const repo = makeRepo(join(dir, "repo"), files);
    const server = await Server.connect({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] });
    await server.payload("get_sessions");
    for (let round = 0; round < rounds(6, 40); round++) {
      const id = `c${round}`;
      void server.request("tools/call", {
        name: "create_worktree",
        arguments: { sessionId: `cancel-${round}` },
      }, id);
      await new Promise((resolve) => setTimeout(resolve, random() * 50));
      await server.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      const ids = await settled(server, repo);
      for (const sessionId of ids) await server.payload("remove_session", { sessionId });
    }
    await server.close();
  }));

/** Waits until records and disk agree, for a moment only. */
async function settled(server: Server, repo: Repo): Promise<string[]> {
  for (let tries = 0;; tries++) {
    const ids = await recorded(server);
    try {
      assert.deepEqual(onDisk(repo), { branches: ids, worktrees: ids, directories: ids });
      return ids;
    } catch (error) {
      if (tries === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
