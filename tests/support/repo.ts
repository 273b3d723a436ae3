/** Throw-away repositories made with the real git. */
import { join } from "node:path";

/** Settings of the machine that would change what git does are shut out. */
const ENV: Record<string, string> = {
  PATH: Deno.env.get("PATH") ?? "",
  HOME: Deno.makeTempDirSync({ prefix: "omcp-home-" }),
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "Tester",
  GIT_AUTHOR_EMAIL: "tester@example.com",
  GIT_COMMITTER_NAME: "Tester",
  GIT_COMMITTER_EMAIL: "tester@example.com",
  LC_ALL: "C.UTF-8",
  // With a home of its own a Deno child would not find the modules that are there already.
  DENO_DIR: Deno.env.get("DENO_DIR") ??
    `${Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`}/deno`,
};
globalThis.addEventListener("unload", () => {
  try {
    Deno.removeSync(ENV.HOME, { recursive: true });
  } catch { /* gone */ }
});

/** The environment a server under test is started with. */
export function testEnv(): Record<string, string> {
  return { ...ENV };
}

/** A directory and the git in it. */
export class Repo {
  /** Real path of the working tree. */
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Runs git and returns its trimmed output; throws with git's words when it fails. */
  git(...args: string[]): string {
    const { code, out, err } = this.try(...args);
    if (code !== 0) throw new Error(`git ${args.join(" ")} in ${this.dir}: ${err}`);
    return out.trim();
  }

  /** Runs git, however it ends. */
  try(...args: string[]): { code: number; out: string; err: string } {
    const result = new Deno.Command("git", {
      args: ["-c", "protocol.file.allow=always", ...args],
      cwd: this.dir,
      env: ENV,
      clearEnv: true,
      stdin: "null",
    }).outputSync();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code: result.code, out: text(result.stdout), err: text(result.stderr) };
  }

  /** Writes a file below the repository, parents included. */
  write(file: string, content: string): void {
    const target = join(this.dir, file);
    Deno.mkdirSync(join(target, ".."), { recursive: true });
    Deno.writeTextFileSync(target, content);
  }

  /** Writes files and commits them; returns the commit. */
  commit(message: string, files: Record<string, string> = {}): string {
    for (const [file, content] of Object.entries(files)) this.write(file, content);
    this.git("add", "--all");
    this.git("commit", "--quiet", "--allow-empty", "-m", message);
    return this.git("rev-parse", "HEAD");
  }

  /** The same repository's working tree elsewhere. */
  at(dir: string): Repo {
    return new Repo(dir);
  }
}

/** Runs `work` with a temporary directory (its real path), removed afterwards. */
export async function withTemp(work: (dir: string) => Promise<void> | void): Promise<void> {
  const dir = await Deno.realPath(await Deno.makeTempDir({ prefix: "omcp-test-" }));
  try {
    await work(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** A repository with one commit on `main`. */
export function makeRepo(
  dir: string,
  files: Record<string, string> = { "a.txt": "one\ntwo\nthree\n" },
): Repo {
  Deno.mkdirSync(dir, { recursive: true });
  const repo = new Repo(Deno.realPathSync(dir));
  repo.git("init", "--quiet", "--initial-branch=main");
  repo.commit("First", files);
  return repo;
}
