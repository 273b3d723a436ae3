import * as z from "zod";
import { asToolError, endsCall, ToolError } from "../../errors.ts";
import type { Repository } from "../../git/repository.ts";
import { headOf } from "../../git/refs.ts";
import { openNested } from "../../workspace/nested.ts";
import { findPreset, type ParityPair } from "../../workspace/presets.ts";
import { joinedPairs } from "../../workspace/preset_merge.ts";
import { firstFitting, shrinking } from "../budget.ts";
import { fenced, oneLine } from "../markdown.ts";
import { ERROR, errorPayload, fanOut, FORMAT, MANY_ROOTS, rootsOf } from "../roots.ts";
import { defineTool, type ToolContext } from "../tool.ts";

const PAIR_INPUT = z.strictObject({
  left: z.string().min(1).max(4096),
  right: z.string().min(1).max(4096),
  label: z.string().max(200).optional(),
});

const PAIR = z.strictObject({
  label: z.string(),
  leftPath: z.string(),
  rightPath: z.string(),
  match: z.boolean(),
  sha: z.string().optional(),
  leftSha: z.string().optional(),
  rightSha: z.string().optional(),
  sameRepository: z.boolean().optional(),
  error: z.string().optional(),
});
type Pair = z.infer<typeof PAIR>;

const PARITY = z.strictObject({
  workspace_root: z.string(),
  presetSchemaVersion: z.string().optional(),
  status: z.enum(["OK", "MISMATCH"]),
  pairs: z.array(PAIR),
  omittedMatches: z.int().min(1).optional(),
  omittedPairs: z.int().min(1).optional(),
  error: ERROR.optional(),
});
type Parity = z.infer<typeof PARITY>;

const OUTPUT = z.strictObject({
  parity: z.array(PARITY),
  omittedRoots: z.int().min(1).optional(),
  more: z.string().optional(),
});

const INPUT = z.strictObject({
  pairs: z.array(PAIR_INPUT).max(256).optional(),
  preset: z.string().max(200).optional(),
  presetMerge: z.boolean().default(false),
  ...MANY_ROOTS,
  ...FORMAT,
});
type Input = z.output<typeof INPUT>;

/** `git_parity`: whether pairs of repositories stand at the same commit. */
export const gitParity = defineTool({
  name: "git_parity",
  toolset: "git",
  title: "Compare HEADs",
  description:
    "Compare the HEAD commits of pairs of directories, relative to the top of the root's repository; preset " +
    "names a list in the preset file. match:false with error means that a side could not be read.",
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: INPUT,
  output: OUTPUT,
  async run(input, context) {
    const roots = await rootsOf(context, input);
    const parity = await fanOut(context, roots, async (root) => {
      try {
        return await parityOf(context, root, input);
      } catch (error) {
        if (endsCall(error)) throw error;
        const { code } = asToolError(error);
        if (roots.length === 1 && code !== "not_a_git_repository") throw error;
        return failed(root, error);
      }
    });
    if (parity.every(({ error }) => error?.error === "no_pairs")) throw noPairs();
    return fitted(parity);
  },
  render({ parity, omittedRoots, more }) {
    const sections = parity.map(sectionOf);
    if (omittedRoots) sections.push(`_(${omittedRoots} roots not shown)_`);
    const text = sections.join("\n\n---\n\n");
    return more ? `${text}\n\n_${more}_` : text;
  },
});

function noPairs(): ToolError {
  return new ToolError("no_pairs", "no pairs were given, and no preset with parityPairs");
}

async function parityOf(context: ToolContext, root: string, input: Input): Promise<Parity> {
  const repository = await context.workspace.open(root);
  const found = input.preset === undefined ? undefined : await findPreset(repository.root, input.preset);
  const wanted = joinedPairs({
    inline: input.pairs ?? [],
    preset: found?.preset.parityPairs,
    merge: input.presetMerge,
  });
  if (wanted.length === 0) throw noPairs();
  // A side that stands in many pairs is looked at once.
  const sides = new Map<string, Promise<Side>>();
  const side = (name: string) => {
    const known = sides.get(name) ?? sideOf(context, repository, name);
    sides.set(name, known);
    return known;
  };
  const pairs = await fanOut(context, wanted, (pair) => compare(pair, side));
  return {
    workspace_root: repository.root,
    ...(found?.schemaVersion ? { presetSchemaVersion: found.schemaVersion } : {}),
    status: pairs.every(({ match }) => match) ? "OK" : "MISMATCH",
    pairs,
  };
}

interface Side {
  path: string;
  sha?: string;
  top?: string;
  error?: string;
}

