/** `doctor`: what works, what does not, and what to do about it. */
import { join } from "node:path";
import type { App } from "../app.ts";
import { reported } from "../server/result.ts";
import { findBase } from "../sessions/base.ts";
import { recover } from "../sessions/recover.ts";
import { mainRepository, type SessionScope } from "../sessions/scope.ts";
import { DATABASE_FILE } from "../sessions/store.ts";
import { print } from "./print.ts";

/** Runs every check and prints a line for each; exit code 1 when one failed. */
export async function examine(app: App): Promise<number> {
  let failed = 0;
  const check = async (name: string, work: () => Promise<string>) => {
    try {
      print(`✓ ${name}: ${await work()}`);
    } catch (error) {
      const { message, next } = reported(error);
      print(`✗ ${name}: ${message}\n  → ${next}`);
      failed++;
    }
  };
  const { config, git, repositories } = app;
  await check("permissions", permissions);
  await check("git", async () => {
    const binary = await git.binary();
    return `${binary.version} at ${binary.file}${
      binary.atLeast(2, 38) ? "" : " (2.38 recognises more squash merges)"
    }`;
  });
  await check("repository", async () => {
    const main = await mainRepository(git, repositories, config.repo);
    return `${main.root}${main.bare ? " (bare)" : ""}`;
  });
  let scope: SessionScope | undefined;
  await check("database", async () => {
    scope = await app.sessions();
    const records = await scope.store.list(scope.main.commonDir);
    return `${join(config.database, DATABASE_FILE)}, ${records.length} session(s) of this repository`;
  });
  if (!scope) return 1;
  const opened = scope;
  await check("search index", async () => {
    const { place, blobs, commits, size } = (await app.search()).state();
    return `${place}, ${blobs} files and ${commits} commits in ${(size / 1e6).toFixed(1)} MB`;
  });
  await check("base branch", async () => {
    const base = await findBase(opened);
    return `${base.name} at ${base.oid.slice(0, 10)}`;
  });
  if (!config.readOnly) await check("sessions", () => sessions(opened));
  return failed > 0 ? 1 : 0;
}

async function sessions(scope: SessionScope): Promise<string> {
  const { settled, takenUp, missing } = await recover(scope);
  const findings = [
    ...settled.map(({ id, how }) => `${id}: an interrupted change was ${how}`),
    ...takenUp.map((id) => `${id}: found in git and taken up`),
    ...missing.map((id) => `${id}: its worktree is gone; remove_session forgets it`),
  ];
  return findings.length === 0 ? "records and worktrees agree" : findings.join("\n    ");
}

async function permissions(): Promise<string> {
  const wanted: Deno.PermissionDescriptor[] = [
    { name: "read" },
    { name: "write" },
    { name: "env" },
    { name: "run", command: "git" },
  ];
  const states = await Promise.all(wanted.map((descriptor) => Deno.permissions.query(descriptor)));
  const missing = wanted.filter((_, at) => states[at].state !== "granted").map(({ name }) => name);
  if (missing.length === 0) return wanted.map(({ name }) => name).join(", ");
  throw new Error(`not granted: ${missing.join(", ")}; start with --allow-${missing.join(" --allow-")}`);
}
