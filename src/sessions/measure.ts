/** Where sessions stand: lines, commits ahead and behind, uncommitted files, and whether they are merged. */
import { messageOf, ToolError } from "../errors.ts";
import { isContained } from "../git/containment.ts";
import { type Standing, standings } from "../git/graph.ts";
import { countBetween, type FileCount, type LineCount } from "../git/numstat.ts";
import type { Repository } from "../git/repository.ts";
import { readStatus, type Status } from "../git/status.ts";
import { lstatOrNull } from "../platform/jail.ts";
import { mapBounded, PARALLELISM } from "../platform/pool.ts";
import { type Base, findBaseOrOther } from "./base.ts";
import { countLines } from "./lines.ts";
import type { SessionScope } from "./scope.ts";
import type { Session, SessionStatus } from "./session.ts";
import type { StoredSession } from "./store.ts";
import { openTree } from "./work.ts";

/** Figures of one session; without them `reason` tells why. */
export type SessionStats =
  | { available: true; lines: LineCount; ahead: number; behind: number; uncommittedFiles: number }
  | { available: false; reason: string };

/** A session and where it stands. */
export interface ListedSession {
  session: Session;
  /** The worktree directory is gone. */
  missing: boolean;
  stats: SessionStats;
}

interface Look {
  stored: StoredSession;
  tree: Repository | null;
  status: Status | null;
  missing: boolean;
  problem: string;
}

/** Measures the given sessions against their base branches; one that cannot be measured spoils no other. */
export async function measureSessions(
  scope: SessionScope,
  records: readonly StoredSession[],
  signal?: AbortSignal,
): Promise<ListedSession[]> {
  const looks = await mapBounded(records, PARALLELISM, (stored) => lookAt(scope, stored, signal));
  const measured = new Map<Look, Measured>();
  for (const [name, group] of Map.groupBy(looks, (look) => look.stored.session.base)) {
    for (const entry of await measureGroup(scope, name, group, signal)) measured.set(...entry);
  }
  return await mapBounded(looks, PARALLELISM, async (look) => {
    const status = await currentStatus(scope, look, measured.get(look)!, signal);
    const { session } = look.stored;
    return { session: { ...session, status }, missing: look.missing, stats: measured.get(look)!.stats };
  });
}

async function lookAt(scope: SessionScope, stored: StoredSession, signal?: AbortSignal): Promise<Look> {
  const look: Look = { stored, tree: null, status: null, missing: false, problem: "" };
  const { worktree } = stored.session;
  try {
    look.missing = await lstatOrNull(worktree) === null;
    if (look.missing) return { ...look, problem: `worktree '${worktree}' is gone` };
    look.tree = await openTree(scope, stored.session, signal);
    if (!look.tree) return { ...look, problem: `'${worktree}' is no longer a worktree of this repository` };
    look.status = await readStatus(scope.git, look.tree, { signal, oneOfMany: true });
    if (look.status.head === null) look.problem = "its branch has no commit yet";
    return look;
  } catch (error) {
    return { ...look, problem: problemOf(error) };
  }
}

interface Measured {
  stats: SessionStats;
  base: Base | null;
  mergeBase: string | null;
  /** The base changed every file that the session changed: only then can it have all of its work. */
  mayBeContained: boolean;
}

function unmeasured(reason: string): Measured {
  return { stats: { available: false, reason }, base: null, mergeBase: null, mayBeContained: false };
}

async function measureGroup(
  scope: SessionScope,
  name: string,
  group: readonly Look[],
  signal?: AbortSignal,
): Promise<Map<Look, Measured>> {
  const measured = new Map<Look, Measured>(group.map((look) => [look, unmeasured(look.problem)]));
  const whole = group.filter((look) => look.status?.head);
  if (whole.length === 0) return measured;
  try {
    const base = await findBaseOrOther(scope, name, signal);
    if (base === null) throw new ToolError("base_not_found", `base branch '${name}' is gone`);
    const tips = whole.map((look) => look.status!.head!);
    const stands = await standings(scope.git, scope.main, base.oid, tips, signal);
    for (const entry of await measureAgainst(scope, base, whole, stands, signal)) measured.set(...entry);
  } catch (error) {
    if (signal?.aborted) throw error;
    for (const look of whole) measured.set(look, unmeasured(problemOf(error)));
  }
  return measured;
}

