/** write_file, append, create_directory and move_file over stdio. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeRepo, type Repo, withTemp } from "../support/repo.ts";
import { rounds, seededRandom } from "../support/rounds.ts";
import { type Message, Server, withServer } from "../support/server.ts";

async function scene(work: (server: Server, repo: Repo, dir: string) => Promise<void>): Promise<void> {
  await withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const flags = ["-repo", repo.dir, "-db", dir];
    await withServer({ cwd: dir, flags }, (server) => work(server, repo, dir));
  });
}

const read = (repo: Repo, file: string) => Deno.readTextFile(join(repo.dir, file));

/** Every file and directory below a place, with contents. */
function treeOf(dir: string, below = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { name, isDirectory, isSymlink } of Deno.readDirSync(join(dir, below))) {
    if (name === ".git") continue;
    const path = below ? `${below}/${name}` : name;
    if (isDirectory) Object.assign(found, { [path]: "/" }, treeOf(dir, path));
    else {found[path] = isSymlink
        ? `-> ${Deno.readLinkSync(join(dir, path))}`
        : Deno.readTextFileSync(join(dir, path));}
  }
  return found;
}

Deno.test("write_file writes new and old files, with the directories above them", () =>
  scene(async (server, repo) => {
    const result = await server.call("write_file", { path: "new/deep/file.txt", content: "grün\n" });
    assert.deepEqual(result.structuredContent, { path: "new/deep/file.txt", bytes: 6, created: true });
    assert.match(result.content[0].text, /wrote 6 bytes to new\/deep\/file\.txt/);
    assert.equal(await read(repo, "new/deep/file.txt"), "grün\n");
    const again = await server.payload("write_file", {
      path: join(repo.dir, "new/deep/file.txt"),
      content: "",
    });
    assert.deepEqual(again, { path: join(repo.dir, "new/deep/file.txt"), bytes: 0 });
    assert.equal(await read(repo, "new/deep/file.txt"), "");
  }));

Deno.test("a file keeps its mode, and a link inside of the root stays a link", () =>
  scene(async (server, repo) => {
    repo.write("run.sh", "old\n");
    await Deno.chmod(join(repo.dir, "run.sh"), 0o755);
    await Deno.symlink("run.sh", join(repo.dir, "link"));
    await server.payload("write_file", { path: "link", content: "new\n" });
    await server.payload("append", { path: "link", content: "more\n" });
    assert.equal(await read(repo, "run.sh"), "new\nmore\n");
    assert.equal((await Deno.lstat(join(repo.dir, "link"))).isSymlink, true);
    assert.equal((await Deno.stat(join(repo.dir, "run.sh"))).mode! & 0o777, 0o755);
    await Deno.link(join(repo.dir, "run.sh"), join(repo.dir, "twin"));
    await server.payload("write_file", { path: "twin", content: "own\n" });
    assert.equal(await read(repo, "run.sh"), "new\nmore\n");
  }));

Deno.test("append adds to files that exist, and makes none", () =>
  scene(async (server, repo) => {
    const result = await server.call("append", { path: "a.txt", content: "vier\n" });
    assert.match(result.content[0].text, /appended 5 bytes to a\.txt/);
    assert.equal(await read(repo, "a.txt"), "one\ntwo\nthree\nvier\n");
    assert.match(
      await server.refusal("append", { path: "none.txt", content: "x" }),
      /"error":"NotFound".*none\.txt/,
    );
    await assert.rejects(read(repo, "none.txt"));
  }));

Deno.test("create_directory makes directories, and is content with those that are there", () =>
  scene(async (server, repo) => {
    assert.deepEqual(await server.payload("create_directory", { path: "x/y/z" }), {
      path: "x/y/z",
      created: true,
    });
    assert.deepEqual(await server.payload("create_directory", { path: "x/y" }), { path: "x/y" });
    assert.match(await server.refusal("create_directory", { path: "a.txt" }), /InvalidTarget/);
    assert.match(await server.refusal("create_directory", { path: "a.txt/b" }), /OutsideRoot|InvalidTarget/);
    assert.ok((await Deno.stat(join(repo.dir, "x/y/z"))).isDirectory);
  }));

Deno.test("move_file moves files and directories, and replaces files", () =>
  scene(async (server, repo) => {
    repo.write("dir/one.txt", "1");
    repo.write("two.txt", "2");
    const result = await server.call("move_file", { source: "a.txt", destination: "b.txt" });
    assert.equal(result.content[0].text, "moved a.txt → b.txt");
    await server.payload("move_file", { source: "b.txt", destination: "two.txt" });
    assert.equal(await read(repo, "two.txt"), "one\ntwo\nthree\n");
    await server.payload("move_file", { source: "dir", destination: "other" });
    assert.equal(await read(repo, "other/one.txt"), "1");
    const before = treeOf(repo.dir);
    const refusals: [string, string, RegExp][] = [
      ["none", "x", /NotFound.*none/],
      ["two.txt", "missing/x", /NotFound.*create_directory/],
      ["two.txt", "../out.txt", /OutsideRoot/],
      ["../out.txt", "two.txt", /OutsideRoot/],
      ["two.txt", "two.txt", /InvalidTarget/],
      ["other", "other/inner", /InvalidTarget/],
      ["two.txt", "other", /InvalidTarget/],
      ["other", "two.txt", /InvalidTarget/],
      [".", "moved", /InvalidTarget/],
    ];
    for (const [source, destination, expected] of refusals) {
      assert.match(
        await server.refusal("move_file", { source, destination }),
        expected,
        `${source} ${destination}`,
      );
    }
    assert.deepEqual(treeOf(repo.dir), before);
  }));

