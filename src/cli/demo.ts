/** `demo`: a session's life, played by a real client against a real server on a real repository. */
import { join } from "node:path";
import { GitRunner } from "../git/runner.ts";
import type { CommandLine } from "./flags.ts";
import { type Answer, DemoClient } from "./mcp_client.ts";
import { print } from "./print.ts";

const COMMITS = 36;

/** Plays the demo; with `-repo` only the part that changes nothing, on that repository. */
export async function runDemo(line: CommandLine): Promise<number> {
  const place = await Deno.makeTempDir({ prefix: "orchestragent-demo-" });
  try {
    return line.repo === undefined ? await playLife(place) : await playReading(line.repo, place);
  } finally {
    await Deno.remove(place, { recursive: true });
  }
}

async function playReading(repo: string, place: string): Promise<number> {
  const client = await connect(["-repo", repo, "-db", place, "--read-only"], place);
  await step("get_sessions (read-only)", () => client.call("get_sessions"));
  await client.close();
  print("\nNothing was changed.");
  return 0;
}

async function playLife(place: string): Promise<number> {
  const repo = join(place, "shop");
  const git = new GitRunner(Deno.env.toObject());
  await timed(`a throw-away repository of ${COMMITS} commits`, () => makeRepository(git, repo));
  const client = await connect(["-repo", repo, "-db", place, "-base", "main"], repo);

  const first = await step(
    "create_worktree add-search",
    () => client.call("create_worktree", { sessionId: "add-search" }),
  );
  const second = await step(
    "create_worktree fix-login",
    () => client.call("create_worktree", { sessionId: "fix-login" }),
  );

  const [searchDir, loginDir] = [first, second].map((answer) => String(answer.payload?.worktreePath));
  await timed("work in both: a commit and a new file in add-search, an edit in fix-login", async () => {
    await Deno.writeTextFile(join(searchDir, "search.txt"), "find\nthings\n");
    await commitAll(git, searchDir, "Add search");
    await Deno.writeTextFile(join(searchDir, "notes.txt"), "not committed yet\n");
    await Deno.writeTextFile(join(loginDir, "file-3.txt"), "mended\n");
  });
  await step("get_sessions", () => client.call("get_sessions"));
  await step(
    "remove_session add-search (refused: its work is nowhere else)",
    () => client.call("remove_session", { sessionId: "add-search" }),
  );
  const removed = await step(
    "remove_session add-search with force (kept in backup refs)",
    () => client.call("remove_session", { sessionId: "add-search", force: true }),
  );
  const [backup] = removed.payload?.backupRefs as string[];
  const restored = await step(
    "create_worktree add-search from the backup",
    () => client.call("create_worktree", { sessionId: "add-search", baseRef: backup }),
  );

  const there = { sessionId: "fix-login" };
  await step("git_status of session fix-login", () => client.call("git_status", there));
  await step(
    "batch_commit in session fix-login",
    () =>
      client.call("batch_commit", {
        ...there,
        commits: [{ message: "Mend the login", files: ["file-3.txt"] }],
      }),
  );
  await step(
    "git_merge session-fix-login, to see what would happen",
    () => client.call("git_merge", { sources: ["session-fix-login"], dryRun: true }),
  );
  await step("git_merge session-fix-login, and clear the session away", () =>
    client.call("git_merge", {
      sources: ["session-fix-login"],
      deleteMergedBranches: true,
      deleteMergedWorktrees: true,
    }));
  await step("git_log", () => client.call("git_log", { maxCommits: 3 }));

  const kept = await Deno.readTextFile(join(String(restored.payload?.worktreePath), "notes.txt"));
  await client.close();
  const whole = kept === "not committed yet\n";
  print(whole ? "\nThe uncommitted file is back: nothing was lost." : "\nThe uncommitted file is gone!");
  return whole ? 0 : 1;
}

async function connect(flags: readonly string[], cwd: string): Promise<DemoClient> {
  const client = new DemoClient(flags, cwd);
  await timed("start the server and connect to it", () => client.initialize());
  return client;
}

async function step(title: string, call: () => Promise<Answer>): Promise<Answer> {
  const answer = await timed(title, call);
  print(answer.text.replace(/^/gm, "    "));
  if (answer.isError) throw new Error(`${title} failed`);
  return answer;
}

async function timed<T>(title: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  print(`\n▸ ${title}  (${(performance.now() - started).toFixed(1)} ms)`);
  return result;
}

async function makeRepository(git: GitRunner, repo: string): Promise<void> {
  await Deno.mkdir(repo);
  await git.exec({ root: repo }, ["init", "--quiet", "--initial-branch=main"], { write: true });
  for (const [key, value] of [["name", "Demo"], ["email", "demo@localhost"]]) {
    await git.exec({ root: repo }, ["config", `user.${key}`, value], { write: true });
  }
  for (let at = 0; at < COMMITS; at++) {
    await Deno.writeTextFile(join(repo, `file-${at % 12}.txt`), `revision ${at}\n`);
    await commitAll(git, repo, `Change ${at + 1}`);
  }
}

async function commitAll(git: GitRunner, root: string, message: string): Promise<void> {
  await git.exec({ root }, ["add", "--all"], { write: true });
  const unsigned = ["-c", "commit.gpgSign=false"];
  await git.exec({ root }, [...unsigned, "commit", "--quiet", "-m", message], { write: true });
}