async function measureAgainst(
  scope: SessionScope,
  base: Base,
  looks: readonly Look[],
  stands: ReadonlyMap<string, Standing>,
  signal?: AbortSignal,
): Promise<Map<Look, Measured>> {
  const { git, main } = scope;
  const standOf = (look: Look) => stands.get(look.status!.head!)!;
  const related = looks.filter((look) => standOf(look).mergeBase !== null);
  const floors = [...new Set(related.map((look) => standOf(look).mergeBase!))];
  const options = { signal, oneOfMany: true };
  const changes = await countBetween(git, main, [
    ...related.map((look) => [look.status!.head!, standOf(look).mergeBase!] as const),
    ...floors.map((floor) => [base.oid, floor] as const),
  ], options);
  const inBase = new Map(floors.map((floor, at) => [floor, pathsOf(changes[related.length + at])]));
  const lines = await countLines(
    git,
    related.map((look, at) => ({
      tree: look.tree!,
      status: look.status!,
      from: standOf(look).mergeBase!,
      committed: changes[at],
    })),
    options,
  );
  return new Map(looks.map((look) => {
    const at = related.indexOf(look);
    const { ahead, behind, mergeBase } = standOf(look);
    const count = lines[at] ?? "the session shares no commit with its base";
    if (typeof count === "string") return [look, unmeasured(count)];
    const uncommittedFiles = look.status!.entries.length;
    const mayBeContained = pathsOf(changes[at]).isSubsetOf(inBase.get(mergeBase!)!);
    const stats = { available: true as const, lines: count, ahead, behind, uncommittedFiles };
    return [look, { stats, base, mergeBase, mayBeContained }];
  }));
}

function pathsOf(files: readonly FileCount[]): Set<string> {
  return new Set(files.flatMap(({ path, from }) => from === undefined ? [path] : [path, from]));
}

/** `merged` when there was work and all of it is in the base; what was merged and got new work is open again. */
async function currentStatus(
  scope: SessionScope,
  look: Look,
  { stats, base, mergeBase, mayBeContained }: Measured,
  signal?: AbortSignal,
): Promise<SessionStatus> {
  const { session } = look.stored;
  if (!stats.available || !base) return session.status;
  const tip = look.status!.head!;
  const merged = tip !== session.start && stats.uncommittedFiles === 0 &&
    (stats.ahead === 0
      ? await hadWork(scope, session, signal)
      : (stats.behind > 0 && mayBeContained && await containedOnce(scope, base.oid, tip, mergeBase, signal)));
  const status: SessionStatus = merged ? "merged" : session.status === "merged" ? "open" : session.status;
  if (status !== session.status && !scope.readOnly) {
    const changed: Session = { ...session, status, updatedAt: Date.now() };
    await scope.store.put(scope.main.commonDir, changed, look.stored.version);
  }
  return status;
}

/** A branch that only ever followed its base had no work; its reflog tells, and without one it is believed. */
async function hadWork(scope: SessionScope, session: Session, signal?: AbortSignal): Promise<boolean> {
  const args = ["log", "--walk-reflogs", "--format=%gs", `refs/heads/${session.branch}`, "--"];
  const { stdout } = await scope.git.exec(scope.main, args, { okCodes: [128], signal });
  const moves = stdout.split("\n").filter((line) => line !== "" && !line.startsWith("branch: Created"));
  return moves.length === 0 || !moves.every((line) => /^(merge|pull)\b.*: Fast-forward$/.test(line));
}

/** The answer for two commits never changes, so it is asked once. */
const contained = new Map<string, boolean>();
const MOST_REMEMBERED = 10_000;

async function containedOnce(
  scope: SessionScope,
  base: string,
  tip: string,
  mergeBase: string | null,
  signal?: AbortSignal,
): Promise<boolean> {
  const key = `${base} ${tip}`;
  const known = contained.get(key);
  if (known !== undefined) return known;
  const question = { base, tip, mergeBase, readOnly: scope.readOnly };
  const answer = await isContained(scope.git, scope.main, question, { signal });
  if (contained.size >= MOST_REMEMBERED) contained.clear();
  contained.set(key, answer);
  return answer;
}

function problemOf(error: unknown): string {
  if (error instanceof ToolError && error.code === "cancelled") throw error;
  return messageOf(error);
}
