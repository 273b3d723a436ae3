import * as z from "zod";
import { asToolError, endsCall, ToolError } from "../../errors.ts";
import { PARALLELISM, Semaphore } from "../../platform/pool.ts";
import { checkCommitish } from "../../git/refs.ts";
import { type FixedUpstream, modeOf, readInventory } from "../../workspace/inventory.ts";
import { openNested } from "../../workspace/nested.ts";
import { findPreset } from "../../workspace/presets.ts";
import { joinedRoots } from "../../workspace/preset_merge.ts";
import { firstFitting, shrinking } from "../budget.ts";
import { fenced, oneLine } from "../markdown.ts";
import { ERROR, errorPayload, fanOut, FORMAT, MANY_ROOTS, rootsOf } from "../roots.ts";
import { defineTool, type ToolContext } from "../tool.ts";

const ENTRY = z.strictObject({
  label: z.string(),
  path: z.string(),
  upstreamMode: z.enum(["auto", "fixed"]),
  branchStatus: z.string().optional(),
  headAbbrev: z.string().optional(),
  upstreamRef: z.string().optional(),
  ahead: z.string().optional(),
  behind: z.string().optional(),
  upstreamNote: z.string().optional(),
  detached: z.boolean().optional(),
  skipReason: z.string().optional(),
});
type Entry = z.infer<typeof ENTRY>;

const INVENTORY = z.strictObject({
  workspace_root: z.string(),
  presetSchemaVersion: z.string().optional(),
  nestedRootsTruncated: z.boolean().optional(),
  nestedRootsOmittedCount: z.int().min(1).optional(),
  upstream: z.strictObject({ mode: z.enum(["fixed"]), remote: z.string(), branch: z.string() }).optional(),
  entries: z.array(ENTRY),
  omittedEntries: z.int().min(1).optional(),
  error: ERROR.optional(),
});
type Inventory = z.infer<typeof INVENTORY>;

const OUTPUT = z.strictObject({
  inventories: z.array(INVENTORY),
  omittedRoots: z.int().min(1).optional(),
  more: z.string().optional(),
});

const DEFAULT_MAX_ROOTS = 64;
const INPUT = z.strictObject({
  nestedRoots: z.array(z.string().min(1).max(4096)).max(1000).optional(),
  preset: z.string().max(200).optional(),
  presetMerge: z.boolean().default(false),
  remote: z.string().optional(),
  branch: z.string().optional(),
  maxRoots: z.int().min(1).max(256).optional(),
  ...MANY_ROOTS,
  ...FORMAT,
});
type Input = z.output<typeof INPUT>;

/** `git_inventory`: branch, changes, ahead and behind of many repositories. */
export const gitInventory = defineTool({
  name: "git_inventory",
  toolset: "git",
  title: "Inventory of repositories",
  description:
    "Status and ahead/behind of each root, or of nestedRoots (paths below it; preset names a list in " +
    ".rethunk/git-mcp-presets.json, presetMerge adds to it). Compares with each upstream, or with " +
    "remote/branch when both are given. maxRoots (default 64) bounds nestedRoots.",
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: INPUT,
  output: OUTPUT,
  async run(input, context) {
    const fixed = fixedUpstream(input);
    const roots = await rootsOf(context, input);
    const inventories = await fanOut(context, roots, async (root) => {
      try {
        return await inventoryOf(context, root, input, fixed);
      } catch (error) {
        if (endsCall(error)) throw error;
        // With one root its failure is the call's, except that being no repository is an answer.
        if (roots.length === 1 && asToolError(error).code !== "not_a_git_repository") throw error;
        return failed(root, error, fixed);
      }
    });
    return fitted(inventories, input.maxRoots !== undefined);
  },
  render({ inventories, omittedRoots, more }) {
    const lines = ["# Git inventory"];
    for (const inventory of inventories) lines.push("", ...sectionOf(inventory));
    if (omittedRoots) lines.push("", `_(${omittedRoots} roots not shown)_`);
    if (more) lines.push("", `_${more}_`);
    return lines.join("\n");
  },
});

