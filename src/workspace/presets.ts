/**
 * Presets: named sets of nested roots and pairs to compare, in `.rethunk/git-mcp-presets.json` at the top of a
 * repository. `docs/git-mcp-presets.schema.json` is made from what stands here.
 */
import * as path from "node:path";
import * as z from "zod";
import { messageOf, ToolError } from "../errors.ts";
import { lstatOrNull, resolveInRoot } from "../platform/jail.ts";
import { clipped } from "../platform/text.ts";

/** One pair of directories to compare. */
export interface ParityPair {
  left: string;
  right: string;
  label?: string;
}

/** One preset. */
export interface Preset {
  nestedRoots?: string[];
  parityPairs?: ParityPair[];
  workspaceRootHint?: string;
}

/** The schemas, made when the first file is read: most calls never need them. */
let formats: ReturnType<typeof makeFormats> | undefined;

function makeFormats() {
  const pair = z.strictObject({
    left: z.string().min(1).describe("Path of the first repository, relative to the top of this one"),
    right: z.string().min(1).describe("Path of the second repository"),
    label: z.string().optional().describe("What to call the pair; default: 'left / right'"),
  }).describe("Two repositories whose HEAD commits should be the same");
  const entry = z.strictObject({
    nestedRoots: z.array(z.string().min(1)).optional()
      .describe("Repositories below this one, in the order in which they are listed"),
    parityPairs: z.array(pair).optional().describe("Pairs of repositories to compare"),
    workspaceRootHint: z.string().optional()
      .describe("Which workspace root the preset is for: its path, the end of its path, or its name"),
  }).describe("A preset");
  const common = {
    $schema: z.string().optional().describe("Path or address of this schema, for editors"),
    schemaVersion: z.literal("1").optional().describe("Version of the format"),
  };
  return {
    entry,
    /** The presets stand under a key of their own. */
    wrapped: z.strictObject({
      ...common,
      presets: z.record(z.string(), entry).describe("Presets by name"),
    }),
    /** The older layout: they stand at the top. */
    legacy: z.object(common).catchall(entry)
      .refine((value) => presetNames(value).length > 0, "at least one preset is needed"),
  };
}

/** A preset file as read. */
export interface PresetFile {
  /** Absolute path. */
  file: string;
  exists: boolean;
  schemaVersion?: string;
  presets: Record<string, Preset>;
}

/** Where the file stands below the top of a repository. */
export const PRESET_FILE = ".rethunk/git-mcp-presets.json";
const LARGEST = 1024 * 1024;
/** Of the faults of a file, and of each word of them, this much is told. */
const MOST_ISSUES = 10;
const LONGEST_WORD = 300;

/**
 * Reads the preset file of a repository. A missing one is no error.
 *
 * @throws {ToolError} `preset_file_invalid` with `kind` `invalid_json` or `schema` and the place of the fault.
 */
export async function readPresets(top: string): Promise<PresetFile> {
  const file = path.join(top, ...PRESET_FILE.split("/"));
  const text = await readText(file, top);
  if (text === null) return { file, exists: false, presets: {} };
  const value = parseJson(file, text);
  const wrapped = isWrapped(value);
  formats ??= makeFormats();
  const parsed = (wrapped ? formats.wrapped : formats.legacy).safeParse(value);
  if (!parsed.success) throw schemaError(file, parsed.error.issues);
  const data = parsed.data as Record<string, unknown>;
  const presets = wrapped
    ? data.presets
    : Object.fromEntries(presetNames(data).map((name) => [name, data[name]]));
  const schemaVersion = data.schemaVersion as string | undefined;
  return {
    file,
    exists: true,
    ...(schemaVersion ? { schemaVersion } : {}),
    presets: presets as Record<string, Preset>,
  };
}

/** A preset by name, with the file it stands in. */
export interface FoundPreset {
  preset: Preset;
  schemaVersion?: string;
}

/**
 * The preset of that name.
 *
 * @throws {ToolError} `preset_not_found`, `preset_file_invalid`.
 */
