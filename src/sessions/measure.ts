/** Where sessions stand: lines, commits ahead and behind, uncommitted files, and whether they are merged. */
import { messageOf, ToolError } from "../errors.ts";
import { isContained } from "../git/containment.ts";
import { NO_DIFF_PROGRAMS } from "../git/environment.ts";
import { type Standing, standings } from "../git/graph.ts";
import { type LineCount, sumNumstat } from "../git/numstat.ts";
import type { Repository } from "../git/repository.ts";
import { readStatus, type Status } from "../git/status.ts";
import { lstatOrNull } from "../platform/jail.ts";
import { mapBounded, PARALLELISM } from "../platform/pool.ts";
import { type Base, findBase } from "./base.ts";
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
    look.status = await readStatus(scope.git, look.tree, { signal });
    return look;
  } catch (error) {
    return { ...look, problem: problemOf(error) };
  }
}

interface Measured {
  stats: SessionStats;
  base: Base | null;
  mergeBase: string | null;
}

async function measureGroup(
  scope: SessionScope,
  name: string,
  group: readonly Look[],
  signal?: AbortSignal,
): Promise<Map<Look, Measured>> {
  const measured = new Map<Look, Measured>(
    group.map((
      look,
    ) => [look, { stats: { available: false, reason: look.problem }, base: null, mergeBase: null }]),
  );
  const whole = group.filter((look) => look.status?.head);
  if (whole.length === 0) return measured;
  try {
    const base = await findBase(scope, name, signal);
    const tips = whole.map((look) => look.status!.head!);
    const stands = await standings(scope.git, scope.main, base.oid, tips, signal);
    const lines = await countLines(scope, whole, stands, signal);
    for (const look of whole) {
      const { ahead, behind, mergeBase } = stands.get(look.status!.head!)!;
      const count = lines.get(look)!;
      const uncommittedFiles = look.status!.entries.length;
      const stats: SessionStats = typeof count === "string"
        ? { available: false, reason: count }
        : { available: true, lines: count, ahead, behind, uncommittedFiles };
      measured.set(look, { stats, base, mergeBase });
    }
  } catch (error) {
    if (signal?.aborted) throw error;
    for (const look of whole) {
      measured.set(look, {
        stats: { available: false, reason: problemOf(error) },
        base: null,
        mergeBase: null,
      });
    }
  }
  return measured;
}

/** Clean worktrees are what their commit is, so one git counts them all; the others are counted where they lie. */
async function countLines(
  scope: SessionScope,
  looks: readonly Look[],
  stands: ReadonlyMap<string, Standing>,
  signal?: AbortSignal,
): Promise<Map<Look, LineCount | string>> {
  const counts = new Map<Look, LineCount | string>();
  const from = (look: Look) => stands.get(look.status!.head!)!.mergeBase;
  const related = looks.filter((look) => from(look) !== null);
  for (const look of looks) {
    if (from(look) === null) counts.set(look, "the session shares no commit with its base");
  }
  const clean = related.filter((look) => look.status!.entries.every((entry) => entry.kind === "untracked"));
  const dirty = related.filter((look) => !clean.includes(look));
  const committed = await countCommitted(
    scope,
    clean.map((look) => [look.status!.head!, from(look)!]),
    signal,
  );
  clean.forEach((look, at) => counts.set(look, committed[at]));
  await mapBounded(dirty, PARALLELISM, async (look) => {
    const args = ["diff", ...NO_DIFF_PROGRAMS, "--numstat", "-M", "-z", from(look)!];
    try {
      const { stdout } = await scope.git.exec(look.tree!, args, { signal });
      counts.set(look, sumNumstat(stdout.split("\0")));
    } catch (error) {
      counts.set(look, problemOf(error));
    }
  });
  return counts;
}

/** Lines between pairs of commits, `[to, from]`, in one `git diff-tree`. */
async function countCommitted(
  scope: SessionScope,
  pairs: readonly [string, string][],
  signal?: AbortSignal,
): Promise<LineCount[]> {
  if (pairs.length === 0) return [];
  const stdin = pairs.map(([to, from]) => `${to} ${from}\n`).join("");
  const args = ["diff-tree", ...NO_DIFF_PROGRAMS, "--stdin", "--always", "-r", "-M", "--numstat", "-z"];
  const { stdout } = await scope.git.exec(scope.main, args, { stdin, signal });
  const groups: string[][] = [];
  for (const record of stdout.split("\0")) {
    if (record === pairs[groups.length]?.[0]) groups.push([]);
    else groups.at(-1)?.push(record);
  }
  return pairs.map((_, at) => sumNumstat(groups[at] ?? []));
}

/** `merged` when there was work and all of it is in the base; what was merged and got new work is open again. */
async function currentStatus(
  scope: SessionScope,
  look: Look,
  { stats, base, mergeBase }: Measured,
  signal?: AbortSignal,
): Promise<SessionStatus> {
  const { session } = look.stored;
  if (!stats.available || !base) return session.status;
  const tip = look.status!.head!;
  const merged = tip !== session.start && stats.uncommittedFiles === 0 &&
    (stats.ahead === 0 || (stats.behind > 0 && await containedOnce(scope, base.oid, tip, mergeBase, signal)));
  const status: SessionStatus = merged ? "merged" : session.status === "merged" ? "open" : session.status;
  if (status !== session.status && !scope.readOnly) {
    const changed: Session = { ...session, status, updatedAt: Date.now() };
    await scope.store.put(scope.main.commonDir, changed, look.stored.version);
  }
  return status;
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
