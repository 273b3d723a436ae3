/** What every tool of the git family shares: the arguments that choose its roots, and the walk over them. */
import * as z from "zod";
import { asToolError } from "../errors.ts";
import type { Repository } from "../git/repository.ts";
import { mapBounded, PARALLELISM } from "../platform/pool.ts";
import type { RootChoice } from "../workspace/workspace.ts";
import type { ToolContext } from "./tool.ts";

/** Arguments that choose one root. */
export const ONE_ROOT = {
  workspaceRoot: z.string().max(4096).optional(),
  rootIndex: z.int().min(0).optional(),
  sessionId: z.string().max(200).optional(),
} as const;

/** Arguments that choose one root or all of them. */
export const MANY_ROOTS = {
  ...ONE_ROOT,
  allWorkspaceRoots: z.boolean().default(false),
} as const;

/** The form of the text half of an answer. */
export const FORMAT = { format: z.enum(["markdown", "json"]).default("markdown") } as const;

/** From this many repositories on, a call reports how far it is. */
const WORTH_REPORTING = 20;

/** The repository of a call that has exactly one root. */
export async function oneRepository(context: ToolContext, choice: RootChoice): Promise<Repository> {
  await context.app.git.binary();
  return await context.workspace.open(await context.workspace.root(choice));
}

/** The roots of a call; without git there is no use in looking at any. */
export async function rootsOf(context: ToolContext, choice: RootChoice): Promise<string[]> {
  await context.app.git.binary();
  return await context.workspace.roots(choice);
}

/**
 * Works on many things at once, keeps their order, and reports progress when they are many.
 *
 * @param total How many they are when an item stands for several.
 */
export async function fanOut<T, R>(
  context: ToolContext,
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
  total: number = items.length,
): Promise<R[]> {
  let done = 0;
  return await mapBounded(items, PARALLELISM, async (item, index) => {
    const result = await work(item, index);
    if (total >= WORTH_REPORTING) context.progress(Math.round(++done * total / items.length), total);
    return result;
  });
}

/** Schema of an error that is a part of a payload: that of one root among others. */
export const ERROR = z.strictObject({
  error: z.string(),
  message: z.string(),
  kind: z.string().optional(),
  preset: z.string().optional(),
  presetFile: z.string().optional(),
  issues: z.array(z.strictObject({ path: z.array(z.string()), message: z.string(), code: z.string() }))
    .optional(),
});

/** An error as a part of a payload. */
export function errorPayload(error: unknown): z.infer<typeof ERROR> {
  const { code, message, details } = asToolError(error);
  const known = Object.keys(ERROR.shape);
  const facts = Object.entries(details).filter(([key]) => known.includes(key));
  return { error: code, message, ...Object.fromEntries(facts) };
}