export async function findPreset(top: string, name: string): Promise<FoundPreset> {
  const { file, presets, schemaVersion } = await readPresets(top);
  if (!Object.hasOwn(presets, name)) {
    const names = Object.keys(presets).slice(0, 20).map((known) => clipped(known, 100));
    throw new ToolError("preset_not_found", `no preset '${name}' in '${file}'`, {
      details: { preset: name, presetFile: file, ...(names.length > 0 ? { presets: names } : {}) },
    });
  }
  return { preset: presets[name], ...(schemaVersion ? { schemaVersion } : {}) };
}

/** Whether a preset's hint is for a root; a preset without one is for any. */
export function hintMatches(hint: string | undefined, root: string): boolean {
  if (hint === undefined || hint.trim() === "") return true;
  const [wanted, given] = [hint.trim(), root].map((text) => text.replaceAll("\\", "/").replace(/\/+$/, ""));
  return given === wanted || given.endsWith(`/${wanted}`);
}

/** The published JSON Schema of the file: either layout. */
export function presetsJsonSchema(): Record<string, unknown> {
  const { wrapped, legacy } = makeFormats();
  const form = (schema: z.ZodType) => {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: "draft-2020-12", io: "input" });
    return rest;
  };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Presets of repositories",
    description: `The file ${PRESET_FILE} at the top of a repository.`,
    anyOf: [form(wrapped), { ...form(legacy), minProperties: 1 }],
  };
}

function presetNames(value: Record<string, unknown>): string[] {
  return Object.keys(value).filter((key) => key !== "$schema" && key !== "schemaVersion");
}

/** A preset may be called `presets`: then what stands there has a preset's own keys with a preset's values. */
function isWrapped(value: Record<string, unknown>): boolean {
  if (!("presets" in value)) return false;
  const { presets } = value;
  if (typeof presets !== "object" || presets === null || Array.isArray(presets)) return true;
  const { entry } = formats ??= makeFormats();
  const readsLikeEntry = Object.keys(presets).length > 0 && entry.safeParse(presets).success;
  return !readsLikeEntry;
}

async function readText(file: string, top: string): Promise<string | null> {
  const broken = (message: string) => invalidJson(file, message);
  const real = await resolveInRoot(top, PRESET_FILE).catch(() => null);
  if (real === null) throw broken("it lies outside of the repository");
  const info = await lstatOrNull(file);
  if (info === null) return null;
  // A link could show a file from anywhere in an error text.
  if (!info.isFile) throw broken("it is not a regular file");
  if (info.size > LARGEST) throw broken(`it is larger than ${LARGEST} bytes`);
  try {
    return await Deno.readTextFile(file);
  } catch (error) {
    throw broken(messageOf(error));
  }
}

function parseJson(file: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw invalidJson(file, placed(text, messageOf(error)));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidJson(file, "Preset file root must be a JSON object");
  }
  return value as Record<string, unknown>;
}

/** Adds line and column where the parser tells only an offset. */
function placed(text: string, words: string): string {
  const position = /position (\d+)/.exec(words)?.[1];
  if (position === undefined || /line \d+/.test(words)) return words;
  const before = text.slice(0, Number(position)).split("\n");
  return `${words} (line ${before.length}, column ${before.at(-1)!.length + 1})`;
}

function invalidJson(file: string, words: string): ToolError {
  const message = clipped(words, LONGEST_WORD);
  const text = `the preset file '${file}' cannot be read: ${message}`;
  return new ToolError("preset_file_invalid", text, {
    details: { kind: "invalid_json", presetFile: file, message },
  });
}

function schemaError(file: string, found: readonly z.core.$ZodIssue[]): ToolError {
  const issues = found.slice(0, MOST_ISSUES).map(({ path, message, code }) => ({
    path: path.map((part) => clipped(String(part), LONGEST_WORD)),
    message: clipped(message, LONGEST_WORD),
    code,
  }));
  const places = issues.map(({ path, message }) => `${path.join(".") || "(top)"}: ${message}`).join("; ");
  const more = found.length > issues.length ? ` (and ${found.length - issues.length} more)` : "";
  const text = `the preset file '${file}' does not fit its schema: ${places}${more}`;
  return new ToolError("preset_file_invalid", text, {
    details: { kind: "schema", presetFile: file, issues },
  });
}