Deno.test("sessionId writes in the session's worktree, and other roots are written by absolute paths", () =>
  withTemp(async (dir) => {
    const repo = makeRepo(join(dir, "repo"));
    const other = makeRepo(join(dir, "other"));
    const flags = ["-repo", repo.dir, "-root", other.dir, "-db", dir];
    await withServer({ cwd: dir, flags }, async (server) => {
      const { worktreePath } = await server.payload("create_worktree", { sessionId: "s-1" });
      await server.payload("write_file", { path: "s.txt", content: "s", sessionId: "s-1" });
      assert.equal(await Deno.readTextFile(join(worktreePath, "s.txt")), "s");
      await server.payload("write_file", { path: join(other.dir, "o.txt"), content: "o" });
      assert.equal(await read(other, "o.txt"), "o");
      assert.equal(repo.git("status", "--porcelain"), "");
      assert.match(
        await server.refusal("write_file", { path: "x", content: "", sessionId: "none" }),
        /session/,
      );
    });
  }));

Deno.test("random writes in one root agree with a plain model", () =>
  scene(async (server, repo) => {
    const random = seededRandom("files");
    const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)];
    await Deno.remove(join(repo.dir, "a.txt"));
    const model = new Map<string, string>();
    const names = ["a", "b", "c d", "ü", "d/a", "d/b", "d/e/f", "g"];
    const parent = (name: string) => name.includes("/") ? name.slice(0, name.lastIndexOf("/")) : "";
    const isDirectory = (name: string) => name === "" || model.get(name) === "/";
    const below = (name: string) =>
      [...model.keys()].filter((key) => key === name || key.startsWith(`${name}/`));
    const makeParents = (name: string) => {
      for (let up = parent(name); up !== ""; up = parent(up)) model.set(up, "/");
    };
    const fits = (name: string) => {
      for (let up = parent(name); up !== ""; up = parent(up)) {
        if (model.has(up) && !isDirectory(up)) return false;
      }
      return true;
    };
    for (let round = 0; round < rounds(150, 1_500); round++) {
      const [name, to] = [pick(names), pick(names)];
      const content = `${round}\n`.repeat(Math.floor(random() * 50));
      const [tool, args, valid, apply]: [string, Message, boolean, () => void] = pick([
        ["write_file", { path: name, content }, fits(name) && !isDirectory(name), () => {
          makeParents(name);
          model.set(name, content);
        }],
        ["append", { path: name, content }, model.has(name) && !isDirectory(name), () =>
          model.set(name, model.get(name)! + content)],
        ["create_directory", { path: name }, fits(name) && (!model.has(name) || isDirectory(name)), () => {
          makeParents(name);
          model.set(name, "/");
        }],
        [
          "move_file",
          { source: name, destination: to },
          model.has(name) && name !== to && !to.startsWith(`${name}/`) && isDirectory(parent(to)) &&
          !isDirectory(to) && !(model.has(to) && isDirectory(name)),
          () => {
            const moved = below(name).map((key) =>
              [to + key.slice(name.length), model.get(key)!] as const
            );
            for (const key of below(name)) {
              model.delete(key);
            }
            for (const [key, value] of moved) {
              model.set(key, value);
            }
          },
        ],
      ]);
      const result = await server.call(tool, args);
      assert.equal(!result.isError, valid, `${tool} ${JSON.stringify(args)}: ${result.content[0].text}`);
      if (valid) {
        apply();
      }
      if (round % 10 === 0) {
        assert.deepEqual(treeOf(repo.dir), Object.fromEntries(model));
      }
    }
    assert.deepEqual(treeOf(repo.dir), Object.fromEntries(model));
  }));

Deno.test("a server killed while it writes leaves the old file or the new one", () =>
  withTemp(async (dir) => {
    const random = seededRandom("killed while writing");
    const repo = makeRepo(join(dir, "repo"));
    const [old, fresh] = ["o".repeat(300_000), "n".repeat(3_000_000)];
    for (let round = 0; round < rounds(8, 60); round++) {
      repo.write("big.txt", old);
      const server = await Server.connect({ cwd: dir, flags: ["-repo", repo.dir, "-db", dir] });
      const call = server.call("write_file", { path: "big.txt", content: fresh }).catch(() => null);
      await new Promise((resolve) => setTimeout(resolve, random() * 25));
      await server.kill();
      await call;
      const found = await read(repo, "big.txt");
      assert.ok(found === old || found === fresh, `${found.length} bytes`);
    }
  }));