async function compare(pair: ParityPair, side: (name: string) => Promise<Side>): Promise<Pair> {
  const [left, right] = await Promise.all([side(pair.left), side(pair.right)]);
  const common = {
    label: pair.label ?? `${pair.left} / ${pair.right}`,
    leftPath: left.path,
    rightPath: right.path,
  };
  const errors = [
    ...(left.error ? [`left: ${left.error}`] : []),
    ...(right.error ? [`right: ${right.error}`] : []),
  ];
  if (errors.length > 0) {
    const escaping = [left, right].some(({ error }) => error === ESCAPES);
    return { ...common, match: false, error: escaping ? ESCAPES : errors.join("\n") };
  }
  if (left.sha !== right.sha) return { ...common, match: false, leftSha: left.sha, rightSha: right.sha };
  const same = left.top === right.top ? { sameRepository: true as const } : {};
  return { ...common, match: true, sha: left.sha, ...same };
}

const ESCAPES = "path escapes git toplevel — rejected";

async function sideOf(context: ToolContext, repository: Repository, name: string): Promise<Side> {
  const { app: { git }, workspace, signal } = context;
  const { path, repository: side, problem, kind } = await openNested(workspace, repository, name);
  if (side === null) return { path, error: kind === "escapes" ? ESCAPES : problem };
  try {
    const sha = await headOf(git, side, { signal });
    return sha === null ? { path, error: "HEAD names no commit yet" } : { path, sha, top: side.root };
  } catch (error) {
    if (endsCall(error)) throw error;
    return { path, error: asToolError(error).message };
  }
}

function failed(root: string, error: unknown): Parity {
  const payload = errorPayload(error);
  if (payload.error === "no_pairs") {
    return { workspace_root: root, status: "MISMATCH", pairs: [], error: payload };
  }
  const pair = { label: "—", leftPath: "", rightPath: "", match: false, error: JSON.stringify(payload) };
  return { workspace_root: root, status: "MISMATCH", pairs: [pair] };
}

/** Pairs that match say the least, and roots in which all of them do. */
function fitted(parity: readonly Parity[]): z.infer<typeof OUTPUT> {
  const differing = parity.flatMap(({ pairs }) => pairs).filter(({ match }) => !match);
  const telling = parity.toSorted((a, b) => Number(a.status === "OK") - Number(b.status === "OK"));
  const few = new Set(differing.slice(0, 5));
  return firstFitting([
    () => ({ parity: [...parity] }),
    ...shrinking(differing.length).map((count) => () =>
      shaped(parity, new Set(differing.slice(0, count)), parity.length)
    ),
    ...shrinking(telling.length).map((count) => () => {
      const kept = new Set(telling.slice(0, count));
      return shaped(parity.filter((one) => kept.has(one)), few, parity.length);
    }),
  ]);
}

function shaped(
  parity: readonly Parity[],
  kept: ReadonlySet<Pair>,
  roots: number,
): z.infer<typeof OUTPUT> {
  const shown = parity.map((one) => {
    const pairs = one.pairs.filter((pair) => kept.has(pair));
    const matches = one.pairs.filter(({ match }) => match).length;
    const omitted = one.pairs.length - pairs.length - matches;
    return {
      ...one,
      pairs,
      ...(matches > 0 ? { omittedMatches: matches } : {}),
      ...(omitted > 0 ? { omittedPairs: omitted } : {}),
    };
  });
  return {
    parity: shown,
    ...(roots > shown.length ? { omittedRoots: roots - shown.length } : {}),
    more: "pairs were left out, those that match first: call again with fewer pairs, or one workspaceRoot",
  };
}

function sectionOf({ workspace_root, status, pairs, omittedMatches, omittedPairs, error }: Parity): string {
  const lines = ["# Git HEAD parity", "", `_root: ${workspace_root}_`, `status: ${status}`, ""];
  if (error) lines.push(JSON.stringify(error));
  for (const pair of pairs) {
    const verdict = pair.error !== undefined ? "error" : pair.match ? "OK" : "MISMATCH";
    lines.push(`## ${oneLine(pair.label)} — ${verdict}`, fenced(bodyOf(pair), "text"), "");
  }
  if (omittedMatches) lines.push(`_(${omittedMatches} matching pair(s) not shown)_`);
  if (omittedPairs) lines.push(`_(${omittedPairs} more pair(s) not shown)_`);
  return lines.join("\n").trimEnd();
}

function bodyOf(pair: Pair): string {
  if (pair.error !== undefined) return pair.error;
  const places = `left:  ${pair.leftPath}\nright: ${pair.rightPath}`;
  if (!pair.match) return `left:  ${pair.leftSha}\nright: ${pair.rightSha}\n${places}`;
  return `SHA: ${pair.sha}\n${places}${pair.sameRepository ? "\nboth are in the same repository" : ""}`;
}
