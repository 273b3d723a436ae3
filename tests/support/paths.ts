import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Top of the project. */
export const ROOT: string = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** A path relative to tests/support. */
export function fromFileUrl(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
