// deno-lint-ignore-file no-sync-fn-in-async-fn -- a scene is set for one reader, who waits
/** A repository, a server on it, and what it takes to tell that nothing has changed. */
import { join, resolve } from "node:path";
import { makeRepo, type Repo, withTemp } from "./repo.ts";
import { LEGACY, MODERN, type Server, withServer } from "./server.ts";

/** How a scene is set. */
export interface Scene {
  flags?: readonly string[];
  era?: typeof LEGACY | typeof MODERN;
  files?: Record<string, string>;
  roots?: (repo: Repo, dir: string) => readonly string[];
  env?: Record<string, string>;
}

/** A test body: a temporary directory with a repository `repo` in it, and a server whose roots are both. */
export function scene(
  work: (server: Server, repo: Repo, dir: string) => Promise<void>,
  { flags, era = LEGACY, files, roots, env }: Scene = {},
): () => Promise<void> {
  return () =>
    withTemp(async (dir) => {
      const repo = makeRepo(join(dir, "repo"), files);
      const options = {
        cwd: dir,
        flags: flags ?? ["-repo", repo.dir, "-root", dir, "-db", dir],
        era,
        env,
        ...(roots ? { roots: roots(repo, dir) } : {}),
      };
      await withServer(options, (server) => work(server, repo, dir));
    });
}

/** Everything a failed call has to leave as it was: HEAD, refs, index bytes, files, operations under way. */
export async function stateOf(repo: Repo): Promise<Record<string, unknown>> {
  const gitDir = repo.git("rev-parse", "--absolute-git-dir");
  const index = await Deno.readFile(join(gitDir, "index")).catch(() => new Uint8Array());
  const top = repo.git("rev-parse", "--git-common-dir");
  const entries = [...Deno.readDirSync(resolve(repo.dir, top))].map(({ name }) => name)
    .filter((name) => name !== "orchestragent-mcp.lock" && name !== "logs" && name !== "worktrees");
  return {
    head: Deno.readTextFileSync(join(gitDir, "HEAD")),
    refs: repo.git("for-each-ref", "--format=%(refname) %(objectname)"),
    index: [...index].join(","),
    files: filesOf(repo.dir, ""),
    gitDir: entries.sort(),
    worktrees: repo.git("worktree", "list", "--porcelain"),
  };
}

function filesOf(root: string, below: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const { name, isDirectory, isSymlink } of Deno.readDirSync(join(root, below))) {
    const path = join(below, name);
    if (name === ".git") continue;
    if (isDirectory) Object.assign(files, filesOf(root, path));
    else if (isSymlink) files[path] = `-> ${Deno.readLinkSync(join(root, path))}`;
    else files[path] = new TextDecoder("latin1").decode(Deno.readFileSync(join(root, path)));
  }
  return files;
}

/** The payload of a refused call of the git family. */
export async function refused(
  server: Server,
  tool: string,
  args: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  return JSON.parse(await server.refusal(tool, args));
}
