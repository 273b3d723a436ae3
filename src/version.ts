import config from "../deno.json" with { type: "json" };

/** The product's version; it stands in deno.json alone. */
export const VERSION: string = config.version;
