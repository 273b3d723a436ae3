/** The hooks that git would run in a working tree; see githooks(5). */
import { join } from "node:path";
import type { Repository } from "./repository.ts";

/** Whether any hook stands where git looks for them. */
export async function hasHooks({ hooksPath, commonDir }: Repository): Promise<boolean> {
  const directory = hooksPath ?? join(commonDir, "hooks");
  const entries = await Array.fromAsync(Deno.readDir(directory)).catch(() => []);
  return entries.some(({ name }) => !name.endsWith(".sample"));
}
