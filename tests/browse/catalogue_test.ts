/** Names of repositories, what comes near to them, and refs read from files. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { findRepositories, nameDirectories, pick, suggestions } from "../../src/browse/catalogue.ts";
import { readHead, readRef, refsStamp } from "../../src/browse/heads.ts";
import type { Repository } from "../../src/git/repository.ts";
import { parseListing, parseTree } from "../../src/git/trees.ts";
import { makeRepo, withTemp } from "../support/repo.ts";

const NAMES = [
  "team/api-gateway.git",
  "team/api-client.git",
  "team/payment-service.git",
  "infra/terraform-modules",
  "infra/kubernetes.git",
  "firmware/sensor.git",
  "firmware/gateway.git",
  "docs",
  "web/frontend",
  "web/frontend-legacy",
  "a",
];
const served = NAMES.map((name) => ({ name, directory: `/x/${name}` }));

Deno.test("a repository is found with and without .git", () => {
  assert.equal(pick(served, "docs").name, "docs");
  assert.equal(pick(served, "docs.git").name, "docs");
  assert.equal(pick(served, "team/api-client").name, "team/api-client.git");
  assert.equal(pick(served, "team/api-client.git").name, "team/api-client.git");
});

Deno.test("names that come near are suggested, nearest first, three at most", () => {
  const cases: [wrong: string, near: string[]][] = [
    ["kubernets", ["infra/kubernetes.git"]],
    ["team/payment-servise", ["team/payment-service.git"]],
    ["frontend", ["web/frontend", "web/frontend-legacy"]],
    ["gateway", ["firmware/gateway.git", "team/api-gateway.git"]],
    ["other/sensor", ["firmware/sensor.git"]],
    ["SENSOR.git", ["firmware/sensor.git"]],
    ["doc", ["docs"]],
    ["terraform", ["infra/terraform-modules"]],
  ];
  for (const [wrong, near] of cases) {
    assert.deepEqual(suggestions(NAMES, wrong).slice(0, near.length), near, wrong);
  }
  assert.deepEqual(suggestions(NAMES, "zzzzzzzzzzzzzzzz"), []);
  assert.ok(suggestions(NAMES, "api").length <= 3);
  assert.throws(
    () => pick(served, "kubernets"),
    /Repository 'kubernets' not found\. Did you mean: 'infra\/kubernetes.git'\?/,
  );
  assert.throws(
    () => pick(served, "gatewy"),
    /Did you mean: 'firmware\/gateway.git' or 'team\/api-gateway.git'\?/,
  );
  assert.throws(() => pick(served, "zzzzzzzzzzzzz"), /not found\.$/);
});

Deno.test("directories are named by as much of their path as tells them apart", () => {
  const names = (directories: string[]) => nameDirectories(directories).map(({ name }) => name);
  assert.deepEqual(names(["/a/b/app", "/a/c/app", "/a/lib", "/a/lib"]), ["b/app", "c/app", "lib"]);
  assert.deepEqual(names(["C:\\work\\app", "D:\\work\\app"]), ["C:/work/app", "D:/work/app"]);
  assert.deepEqual(names(["/app", "/x/app"]), ["app", "x/app"]);
});

Deno.test("the served directory may be a repository itself; what lies in others is theirs", () =>
  withTemp(async (dir) => {
    makeRepo(dir);
    makeRepo(join(dir, "inner"));
    makeRepo(join(dir, "inner", "vendored"));
    await Deno.symlink(join(dir, "inner"), join(dir, "link"));
    const names = findRepositories(dir).map(({ name }) => name);
    assert.deepEqual(names.slice().sort(), ["inner", dir.split("/").at(-1)].sort());
  }));

Deno.test("refs are read as git reads them: loose, packed, symbolic, moved", () =>
  withTemp((dir) => {
    const repo = makeRepo(dir);
    const place = { ownDir: join(dir, ".git"), commonDir: join(dir, ".git") } as Repository;
    const same = (ref: string) => assert.equal(readRef(place, ref), repo.git("rev-parse", ref), ref);
    repo.git("branch", "feature/one");
    same("refs/heads/main");
    same("refs/heads/feature/one");
    repo.git("pack-refs", "--all");
    same("refs/heads/feature/one");
    repo.commit("Second", { "b.txt": "" });
    same("refs/heads/main");
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/feature/one");
    assert.equal(readRef(place, "refs/heads/alias"), repo.git("rev-parse", "feature/one"));
    assert.equal(readRef(place, "refs/heads/none"), null);
    assert.equal(readRef(place, "refs/../config"), undefined);
    assert.deepEqual(readHead(place), { ref: "refs/heads/main", commit: repo.git("rev-parse", "HEAD") });
    repo.git("checkout", "-q", "--detach");
    assert.deepEqual(readHead(place), { ref: null, commit: repo.git("rev-parse", "HEAD") });
    repo.git("symbolic-ref", "HEAD", "refs/heads/unborn");
    assert.deepEqual(readHead(place), { ref: "refs/heads/unborn", commit: null });
    repo.git("update-ref", "-d", "refs/heads/feature/one");
    assert.equal(readRef(place, "refs/heads/feature/one"), null);
    // Whatever was changed just now may be changed again without leaving a trace.
    assert.equal(refsStamp(place), null);
  }));

Deno.test("trees and listings with every kind of entry and name", () => {
  const oid = "ab".repeat(20);
  const entry = (mode: string, name: Uint8Array) => [
    ...new TextEncoder().encode(`${mode} `),
    ...name,
    0,
    ...Uint8Array.fromHex(oid),
  ];
  const text = (name: string) => new TextEncoder().encode(name);
  const tree = new Uint8Array([
    ...entry("100644", text("a b\n")),
    ...entry("100755", text("run")),
    ...entry("120000", text("link")),
    ...entry("160000", text("sub")),
    ...entry("40000", text("dir")),
    ...entry("100644", new Uint8Array([0x63, 0xe9])),
  ]);
  assert.deepEqual(parseTree(tree, 40).map(({ name, kind }) => [name, kind]), [
    ["a b\n", "file"],
    ["run", "file"],
    ["link", "link"],
    ["sub", "submodule"],
    ["dir", "directory"],
    ["c\ufffd", "file"],
  ]);
  const listing = parseListing(
    "t",
    [`100644 blob ${oid}\ta\tb\n`, `120000 blob ${oid}\tl`, `160000 commit ${oid}\ts`, ""].join("\0"),
  );
  assert.deepEqual(listing.paths, ["a\tb\n", "l", "s"]);
  assert.deepEqual(listing.kinds, ["file", "link", "submodule"]);
  assert.deepEqual(listing.oids, [oid, oid, oid]);
});
