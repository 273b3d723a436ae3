/** Real source code to search in: whatever this machine has, or what OMCP_BENCH_TREE names. */
import { join, relative } from "node:path";
import { testEnv } from "../../tests/support/repo.ts";

/** Places with source code on most machines. */
const PLACES = ["/usr/include", "/usr/lib/python3", "/usr/lib/python3.11", "/usr/share/perl", "/usr/src"];
const LARGEST = 1024 * 1024;

/** A file of real source. */
export interface SourceFile {
  file: string;
  /** Relative, with `/`. */
  path: string;
  size: number;
}

/** Text files below the places, at most `most` bytes each, in the order of their paths. */
export function sourceFiles(most = LARGEST): SourceFile[] {
  const named = Deno.env.get("OMCP_BENCH_TREE");
  const found: SourceFile[] = [];
  for (const place of named ? [named] : PLACES) {
    const visit = (directory: string) => {
      for (const entry of entriesOf(directory)) {
        const file = join(directory, entry.name);
        if (entry.isDirectory && entry.name !== ".git") visit(file);
        if (!entry.isFile) continue;
        const { size } = Deno.lstatSync(file);
        if (size === 0 || size > most) continue;
        const path = relative(place, file).replaceAll("\\", "/");
        found.push({ file, path: named ? path : `${place.slice(1)}/${path}`, size });
      }
    };
    visit(place);
  }
  return found;
}

/** Files spread over all of them that come to so many bytes, and to so many files where that is given. */
export function sample(files: readonly SourceFile[], bytes: number, count?: number): SourceFile[] {
  const usual = count ? bytes / count : Infinity;
  const small = files.filter(({ size }) => size < usual * 4);
  const all = small.reduce((sum, { size }) => sum + size, 0);
  const step = Math.max(1, all / bytes);
  const chosen: SourceFile[] = [];
  let sum = 0;
  for (let at = 0; at < small.length && sum < bytes; at += step) {
    const one = small[Math.floor(at)];
    chosen.push(one);
    sum += one.size;
  }
  return chosen;
}

/** A repository with the files in one commit, packed, without a working tree unless asked for. */
export async function importTree(
  dir: string,
  files: readonly SourceFile[],
  checkout: boolean,
): Promise<void> {
  const git = (args: string[], stdin: "piped" | "null") =>
    new Deno.Command("git", {
      args,
      cwd: dir,
      env: testEnv(),
      clearEnv: true,
      stdin,
      stdout: "null",
      stderr: "null",
    })
      .spawn();
  await Deno.mkdir(dir, { recursive: true });
  await git(["init", "-q", "-b", "main"], "null").status;
  const child = git(["-c", "core.compression=1", "fast-import", "--quiet", "--force"], "piped");
  const writer = child.stdin.getWriter();
  const encoder = new TextEncoder();
  await writer.write(
    encoder.encode("commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 2\nx\n"),
  );
  for (const { file, path } of files) {
    const bytes = await Deno.readFile(file);
    await writer.write(encoder.encode(`M 100644 inline ${JSON.stringify(path)}\ndata ${bytes.length}\n`));
    await writer.write(bytes);
    await writer.write(encoder.encode("\n"));
  }
  await writer.close();
  const { code } = await child.status;
  if (code !== 0) throw new Error("git fast-import failed");
  if (checkout) await git(["reset", "-q", "--hard"], "null").status;
}

function entriesOf(directory: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(directory)].sort((a, b) => a.name < b.name ? -1 : 1);
  } catch {
    return [];
  }
}
