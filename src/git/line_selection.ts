/** Staging some lines of a file: the part of a `git diff -U0` that touches a range of lines. */

/** Lines of the file as it stands in the working tree, counted from 1, both ends included. */
export interface LineRange {
  from: number;
  to: number;
}

interface Hunk {
  oldStart: number;
  newStart: number;
  /** Lines with their sign, a `\ No newline` line joined to the one it speaks of. */
  removed: string[];
  added: string[];
}

/** A patch without context, taken apart. */
export interface Patch {
  header: string;
  hunks: Hunk[];
}

/** Parses the patch of one file, made with `-U0`. */
export function parsePatch(text: string): Patch {
  const lines = text.split("\n");
  const first = lines.findIndex((line) => line.startsWith("@@ "));
  if (first < 0) return { header: text, hunks: [] };
  const hunks: Hunk[] = [];
  for (const line of lines.slice(first)) {
    const sizes = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    const hunk = hunks.at(-1);
    if (sizes) {
      hunks.push({ oldStart: Number(sizes[1]), newStart: Number(sizes[3]), removed: [], added: [] });
    } else if (hunk && line[0] === "\\") {
      const side = hunk.added.length > 0 ? hunk.added : hunk.removed;
      side[side.length - 1] += `\n${line}`;
    } else if (hunk && line[0] === "-") hunk.removed.push(line);
    else if (hunk && line[0] === "+") hunk.added.push(line);
  }
  return { header: lines.slice(0, first).join("\n") + "\n", hunks };
}

/**
 * The patch of what changed within the ranges; null when nothing did. Lines that were only added, and lines
 * replaced one by one, are taken singly; any other change is taken whole when it touches a range.
 */
export function selectLines({ header, hunks }: Patch, ranges: readonly LineRange[]): string | null {
  const inRange = (from: number, to: number) => ranges.some((range) => range.from <= to && range.to >= from);
  const chosen = hunks.flatMap((hunk) => {
    const { removed, added } = hunk;
    if (removed.length === added.length || removed.length === 0) {
      return singly(hunk).filter((piece) => inRange(piece.newStart, piece.newStart));
    }
    // Lines that were taken away stood between the line named and the next one.
    const touches = added.length > 0
      ? inRange(hunk.newStart, hunk.newStart + added.length - 1)
      : inRange(hunk.newStart, hunk.newStart + 1);
    return touches ? [hunk] : [];
  });
  return chosen.length === 0 ? null : header + written(joined(chosen));
}

function singly(hunk: Hunk): Hunk[] {
  return hunk.added.map((line, at) => ({
    // An addition names the old line before it.
    oldStart: hunk.removed.length > 0 ? hunk.oldStart + at : hunk.oldStart,
    newStart: hunk.newStart + at,
    removed: hunk.removed.slice(at, at + 1),
    added: [line],
  }));
}

/** Additions behind the same old line are one hunk. */
function joined(hunks: readonly Hunk[]): Hunk[] {
  const result: Hunk[] = [];
  for (const hunk of hunks) {
    const last = result.at(-1);
    if (last && last.removed.length === 0 && hunk.removed.length === 0 && last.oldStart === hunk.oldStart) {
      last.added.push(...hunk.added);
    } else result.push({ ...hunk, added: [...hunk.added] });
  }
  return result;
}

/** Without context git finds its place by the new line numbers, so they are counted anew. */
function written(hunks: readonly Hunk[]): string {
  let shift = 0;
  return hunks.map(({ oldStart, removed, added }) => {
    const before = oldStart + (removed.length === 0 ? 1 : 0) + shift;
    const newStart = added.length === 0 ? before - 1 : before;
    shift += added.length - removed.length;
    const head = `@@ -${oldStart},${removed.length} +${newStart},${added.length} @@`;
    return [head, ...removed, ...added].join("\n") + "\n";
  }).join("");
}

/** The lines that changed, for a message: `1-3, 20`. */
export function changedLines({ hunks }: Patch): string {
  return hunks.map(({ newStart, added }) =>
    added.length > 1 ? `${newStart}-${newStart + added.length - 1}` : String(newStart)
  ).join(", ");
}
