/** Objects that a dry run makes go to a place of their own, which is thrown away. */
import { join } from "node:path";
import type { Repository } from "./repository.ts";

/** Runs `work` with the environment that keeps new objects out of the repository. */
export async function inQuarantine<T>(
  repository: Repository,
  work: (env: Record<string, string>) => Promise<T>,
): Promise<T> {
  const objects = await Deno.makeTempDir({ prefix: "orchestragent-dry-run-" });
  try {
    return await work({
      GIT_OBJECT_DIRECTORY: objects,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: listed(join(repository.commonDir, "objects")),
    });
  } finally {
    await Deno.remove(objects, { recursive: true }).catch(() => {});
  }
}

/** One entry of a path list; see git(1), GIT_ALTERNATE_OBJECT_DIRECTORIES. */
function listed(path: string): string {
  return /[:;"\n]/.test(path) ? `"${path.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"` : path;
}
