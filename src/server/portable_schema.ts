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
  ...["minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern"],
]);

/** Converts a zod object into the portable subset. */
export function portableSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  return cleaned(z.toJSONSchema(schema, { target: "draft-2020-12", io }) as JsonSchema);
}

function cleaned(schema: JsonSchema): JsonSchema {
  const result: JsonSchema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "$schema") continue;
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

/** Wraps a zod schema so that the SDK validates with zod and lists the portable JSON Schema. */
export function sdkSchema<T extends z.ZodObject>(schema: T): StandardSchemaWithJSON<z.input<T>, z.output<T>> {
  const once = { input: undefined as JsonSchema | undefined, output: undefined as JsonSchema | undefined };
  const convert = (io: "input" | "output") => once[io] ??= portableSchema(schema, io);
  return {
    "~standard": {
      version: 1,
      vendor: "zod",
      validate: (value) => schema["~standard"].validate(value) as never,
      jsonSchema: { input: () => convert("input"), output: () => convert("output") },
    },
  };
}
