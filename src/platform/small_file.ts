/** Reading small files of git's own at once: a system call that is made at once takes a tenth of one waited for. */

const LARGEST = 64 * 1024 * 1024;

/**
 * The text of a regular file; undefined for anything else: a link would lead elsewhere, and a pipe would never
 * end.
 *
 * @param most Bytes; a larger file counts as none.
 */
export function smallFile(file: string, most: number = LARGEST): string | undefined {
  try {
    const { isFile, size } = Deno.lstatSync(file);
    return isFile && size <= most ? Deno.readTextFileSync(file) : undefined;
  } catch {
    return undefined;
  }
}
