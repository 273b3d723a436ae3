/** Where many branches stand against one base, from a single walk over the commits they do not all share. */
import type { Repository } from "./repository.ts";
import type { GitRunner } from "./runner.ts";

/** How a tip stands against the base. */
export interface Standing {
  /** Commits of the tip that the base lacks. */
  ahead: number;
  /** Commits of the base that the tip lacks. */
  behind: number;
  /** Best common ancestor, full object name; null for unrelated histories. */
  mergeBase: string | null;
}

/** Parents by commit, newest commits first. */
export type CommitGraph = Map<string, string[]>;

/**
 * Ahead, behind and merge base of every tip against `base`, with two git commands however many tips.
 *
 * @param tips Full object names; duplicates are fine.
 */
export async function standings(
  git: GitRunner,
  repository: Repository,
  base: string,
  tips: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, Standing>> {
  const wanted = [...new Set([base, ...tips])];
  const shared = await git.exec(repository, ["merge-base", "--octopus", ...wanted], { okCodes: [1], signal });
  const floor = shared.stdout.trim();
  const stdin = [...wanted, ...(floor ? [`^${floor}`] : []), ""].join("\n");
  const walk = await git.exec(repository, ["rev-list", "--topo-order", "--parents", "--stdin"], {
    stdin,
    signal,
  });
  const graph = parseParents(walk.stdout);
  const inBase = reach(graph, base);
  return new Map(tips.map((tip) => [tip, standing(graph, inBase, tip, floor || null)]));
}

/** Parses `git rev-list --parents`. */
export function parseParents(text: string): CommitGraph {
  const graph: CommitGraph = new Map();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [commit, ...parents] = line.split(" ");
    graph.set(commit, parents);
  }
  return graph;
}

/**
 * Stands one tip against what the base reaches. Commits outside the graph are the ones that everything
 * shares; `floor` is the newest of those.
 */
export function standing(
  graph: CommitGraph,
  inBase: Set<string>,
  tip: string,
  floor: string | null,
): Standing {
  const inTip = reach(graph, tip);
  let ahead = 0;
  let common = 0;
  for (const commit of inTip) inBase.has(commit) ? common++ : ahead++;
  return { ahead, behind: inBase.size - common, mergeBase: newestCommon(graph, inBase, inTip) ?? floor };
}

/** The graph is in topological order, so the first commit that both reach is not behind another one. */
function newestCommon(graph: CommitGraph, inBase: Set<string>, inTip: Set<string>): string | null {
  for (const commit of graph.keys()) if (inBase.has(commit) && inTip.has(commit)) return commit;
  return null;
}

/** The commits of the graph that `start` reaches, itself among them. */
export function reach(graph: CommitGraph, start: string): Set<string> {
  const seen = new Set<string>();
  const todo = [start];
  for (let commit = todo.pop(); commit !== undefined; commit = todo.pop()) {
    if (seen.has(commit) || !graph.has(commit)) continue;
    seen.add(commit);
    todo.push(...graph.get(commit)!);
  }
  return seen;
}
