/** The files of a diff with their counts and hunks, all from one git: see git-diff(1), Raw and Other Formats. */
import { NO_DIFF_PROGRAMS } from "./environment.ts";
import { parseNumstat } from "./numstat.ts";
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/** One file of a diff. */
export interface FileDiff {
  path: string;
  /** Where a renamed file came from. */
  from?: string;
  status: "modified" | "added" | "deleted" | "renamed";
  additions: number;
  deletions: number;
  binary: boolean;
  /** In conflict: git shows no diff of it. */
  unmerged: boolean;
  /** The hunks, from the first `@@` on. */
  lines: string[];
  /** The patch was too long to be read to this file's end. */
  cut: boolean;
}

/** Settings of the user that would change the shape of what is parsed are overridden. */
const SHAPE: readonly string[] = [
  ...NO_DIFF_PROGRAMS,
  ...["--raw", "--numstat", "--patch", "-z", "-M", "-U3", "--no-color", "--no-relative", "-O/dev/null"],
  ...["--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0"],
  // Looking into submodules would follow their own config.
  ...["--submodule=short", "--ignore-submodules=dirty"],
];
const MAX_PATCH_BYTES = 32 * 1024 * 1024;

/**
 * Runs `git diff` with the given revisions or `--cached`, which have to be safe.
 *
 * @throws {ToolError} What git throws.
 */
export async function diffFiles(
  git: GitRunner,
  repository: Repository,
  what: readonly string[],
  options: GitOptions & { paths?: readonly string[] } = {},
): Promise<FileDiff[]> {
  const args = ["diff", ...SHAPE, ...what, "--", ...options.paths ?? []];
  const output = await git.exec(repository, args, { ...options, maxStdout: MAX_PATCH_BYTES });
  return parseDiff(output.stdout, output.truncated);
}

/** Parses the three formats one behind the other; `cut` tells that the end is missing. */
export function parseDiff(text: string, cut = false): FileDiff[] {
  const files: FileDiff[] = [];
  let at = 0;
  const field = () => {
    const end = text.indexOf("\0", at);
    const value = text.slice(at, end < 0 ? text.length : end);
    at = end < 0 ? text.length : end + 1;
    return value;
  };
  while (text[at] === ":") {
    const record = field();
    const letter = record.slice(record.lastIndexOf(" ") + 1)[0];
    const moved = letter === "R" || letter === "C" ? field() : undefined;
    files.push(emptyFile(field(), record.startsWith("::") ? "U" : letter, moved));
  }
  const numbers: string[] = [];
  while (at < text.length && text[at] !== "\0") numbers.push(field());
  takeCounts(files, numbers);
  takeHunks(files, text.slice(at + 1), cut);
  return files.filter((file, index) => !file.unmerged || !repeats(files, index));
}

const STATUS: Record<string, FileDiff["status"]> = { A: "added", D: "deleted", R: "renamed" };

function emptyFile(path: string, letter: string, from?: string): FileDiff {
  return {
    path,
    ...(letter === "R" ? { from } : {}),
    status: STATUS[letter] ?? "modified",
    additions: 0,
    deletions: 0,
    binary: false,
    unmerged: letter === "U",
    lines: [],
    cut: false,
  };
}

/** A conflict is listed beside the change it stands for. */
function repeats(files: readonly FileDiff[], index: number): boolean {
  return files.slice(0, index).some((other) => other.path === files[index].path);
}

function takeCounts(files: readonly FileDiff[], records: readonly string[]): void {
  const byPath = new Map(files.map((file) => [file.path, file]));
  for (const { path, added, removed, binary } of parseNumstat(records)) {
    const file = byPath.get(path);
    if (file) Object.assign(file, { additions: added, deletions: removed, binary });
  }
}

/** Patches stand in the order of the raw records; a changed type is told as a deletion and a creation. */
function takeHunks(files: readonly FileDiff[], patch: string, cut: boolean): void {
  const sections = hunksOf(patch);
  let next = 0;
  const shown = files.filter((file) => !file.unmerged);
  for (const file of shown) {
    const section = sections[next++];
    file.lines = section?.lines ?? [];
    if (section?.deletes && file.status === "modified") {
      file.lines = file.lines.concat(sections[next++]?.lines ?? []);
    }
    file.cut = cut && next >= sections.length;
  }
}

interface Section {
  lines: string[];
  deletes: boolean;
}

/** Hunks by file. Their lines are counted, because a line of a file may read like a header. */
function hunksOf(patch: string): Section[] {
  const sections: Section[] = [];
  let [removed, added] = [0, 0];
  for (const line of patch.split("\n")) {
    const section = sections.at(-1);
    if (removed > 0 || added > 0) {
      section?.lines.push(line);
      if (line[0] !== "+" && line[0] !== "\\") removed--;
      if (line[0] !== "-" && line[0] !== "\\") added--;
    } else if (line.startsWith("diff --git ")) sections.push({ lines: [], deletes: false });
    else if (line.startsWith("deleted file mode") && section) section.deletes = true;
    else if (line.startsWith("\\") && section) section.lines.push(line);
    else if (section) {
      const sizes = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
      if (!sizes) continue;
      section.lines.push(line);
      [removed, added] = [Number(sizes[1] ?? 1), Number(sizes[2] ?? 1)];
    }
  }
  return sections;
}
