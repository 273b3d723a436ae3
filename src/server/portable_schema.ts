/**
 * zod schemas as the SDK wants them, with JSON Schemas that every client and model provider accepts.
 *
 * One tool with a schema that a provider rejects takes the whole session down, so only plain keywords are
 * emitted: no `$schema`, no type unions, no exclusive bounds, no formats, no combinators.
 */
import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import * as z from "zod";

/** A JSON Schema document or part of one. */
export type JsonSchema = Record<string, unknown>;

/** The keywords that may appear in what we emit. */
export const PORTABLE_KEYWORDS: ReadonlySet<string> = new Set([
  ...["type", "properties", "required", "items", "enum", "description", "default", "additionalProperties"],
  ...["minimum", "maximum", "minItems", "maxItems", "minLength", "pattern"],
]);

/** Converts a zod object into the portable subset. */
export function portableSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  return cleaned(z.toJSONSchema(schema, { target: "draft-2020-12", io }) as JsonSchema);
}

function cleaned(schema: JsonSchema): JsonSchema {
  if (Array.isArray(schema.anyOf)) return firstForm(schema.anyOf);
  const result: JsonSchema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    // How long a text may be is told when one is too long: the list is read far more often.
    if (keyword === "$schema" || keyword === "maxLength") continue;
    // zod bounds every integer by what a double can hold; that tells a caller nothing.
    if (
      (keyword === "minimum" || keyword === "maximum") &&
      Math.abs(value as number) === Number.MAX_SAFE_INTEGER
    ) {
      continue;
    }
    if (keyword === "properties") {
      result[keyword] = Object.fromEntries(
        Object.entries(value as Record<string, JsonSchema>).map(([name, inner]) => [name, cleaned(inner)]),
      );
    } else if (keyword === "items") result[keyword] = cleaned(value as JsonSchema);
    else result[keyword] = value;
  }
  return result;
}

/**
 * Some providers refuse unions in what a tool takes: the first form is listed, the others are accepted all the
 * same. That something may be null is said, because clients check answers by it.
 */
function firstForm(forms: readonly JsonSchema[]): JsonSchema {
  const form = cleaned(forms.find(({ type }) => type !== "null")!);
  return forms.some(({ type }) => type === "null") ? { ...form, type: [form.type, "null"] } : form;
}

/** A schema as the SDK takes it. */
export type SdkSchema = StandardSchemaWithJSON<Record<string, unknown>, Record<string, unknown>>;

/** A tool's output schema: the SDK checks every payload with zod and lists the portable JSON Schema. */
export function outputSchema(schema: z.ZodObject): SdkSchema {
  return sdkSchema(schema, "output", (value) => schema["~standard"].validate(value) as never);
}

/**
 * A tool's input schema. The SDK only lists it: our own check follows, because its errors have to be worded
 * like a tool's other errors.
 */
export function inputSchema(schema: z.ZodObject): SdkSchema {
  return sdkSchema(schema, "input", (value) => ({ value: value as Record<string, unknown> }));
}

function sdkSchema(
  schema: z.ZodObject,
  io: "input" | "output",
  validate: SdkSchema["~standard"]["validate"],
): SdkSchema {
  let listed: JsonSchema | undefined;
  const convert = () => listed ??= portableSchema(schema, io);
  return {
    "~standard": { version: 1, vendor: "zod", validate, jsonSchema: { input: convert, output: convert } },
  };
}
