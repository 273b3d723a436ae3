/** What the browsing tools share: how counts are read, and how a repository is named. */
import * as z from "zod";
import type { View } from "../browse/view.ts";
import { asToolError, endsCall } from "../errors.ts";
import { mapBounded, PARALLELISM } from "../platform/pool.ts";
import type { Target } from "../search/engine.ts";
import type { ToolContext } from "./tool.ts";

/** The argument that names one repository. */
export const REPO = z.string().max(1000).describe("name from gb_list_repos");
/** The argument that names several. */
export const REPOS = z.array(REPO).max(1000);
/** The argument that names a commit. */
export const REVISION = z.string().max(600).optional().describe(
  "branch, tag or SHA; default branch if omitted",
);
/** A count: below 1 stands for the default, above the maximum for the maximum. */
export const COUNT = z.int().optional();
/** How many to pass over. */
export const OFFSET = z.int().optional();

/** A count as it is meant. */
export function countOf(given: number | undefined, usual: number, most: number): number {
  return given === undefined || given < 1 ? usual : Math.min(given, most);
}

/** An offset as it is meant. */
export function offsetOf(given: number | undefined): number {
  return Math.max(0, given ?? 0);
}

/** The view of the repository of that name. */
export async function viewOf({ app, workspace }: ToolContext, repo: string): Promise<View> {
  await app.git.binary();
  return await app.library.viewOf(workspace, repo);
}

/** Repositories to be searched, and what is to be said of those that cannot be. */
export interface Targets {
  targets: Target[];
  notes: string[];
}

/**
 * The repositories that a search is about. One that was named has to be readable; among all of them, those that
 * are not are passed over and told.
 */
export async function targetsOf(
  { app, workspace }: ToolContext,
  repos: readonly string[] | undefined,
): Promise<Targets> {
  await app.git.binary();
  const chosen = await app.library.choose(workspace, repos);
  const notes: string[] = [];
  const targets = await mapBounded(chosen, PARALLELISM, async (served): Promise<Target[]> => {
    try {
      return [{ served, view: await app.library.view(workspace, served) }];
    } catch (error) {
      if (repos?.length || endsCall(error) || asToolError(error).code === "internal_error") throw error;
      notes.push(`${served.name} was left out: ${asToolError(error).message}`);
      return [];
    }
  });
  return { targets: targets.flat(), notes };
}

/** Notes as one field of a payload: the first few of them. */
export function noteOf(notes: readonly string[]): { note?: string } {
  if (notes.length === 0) return {};
  const rest = notes.length - MOST_NOTES;
  return { note: notes.slice(0, MOST_NOTES).join("; ") + (rest > 0 ? `; and ${rest} more` : "") };
}

const MOST_NOTES = 5;
