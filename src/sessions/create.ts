/** Creating a session: a branch and a worktree of its own, all or nothing. */
import { messageOf, ToolError } from "../errors.ts";
import { listRefs, resolveCommit } from "../git/refs.ts";
import { lstatOrNull } from "../platform/jail.ts";
import { log } from "../platform/log.ts";
import { dirname } from "node:path";
import { takeUp } from "./adopt.ts";
import { type Base, findBase } from "./base.ts";
import { excludeOwnFiles } from "./exclude.ts";
import { copyIncluded, type Included } from "./include.ts";
import type { SessionScope } from "./scope.ts";
import { asOnlyWriter } from "../git/write_lock.ts";
import { asideOf, branchOf, parseSessionId, type Session, worktreeOf, WORKTREES_DIR } from "./session.ts";
import { settle } from "./settle.ts";
import type { StoredSession } from "./store.ts";

/** What a caller may choose besides the id. */
export interface CreateOptions {
  /** Branch, tag or commit to start at instead of the tip of the base branch. */
  baseRef?: string;
  signal?: AbortSignal;
  /** Files checked out so far, and in all. */
  onProgress?: (done: number, total: number) => void;
}

/** A new session and the ignored files it was given. */
export interface CreatedSession {
  session: Session;
  included: Included;
}

/**
 * Creates a session.
 *
 * @throws {ToolError} `invalid_session_id`, `session_exists`, `branch_exists`, `worktree_path_exists`,
 * `base_not_found`, `unsafe_ref_token`, `path_escapes_repository`, `repo_locked`, and what git and the store
 * throw. After an error nothing of the session is left.
 */
export async function createSession(
  scope: SessionScope,
  rawId: string,
  options: CreateOptions = {},
): Promise<CreatedSession> {
  const id = parseSessionId(rawId);
  const { signal } = options;
  return await asOnlyWriter(scope.main, { signal }, async () => {
    await refuseTaken(scope, id, signal);
    const { base, start } = await startOf(scope, options);
    const session = newSession(scope, id, base, start);
    const version = await scope.store.put(scope.main.commonDir, session, null);
    if (version === null) throw exists(id);
    const stored = { session, version };
    try {
      await excludeOwnFiles(scope);
      const included = await makeAside(scope, session, options);
      await moveIn(scope, session);
      return { session: await confirm(scope, stored), included };
    } catch (error) {
      await settle(scope, stored).catch((cause) => log("warn", messageOf(cause)));
      throw error;
    }
  });
}

/** Refuses an id whose record, branch or place is taken; settles what a killed process left of it first. */
async function refuseTaken(scope: SessionScope, id: string, signal?: AbortSignal) {
  const { store, main, git } = scope;
  let stored = await store.get(main.commonDir, id);
  if (stored?.session.pending) {
    await settle(scope, stored);
    stored = await store.get(main.commonDir, id);
  }
  if (stored || await takeUp(scope, id)) throw exists(id);
  const branch = branchOf(id);
  if ((await listRefs(git, main, [`refs/heads/${branch}`], signal)).size > 0) {
    throw new ToolError("branch_exists", `branch already exists: ${branch}`);
  }
  await refuseRedirected(scope);
  const place = worktreeOf(main.root, id);
  if (await lstatOrNull(place) !== null) {
    throw new ToolError("worktree_path_exists", `something already stands at '${place}'`);
  }
}

/** `.worktrees` as a link would put worktrees outside the repository. */
async function refuseRedirected(scope: SessionScope): Promise<void> {
  const directory = dirname(worktreeOf(scope.main.root, "xx"));
  const info = await lstatOrNull(directory);
  if (info === null || info.isDirectory) return;
  throw new ToolError(
    "path_escapes_repository",
    `'${WORKTREES_DIR}' in '${scope.main.root}' is not a directory`,
    {
      next: `Remove '${directory}'; it has to be a plain directory.`,
    },
  );
}

/** Where the session starts, and the branch it is measured against. A base ref that is a branch is both. */
async function startOf(scope: SessionScope, options: CreateOptions): Promise<{ base: Base; start: string }> {
  const { baseRef, signal } = options;
  if (baseRef === undefined) {
    const base = await findBase(scope, undefined, signal);
    return { base, start: base.oid };
  }
  const start = await resolveCommit(scope.git, scope.main, baseRef, signal);
  if (start === null) throw new ToolError("base_not_found", `baseRef '${baseRef}' does not name a commit`);
  const names = [`refs/heads/${baseRef}`, `refs/remotes/${baseRef}`];
  const branches = await listRefs(scope.git, scope.main, names, signal);
  const isBranch = names.some((name) => branches.has(name));
  return { base: await findBase(scope, isBranch ? baseRef : undefined, signal), start };
}

function newSession(scope: SessionScope, id: string, base: Base, start: string): Session {
  const now = Date.now();
  return {
    id,
    branch: branchOf(id),
    worktree: worktreeOf(scope.main.root, id),
    base: base.name,
    start,
    status: "open",
    createdAt: now,
    updatedAt: now,
    pending: { op: "create", aside: asideOf(scope.main.root, id), tip: null },
  };
}

/** Makes the whole worktree beside its place, so that nobody ever sees half of one there. */
async function makeAside(
  scope: SessionScope,
  session: Session,
  { signal, onProgress }: CreateOptions,
): Promise<Included> {
  const { aside } = session.pending!;
  const args = ["worktree", "add", "--no-track", "-b", session.branch, aside, session.start];
  await scope.git.exec(scope.main, ["-c", "checkout.workers=0", ...args], {
    write: true,
    // A partial clone fetches what it lacks, and large files come by a program of their own.
    network: true,
    programs: true,
    signal,
    onStderr: onProgress && ((text) => {
      const counts = [...text.matchAll(/Updating files:\s+\d+% \((\d+)\/(\d+)\)/g)].at(-1);
      if (counts) onProgress(Number(counts[1]), Number(counts[2]));
    }),
  });
  const tree = await scope.repositories.worktree(scope.main, aside, signal);
  return await copyIncluded(scope.git, scope.main, tree, signal);
}

/** From here on cancelling is not heeded. `worktree move` would refuse every repository with submodules. */
async function moveIn(scope: SessionScope, session: Session): Promise<void> {
  await Deno.rename(session.pending!.aside, session.worktree);
  await scope.git.exec(scope.main, ["worktree", "repair", session.worktree], { write: true });
}

async function confirm(scope: SessionScope, stored: StoredSession): Promise<Session> {
  const { pending: _, ...session } = stored.session;
  const version = await scope.store.put(scope.main.commonDir, session, stored.version);
  if (version === null) throw exists(session.id);
  return session;
}

function exists(id: string): ToolError {
  return new ToolError("session_exists", `session already exists: ${id}`);
}
