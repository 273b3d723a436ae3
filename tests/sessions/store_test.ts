/** The session store, and the rule for ids. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { idOf, parseSessionId, type Session, worktreeOf } from "../../src/sessions/session.ts";
import { DATABASE_FILE, SessionStore } from "../../src/sessions/store.ts";
import { withTemp } from "../support/repo.ts";
import { rounds } from "../support/rounds.ts";

function session(id: string, createdAt: number): Session {
  return {
    id,
    branch: `session-${id}`,
    worktree: `/w/${id}`,
    base: "main",
    start: "0",
    status: "open",
    createdAt,
    updatedAt: createdAt,
  };
}

Deno.test("put() creates once, updates by version, and keeps the order of creation", () =>
  withTemp(async (dir) => {
    const store = await SessionStore.open(join(dir, "new", "dir"));
    const version = await store.put("/r", session("bb", 1), null);
    assert.ok(version);
    assert.equal(await store.put("/r", session("bb", 2), null), null);
    assert.equal(await store.put("/other", session("bb", 9), null) === null, false);
    await store.put("/r", session("aa", 3), null);
    await store.put("/r", session("cc", 2), null);
    assert.deepEqual((await store.list("/r")).map(({ session }) => session.id), ["bb", "cc", "aa"]);
    assert.ok(await store.put("/r", { ...session("bb", 1), status: "merged" }, version));
    assert.equal(
      await store.put("/r", { ...session("bb", 1), status: "open" }, version),
      null,
      "the version is old",
    );
    assert.equal((await store.get("/r", "bb"))!.session.status, "merged");
    await store.delete("/r", "bb");
    assert.equal(await store.get("/r", "bb"), null);
    await store.delete("/r", "bb");
    store.close();
    const again = await SessionStore.open(join(dir, "new", "dir"));
    assert.equal((await again.list("/r")).length, 2);
    again.close();
  }));

Deno.test("several processes write to one database without an error and without losing a change", () =>
  withTemp(async (dir) => {
    const script = join(dir, "writer.ts");
    const module = new URL("../../src/sessions/store.ts", import.meta.url).href;
    await Deno.writeTextFile(
      script,
      `import { SessionStore } from "${module}";
const store = await SessionStore.open(${JSON.stringify(dir)});
for (let done = 0; done < Number(Deno.args[0]);) {
  const read = await store.get("/r", "count");
  const next = { ...(read?.session ?? { id: "count", createdAt: 0 }), updatedAt: (read?.session.updatedAt ?? 0) + 1 };
  if (await store.put("/r", next, read?.version ?? null)) done++;
}
store.close();`,
    );
    const each = rounds(30, 200);
    const codes = await Promise.all(Array.from({ length: 6 }, async () => {
      const { code, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", "--unstable-kv", script, String(each)],
      }).output();
      return code === 0 ? 0 : new TextDecoder().decode(stderr);
    }));
    assert.deepEqual(codes, [0, 0, 0, 0, 0, 0]);
    const store = await SessionStore.open(dir);
    assert.equal((await store.get("/r", "count"))!.session.updatedAt, 6 * each);
    store.close();
  }));

Deno.test("a file that is no database, or half of one, is reported and left alone", () =>
  withTemp(async (dir) => {
    const file = join(dir, DATABASE_FILE);
    const bytes = crypto.getRandomValues(new Uint8Array(20_000));
    await Deno.writeFile(file, bytes);
    await assert.rejects(SessionStore.open(dir), { code: "database_corrupt" });
    assert.deepEqual(await Deno.readFile(file), bytes);
    await Deno.remove(file);
    const store = await SessionStore.open(dir);
    await store.put("/r", session("aa", 1), null);
    store.close();
    const half = (await Deno.readFile(file)).slice(0, 5_000);
    await Deno.writeFile(file, half);
    await assert.rejects(SessionStore.open(dir), { code: "database_corrupt" });
    assert.deepEqual(await Deno.readFile(file), half);
  }));

Deno.test("parseSessionId() accepts exactly what worktree and branch names may be made of", () => {
  const alphabet = ["a", "z", "0", "9", "-", "_", " ", "A", ".", "/"];
  for (const first of alphabet) {
    for (const middle of ["", ...alphabet]) {
      for (const last of alphabet) {
        const raw = first + middle + last;
        const wanted = raw.trim().toLowerCase();
        const fits = /^[a-z0-9]([a-z0-9-]*[a-z0-9])$/.test(wanted);
        if (fits) assert.equal(parseSessionId(raw), wanted);
        else assert.throws(() => parseSessionId(raw), { code: "invalid_session_id" }, raw);
      }
    }
  }
  assert.equal(parseSessionId("x".repeat(50)).length, 50);
});

Deno.test("idOf() is the inverse of worktreeOf() and knows strangers", () => {
  assert.equal(idOf("/r", worktreeOf("/r", "a-1")), "a-1");
  for (
    const path of [
      "/r/.worktrees/other",
      "/r/.worktrees/session-",
      "/r/.worktrees/session-A",
      "/x/.worktrees/session-a1",
      "/r/.worktrees/aside-session-a1-x",
      "/r/session-a1",
    ]
  ) {
    assert.equal(idOf("/r", path), null, path);
  }
});
