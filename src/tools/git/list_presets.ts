import * as z from "zod";
import { asToolError, endsCall } from "../../errors.ts";
import { PRESET_FILE, readPresets } from "../../workspace/presets.ts";
import { clipped } from "../../platform/text.ts";
import { firstFitting, shrinking } from "../budget.ts";
import { fenced, oneLine } from "../markdown.ts";
import { ERROR, errorPayload, fanOut, FORMAT, MANY_ROOTS, rootsOf } from "../roots.ts";
import { defineTool, type ToolContext } from "../tool.ts";

const PRESET = z.strictObject({
  name: z.string(),
  nestedRootsCount: z.int().min(0),
  parityPairsCount: z.int().min(0),
  workspaceRootHint: z.string().optional(),
});

const ROOT = z.strictObject({
  workspaceRoot: z.string(),
  gitTop: z.string().nullable(),
  presetFile: z.string(),
  fileExists: z.boolean(),
  presetSchemaVersion: z.string().optional(),
  presets: z.array(PRESET),
  omittedPresets: z.int().min(1).optional(),
  error: ERROR.optional(),
});
type Root = z.infer<typeof ROOT>;

const OUTPUT = z.strictObject({
  roots: z.array(ROOT),
  omittedRoots: z.int().min(1).optional(),
  more: z.string().optional(),
});

/** `list_presets`: which presets the repositories of the roots define. */
export const listPresets = defineTool({
  name: "list_presets",
  toolset: "git",
  title: "List presets",
  description: `Names and sizes of the presets in ${PRESET_FILE} of each root's repository.`,
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: z.strictObject({ ...MANY_ROOTS, ...FORMAT }),
  output: OUTPUT,
  async run(input, context) {
    const roots = await rootsOf(context, input);
    return fitted(await fanOut(context, roots, (root) => presetsOf(context, root)));
  },
  render({ roots, omittedRoots, more }) {
    const lines = ["# Git MCP presets"];
    for (const root of roots) lines.push("", ...sectionOf(root));
    if (omittedRoots) lines.push("", `_(${omittedRoots} roots not shown)_`);
    if (more) lines.push("", `_${more}_`);
    return lines.join("\n");
  },
});

async function presetsOf({ workspace }: ToolContext, root: string): Promise<Root> {
  let top: string | null = null;
  const none = { workspaceRoot: root, fileExists: false, presets: [] };
  try {
    top = (await workspace.open(root)).root;
    const { file, exists, schemaVersion, presets } = await readPresets(top);
    return {
      ...none,
      gitTop: top,
      presetFile: file,
      fileExists: exists,
      ...(schemaVersion ? { presetSchemaVersion: schemaVersion } : {}),
      presets: Object.entries(presets).map(([name, preset]) => ({
        name: clipped(name, 200),
        nestedRootsCount: preset.nestedRoots?.length ?? 0,
        parityPairsCount: preset.parityPairs?.length ?? 0,
        ...(preset.workspaceRootHint ? { workspaceRootHint: clipped(preset.workspaceRootHint, 200) } : {}),
      })),
    };
  } catch (error) {
    if (endsCall(error)) throw error;
    const isFile = asToolError(error).code === "preset_file_invalid";
    const presetFile = `${top ?? root}/${PRESET_FILE}`;
    return { ...none, gitTop: top, presetFile, fileExists: isFile, error: errorPayload(error) };
  }
}

function fitted(roots: readonly Root[]): z.infer<typeof OUTPUT> {
  // Roots without presets say the least.
  const telling = roots.filter(({ presets, error }) => presets.length > 0 || error);
  return firstFitting([
    () => ({ roots: [...roots] }),
    ...[100, 30, 10, 3].map((count) => () => shaped(telling, roots.length, count)),
    ...shrinking(telling.length).map((shown) => () => shaped(telling.slice(0, shown), roots.length, 3)),
  ]);
}

function shaped(roots: readonly Root[], all: number, count: number): z.infer<typeof OUTPUT> {
  const omitted = all - roots.length;
  return {
    roots: roots.map((root) => {
      const left = root.presets.length - count;
      return left > 0 ? { ...root, presets: root.presets.slice(0, count), omittedPresets: left } : root;
    }),
    ...(omitted > 0 ? { omittedRoots: omitted } : {}),
    more: "shortened: call list_presets with workspaceRoot, or read the presetFile",
  };
}

function sectionOf(root: Root): string[] {
  const { workspaceRoot, gitTop, presetFile, fileExists, presets, error } = root;
  const lines = [`## ${workspaceRoot}`, `git_top: ${gitTop ?? "(none)"}`, `preset_file: ${presetFile}`];
  if (error) return [...lines, fenced(JSON.stringify(error, null, 2), "json")];
  if (!fileExists) return [...lines, "(no preset file)"];
  if (root.presetSchemaVersion) lines.push(`preset_schema_version: ${root.presetSchemaVersion}`);
  if (presets.length === 0) return [...lines, "(empty preset file)"];
  for (const { name, nestedRootsCount, parityPairsCount, workspaceRootHint } of presets) {
    const hint = workspaceRootHint ? `, hint=${oneLine(workspaceRootHint)}` : "";
    lines.push(
      `- **${oneLine(name)}**: nestedRoots=${nestedRootsCount}, parityPairs=${parityPairsCount}${hint}`,
    );
  }
  if (root.omittedPresets) lines.push(`_(${root.omittedPresets} more)_`);
  return lines;
}