function fixedUpstream(input: Input): FixedUpstream | null {
  const [remote, branch] = [input.remote?.trim() ?? "", input.branch?.trim() ?? ""];
  if (remote === "" && branch === "") return null;
  if (remote === "" || branch === "") {
    const given = remote === "" ? "branch" : "remote";
    throw new ToolError("remote_branch_mismatch", `only ${given} was given`);
  }
  for (const token of [remote, branch]) {
    try {
      if (/[~^]/.test(checkCommitish(token))) throw new Error("no plain name");
    } catch (cause) {
      throw new ToolError("invalid_remote_or_branch", `'${token.slice(0, 80)}' is not accepted`, { cause });
    }
  }
  return { remote, branch };
}

async function inventoryOf(
  context: ToolContext,
  root: string,
  input: Input,
  fixed: FixedUpstream | null,
): Promise<Inventory> {
  const { app: { git }, workspace, signal } = context;
  const repository = await workspace.open(root);
  const found = input.preset === undefined ? undefined : await findPreset(repository.root, input.preset);
  const labels = joinedRoots({
    inline: input.nestedRoots ?? [],
    preset: found?.preset.nestedRoots,
    merge: input.presetMerge,
  });
  const maxRoots = input.maxRoots ?? DEFAULT_MAX_ROOTS;
  const omitted = Math.max(0, labels.length - maxRoots);
  const wanted = labels.slice(0, maxRoots);
  // Opening is our own work and git's is not: while one part is opened, git reads the one before.
  const turn = new Semaphore(1);
  const entries = labels.length === 0
    ? await readInventory(git, [{ label: ".", path: repository.root, repository }], fixed, signal)
    : (await fanOut(context, chunks(wanted), async (chunk) => {
      const open = (label: string) => openNested(workspace, repository, label);
      const opened = await turn.run(() => Promise.all(chunk.map(open)));
      return await readInventory(git, opened, fixed, signal);
    }, wanted.length)).flat();
  return {
    workspace_root: repository.root,
    ...(found?.schemaVersion ? { presetSchemaVersion: found.schemaVersion } : {}),
    ...(omitted > 0 ? { nestedRootsTruncated: true as const, nestedRootsOmittedCount: omitted } : {}),
    ...(fixed ? { upstream: { mode: "fixed" as const, ...fixed } } : {}),
    entries,
  };
}

/** Few enough that git does most of the starting, small enough that all cores have work to the end. */
function chunks<T>(items: readonly T[]): T[][] {
  const size = Math.max(4, Math.ceil(items.length / PARALLELISM));
  const found: T[][] = [];
  for (let at = 0; at < items.length; at += size) found.push(items.slice(at, at + size));
  return found;
}

function failed(root: string, error: unknown, fixed: FixedUpstream | null): Inventory {
  const isNone = asToolError(error).code === "not_a_git_repository";
  const skipReason = isNone ? "(not a git repository)" : asToolError(error).message;
  return {
    workspace_root: root,
    entries: [{ label: root, path: root, upstreamMode: modeOf(fixed), skipReason }],
    ...(isNone ? {} : { error: errorPayload(error) }),
  };
}

/** What a large inventory loses first: lists of files, what clean repositories in step say twice, those, others. */
function fitted(inventories: readonly Inventory[], unbounded: boolean): z.infer<typeof OUTPUT> {
  if (unbounded) return { inventories: [...inventories] };
  const entries = inventories.flatMap((inventory) => inventory.entries);
  const telling = entries.filter((entry) => !isPlain(entry));
  const plain = entries.filter(isPlain);
  const short = (entry: Entry) => withoutRepetition(clipped(entry, 1));
  const only = (entries: readonly Entry[]) => () => {
    const kept = new Set(entries);
    return shaped(inventories, (entry) => kept.has(entry) ? short(entry) : null);
  };
  return firstFitting([
    () => ({ inventories: [...inventories] }),
    ...[300, 150, 80, 40, 20, 5, 1].map((lines) => () =>
      shaped(inventories, (entry) => clipped(entry, lines))
    ),
    () => shaped(inventories, short),
    // The telling ones stay while the others go.
    ...shrinking(plain.length).map((count) => only([...telling, ...plain.slice(0, count)])),
    ...shrinking(telling.length).map((count) => only(telling.slice(0, count))),
  ]);
}

