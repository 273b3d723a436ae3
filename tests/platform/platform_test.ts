/** The doors to the outside: paths, files, locks, processes, text. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { copyInto, isWithin, resolveInRoot } from "../../src/platform/jail.ts";
import { withLock } from "../../src/platform/lock.ts";
import { mapBounded, Semaphore } from "../../src/platform/pool.ts";
import { run } from "../../src/platform/process.ts";
import { clipped, plain, redacted } from "../../src/platform/text.ts";
import { withTemp } from "../support/repo.ts";
import { rounds, seededRandom } from "../support/rounds.ts";

Deno.test("isWithin() compares components, not prefixes", () => {
  for (const inside of ["/r", "/r/a", "/r/..a", "/r/a/../b"]) {
    assert.equal(isWithin("/r", inside), true, inside);
  }
  for (const outside of ["/", "/root", "/r-evil", "/r/../x", "/x/r"]) {
    assert.equal(isWithin("/r", outside), false, outside);
  }
});

Deno.test("resolveInRoot() follows links inside and refuses every way out", () =>
  withTemp(async (dir) => {
    const root = join(dir, "root");
    await Deno.mkdir(join(root, "sub"), { recursive: true });
    await Deno.mkdir(join(dir, "root-evil"));
    await Deno.writeTextFile(join(dir, "secret"), "s");
    await Deno.symlink("sub", join(root, "inner"));
    await Deno.symlink(join(dir, "secret"), join(root, "file-out"));
    await Deno.symlink("..", join(root, "dir-out"));
    await Deno.symlink(join(dir, "not-there"), join(root, "dangling"));
    await Deno.symlink("loop", join(root, "loop"));
    await Deno.symlink("file-out", join(root, "chain"));
    const real = await Deno.realPath(root);
    const fine: [string, string][] = [
      ["a", "a"],
      ["sub/x/y", "sub/x/y"],
      ["inner/z", "sub/z"],
      ["sub/../b", "b"],
      ["..a", "..a"],
      [".", "."],
    ];
    for (const [given, expected] of fine) {
      assert.equal(await resolveInRoot(root, given), join(real, expected));
    }
    const bad = [
      "",
      "..",
      "../x",
      "sub/../../x",
      "../root-evil/x",
      "/etc/passwd",
      `${root}-evil/x`,
      "file-out",
      "dir-out/secret",
      "dir-out/new",
      "dangling",
      "dangling/x",
      "loop",
      "loop/x",
      "chain",
      "a\0b",
      "a\nb",
      "\u001b",
    ];
    for (const given of bad) {
      await assert.rejects(
        resolveInRoot(root, given),
        { code: "path_escapes_repository" },
        JSON.stringify(given),
      );
    }
    // A root that is itself reached through a link is the same root.
    await Deno.symlink(root, join(dir, "alias"));
    assert.equal(await resolveInRoot(join(dir, "alias"), "a"), join(real, "a"));
    assert.equal(await resolveInRoot(join(dir, "alias"), join(real, "a")), join(real, "a"));
  }));

Deno.test("resolveInRoot() never leads out, whatever the path", () =>
  withTemp(async (dir) => {
    const random = seededRandom("jail");
    const root = join(dir, "root");
    await Deno.mkdir(join(root, "a/b"), { recursive: true });
    await Deno.symlink("../..", join(root, "a/up"));
    await Deno.symlink("a", join(root, "in"));
    const parts = ["a", "b", "up", "in", "..", ".", "", "new", "…", "a b", "~", "C:"];
    for (let n = 0; n < rounds(500, 5_000); n++) {
      const length = 1 + Math.floor(random() * 6);
      const given = Array.from({ length }, () => parts[Math.floor(random() * parts.length)]).join("/");
      const real = await resolveInRoot(root, given).catch((error) => {
        assert.equal(error.code, "path_escapes_repository");
        return root;
      });
      assert.ok(isWithin(root, real), `${given} → ${real}`);
    }
  }));

Deno.test("copyInto() keeps mode and content, and overwrites nothing", () =>
  withTemp(async (dir) => {
    await Deno.mkdir(join(dir, "root"));
    await Deno.writeTextFile(join(dir, "src"), "content");
    await Deno.chmod(join(dir, "src"), 0o750);
    assert.equal(await copyInto(join(dir, "root"), "deep/er/copy", join(dir, "src")), true);
    const copy = join(dir, "root/deep/er/copy");
    assert.equal(await Deno.readTextFile(copy), "content");
    assert.equal((await Deno.stat(copy)).mode! & 0o777, 0o750);
    await Deno.writeTextFile(copy, "mine");
    assert.equal(await copyInto(join(dir, "root"), "deep/er/copy", join(dir, "src")), false);
    assert.equal(await Deno.readTextFile(copy), "mine");
    assert.equal(await copyInto(join(dir, "root"), "directory", join(dir, "root")), false);
  }));

Deno.test("withLock() lets one in at a time, in order, and goes on after a failure", () =>
  withTemp(async (dir) => {
    const file = join(dir, "lock");
    let inside = 0;
    const order: number[] = [];
    const work = (n: number) =>
      withLock(file, async () => {
        assert.equal(++inside, 1);
        await new Promise((resolve) => setTimeout(resolve, 2));
        inside--;
        order.push(n);
        if (n === 3) throw new Error("three");
      });
    const results = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => work(n)));
    assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert.deepEqual(results.map((result) => result.status === "fulfilled"), order.map((n) => n !== 3));
  }));

Deno.test("withLock() gives up in time, and heeds a cancel, against callers and processes", () =>
  withTemp(async (dir) => {
    const file = join(dir, "lock");
    const { promise, resolve } = Promise.withResolvers<void>();
    const holder = withLock(file, () => promise);
    await assert.rejects(withLock(file, () => Promise.resolve(), { waitMs: 50 }), { code: "repo_locked" });
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 30);
    await assert.rejects(withLock(file, () => Promise.resolve(), { signal: abort.signal }), {
      code: "cancelled",
    });
    resolve();
    await holder;
    // Another process's lock, taken through a second open file.
    const other = await Deno.open(file, { write: true });
    await other.lock(true);
    await assert.rejects(withLock(file, () => Promise.resolve(), { waitMs: 60 }), { code: "repo_locked" });
    const late = withLock(file, () => Promise.resolve("in"), { waitMs: 5_000 });
    other.close();
    assert.equal(await late, "in");
  }));

Deno.test("run() feeds input, tells the exit code, and keeps its environment to itself", async () => {
  const base = { cwd: "/", env: { ONLY: "this" }, timeoutMs: 5_000, maxStdout: 1 << 20 };
  const cat = await run({ ...base, file: "/bin/cat", args: [], stdin: "hello" });
  assert.equal(new TextDecoder().decode(cat.stdout), "hello");
  const env = await run({ ...base, file: "/usr/bin/env", args: [] });
  assert.equal(new TextDecoder().decode(env.stdout), "ONLY=this\n");
  const fail = await run({ ...base, file: "/bin/sh", args: ["-c", "echo oops >&2; exit 3"] });
  assert.deepEqual([fail.code, fail.stderr], [3, "oops\n"]);
  const killed = await run({ ...base, file: "/bin/sh", args: ["-c", "kill -9 $$"] });
  assert.equal(killed.code, -1);
  await assert.rejects(run({ ...base, file: "/no/such/program", args: [] }), Deno.errors.NotFound);
});

Deno.test("run() does not wait for a program that a child left behind with its pipes", async () => {
  const started = performance.now();
  const result = await run({
    file: "/bin/sh",
    args: ["-c", "sleep 20 & echo done"],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    timeoutMs: 15_000,
    maxStdout: 100,
    group: true,
  });
  assert.deepEqual([result.code, new TextDecoder().decode(result.stdout)], [0, "done\n"]);
  assert.ok(performance.now() - started < 10_000);
});

Deno.test("run() does not wait for a child that closes its input early", async () => {
  const stdin = new Uint8Array(4 << 20);
  const result = await run({
    file: "/bin/true",
    args: [],
    cwd: "/",
    env: {},
    stdin,
    timeoutMs: 5_000,
    maxStdout: 10,
  });
  assert.equal(result.code, 0);
});

Deno.test("mapBounded() keeps order and the bound; a Semaphore outlives failures", async () => {
  let now = 0;
  let most = 0;
  const doubled = await mapBounded([5, 1, 3, 2, 4], 2, async (n) => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setTimeout(resolve, n));
    now--;
    return n * 2;
  });
  assert.deepEqual(doubled, [10, 2, 6, 4, 8]);
  assert.equal(most, 2);
  const one = new Semaphore(1);
  await assert.rejects(one.run(() => Promise.reject(new Error("x"))));
  assert.equal(await one.run(() => Promise.resolve(1)), 1);
});

Deno.test("text from outside loses escapes, invisible characters and credentials", () => {
  assert.equal(
    plain("a\u001b[31mred\u001b[0m\u001b]0;title\u0007b\r\u0000\u202ec\u200bd\te\nf"),
    "aredbcd\te\nf",
  );
  assert.equal(
    redacted("push to https://me:tok@x.test/r and ssh://git@h/r"),
    "push to https://***@x.test/r and ssh://***@h/r",
  );
  assert.equal(clipped("abc", 3), "abc");
  assert.equal(clipped("abcdef", 3), "abc … (3 more characters)");
});