function shaped(
  inventories: readonly Inventory[],
  shape: (entry: Entry) => Entry | null,
): z.infer<typeof OUTPUT> {
  let omitted = 0;
  const shown = inventories.map((inventory) => {
    const entries = inventory.entries.map(shape).filter((entry) => entry !== null);
    const missing = inventory.entries.length - entries.length;
    omitted += missing;
    return { ...inventory, entries, ...(missing > 0 ? { omittedEntries: missing } : {}) };
  }).filter(({ entries }) => entries.length > 0);
  const left = inventories.length - shown.length;
  const ways = [
    "shortened: an entry without branchStatus is clean, and in step with its upstream if it has one",
    ...(omitted > 0
      ? [`${omitted} repositories not shown, clean ones first: name them with nestedRoots or workspaceRoot`]
      : []),
  ];
  return { inventories: shown, ...(left > 0 ? { omittedRoots: left } : {}), more: ways.join("; ") };
}

/** Clean, and not apart from its upstream. */
function isPlain({ skipReason, branchStatus, ahead = "0", behind = "0" }: Entry): boolean {
  return skipReason === undefined && !branchStatus?.includes("\n") && ahead === "0" && behind === "0";
}

function clipped(entry: Entry, lines: number): Entry {
  const all = entry.branchStatus?.split("\n") ?? [];
  if (all.length <= lines + 1) return entry;
  const shown = [...all.slice(0, lines), `… ${all.length - lines} more`];
  return { ...entry, branchStatus: shown.join("\n") };
}

/** A clean repository in step says all that with its branch alone. */
function withoutRepetition(entry: Entry): Entry {
  if (!isPlain(entry)) return entry;
  const { label, path, upstreamMode, headAbbrev, detached } = entry;
  return { label, path, upstreamMode, headAbbrev, ...(detached ? { detached } : {}) };
}

function sectionOf(inventory: Inventory): string[] {
  const { workspace_root, upstream, nestedRootsOmittedCount, omittedEntries, entries, error } = inventory;
  const lines = [`### ${oneLine(workspace_root)}`];
  if (error) return [...lines, JSON.stringify(error)];
  lines.push(upstream ? `upstream (fixed): ${upstream.remote}/${upstream.branch}` : "upstream: @{u}");
  if (inventory.presetSchemaVersion) lines.push(`preset_schema_version: ${inventory.presetSchemaVersion}`);
  if (nestedRootsOmittedCount) {
    lines.push(`nested_roots_truncated: ${nestedRootsOmittedCount} path(s) not listed (maxRoots)`);
  }
  for (const entry of entries) {
    lines.push("", `## ${oneLine(entry.label)} — ${oneLine(entry.path)}`, bodyOf(entry));
  }
  if (omittedEntries) lines.push("", `_(${omittedEntries} not shown)_`);
  return lines;
}

function bodyOf(entry: Entry): string {
  if (entry.skipReason !== undefined) return entry.skipReason;
  const lines = [entry.branchStatus ?? `${entry.headAbbrev}: clean`];
  if (entry.detached) lines.push("detached HEAD");
  if (entry.ahead !== undefined) {
    lines.push(`${entry.upstreamRef}: ahead ${entry.ahead}, behind ${entry.behind}`);
  } else if (entry.upstreamNote !== undefined) lines.push(`upstream: ${entry.upstreamNote}`);
  const text = lines.join("\n");
  return text.includes("\n") ? fenced(text, "text") : text;
}
