/**
 * The git runner: every git child of the product is started here, in one hardened form.
 */
import { delimiter } from "node:path";
import { ToolError } from "../errors.ts";
import { PARALLELISM, Semaphore } from "../platform/pool.ts";
import { run, type RunResult, start } from "../platform/process.ts";
import { clipped, redacted } from "../platform/text.ts";
import { findGit, type GitBinary, trustedDirectories } from "./binary.ts";
import { gitEnvironment, HARDENED, NO_HOOKS } from "./environment.ts";

/** Where a git command runs. */
export interface GitPlace {
  /** Working directory, absolute. */
  root: string;
  /** Given when discovery would not find it: a bare repository. */
  gitDir?: string;
  /** Discovery does not look in this directory or above; the parent of an opened repository. */
  ceiling?: string;
}

/** How one git command runs. */
export interface GitOptions {
  /** The command changes the repository: optional locks are taken, output caps do not end it. */
  write?: boolean;
  /** One of many at once: git is kept from starting threads of its own. */
  oneOfMany?: boolean;
  /** Let the repository's hooks run; off unless the contract of a tool says so. */
  hooks?: boolean;
  /** Git may start programs that have to end with it: hooks, ssh, filters of a whole checkout. */
  programs?: boolean;
  /** The command may talk to a remote; no other does, not even for missing objects. */
  network?: boolean;
  stdin?: string | Uint8Array;
  /** Exit codes that are answers, not failures; 0 always is one. */
  okCodes?: readonly number[];
  /** Extra environment, for git's own switches such as GIT_INDEX_FILE. */
  env?: Record<string, string>;
  timeoutMs?: number;
  maxStdout?: number;
  /** Standard output byte by byte instead of as UTF-8: for content that goes back to git as it came. */
  latin1?: boolean;
  signal?: AbortSignal;
  onStderr?: (text: string) => void;
}

/** What a git command answered. */
export interface GitOutput {
  code: number;
  stdout: string;
  stderr: string;
  /** Standard output was cut at the cap. */
  truncated: boolean;
}

/** Called for every git child, with its arguments after the hardened chain: counting and logging. */
export type GitObserver = (args: readonly string[], milliseconds: number) => void;

const DECODER = new TextDecoder();
const CHUNK = 8192;
const SINGLE_THREADED = ["-c", "core.preloadIndex=false"];
const READ_TIMEOUT_MS = 60_000;
const WRITE_TIMEOUT_MS = 600_000;
const MAX_STDOUT = 64 * 1024 * 1024;

/** Runs git with the rules of the house; one per server. */
export class GitRunner {
  #env: Record<string, string>;
  #searchPath: string;
  #roots: readonly string[];
  #permits = new Semaphore(PARALLELISM * 2);
  #binary: GitBinary | undefined;
  #observer: GitObserver | undefined;

  /**
   * @param own The server's environment; see environment.ts for what is handed on.
   * @param roots Directories whose programs are never run.
   */
  constructor(own: Record<string, string>, roots: readonly string[] = [], observer?: GitObserver) {
    const searchPath = own.PATH ?? own.Path ?? "";
    this.#searchPath = searchPath;
    this.#env = gitEnvironment(own, trustedDirectories(searchPath, roots).join(delimiter));
    this.#roots = roots;
    this.#observer = observer;
  }

  /**
   * The git program, looked for again after a failure.
   *
   * @throws {ToolError} `git_not_found`, `git_too_old`.
   */
  async binary(): Promise<GitBinary> {
    return this.#binary ??= await findGit(this.#searchPath, this.#env, this.#roots);
  }

  /**
   * Runs one git command.
   *
   * @throws {ToolError} `git_failed` with git's own words, `git_timeout`, `cancelled`, `git_not_found`.
   */
  async exec(place: GitPlace, args: readonly string[], options: GitOptions = {}): Promise<GitOutput> {
    const result = await this.#permits.run(() => this.#spawn(place, args, options));
    if (result.timedOut) {
      throw new ToolError("git_timeout", `'git ${nameOf(args)}' took too long in '${place.root}'`);
    }
    // Whoever sets a cap reckons with a cut answer; nobody else can make sense of one.
    if (result.truncated && options.maxStdout === undefined) {
      throw new ToolError("git_failed", `'git ${nameOf(args)}' answered more than ${MAX_STDOUT} bytes`);
    }
    const stopped = result.truncated && !options.write;
    if (result.code !== 0 && !stopped && !options.okCodes?.includes(result.code)) {
      throw failure(place, args, result);
    }
    return {
      code: result.code,
      stdout: options.latin1 ? latin1Of(result.stdout) : DECODER.decode(result.stdout),
      stderr: result.stderr,
      truncated: result.truncated,
    };
  }

  /** Starts a reading git that is talked to until its input is closed, as `git cat-file --batch-command`. */
  async converse(place: GitPlace, args: readonly string[]): Promise<Deno.ChildProcess> {
    const { file } = await this.binary();
    this.#observer?.(args, 0);
    try {
      return start({
        file,
        args: argsOf(place, args, {}),
        cwd: place.root,
        env: this.#envOf(place, {}),
        quiet: true,
      });
    } catch (error) {
      if (isMissing(error)) throw await this.#missing(place, error);
      throw error;
    }
  }

  #envOf(place: GitPlace, options: GitOptions): Record<string, string> {
    return {
      ...this.#env,
      ...(place.ceiling === undefined ? {} : { GIT_CEILING_DIRECTORIES: place.ceiling }),
      ...(options.write ? {} : { GIT_OPTIONAL_LOCKS: "0", GIT_NO_REPLACE_OBJECTS: "1" }),
      ...(options.network ? { GIT_ALLOW_PROTOCOL: "https:ssh", GIT_NO_LAZY_FETCH: "0" } : {}),
      ...options.env,
    };
  }

  async #spawn(place: GitPlace, args: readonly string[], options: GitOptions): Promise<RunResult> {
    const binary = await this.binary();
    const started = performance.now();
    try {
      return await run({
        file: binary.file,
        args: argsOf(place, args, options),
        cwd: place.root,
        env: this.#envOf(place, options),
        stdin: options.stdin,
        timeoutMs: options.timeoutMs ?? (options.write ? WRITE_TIMEOUT_MS : READ_TIMEOUT_MS),
        maxStdout: options.maxStdout ?? MAX_STDOUT,
        stopAtCap: !options.write,
        group: options.programs,
        signal: options.signal,
        onStderr: options.onStderr,
      });
    } catch (error) {
      if (isMissing(error)) throw await this.#missing(place, error);
      throw error;
    } finally {
      this.#observer?.(args, performance.now() - started);
    }
  }

  /** Tells a vanished git from a vanished directory; the first is looked for again next time. */
  async #missing(place: GitPlace, cause: unknown): Promise<ToolError> {
    const isDirectory = await Deno.stat(place.root).then((info) => info.isDirectory, () => false);
    if (!isDirectory) {
      return new ToolError("not_a_git_repository", `'${place.root}' is not a directory`, {
        cause,
        details: { path: place.root },
      });
    }
    this.#binary = undefined;
    return new ToolError("git_not_found", "the git program has gone from where it was", { cause });
  }
}

function argsOf(place: GitPlace, args: readonly string[], options: GitOptions): string[] {
  return [
    ...HARDENED,
    ...(options.hooks ? [] : NO_HOOKS),
    ...(options.oneOfMany ? SINGLE_THREADED : []),
    ...(place.gitDir ? [`--git-dir=${place.gitDir}`] : []),
    ...args,
  ];
}

function isMissing(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
}

function latin1Of(bytes: Uint8Array): string {
  // TextDecoder's "latin1" is windows-1252, which does not give every byte back.
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return text;
}

/** The bytes of a text that was read with `latin1`. */
export function bytesOf(latin1: string): Uint8Array {
  return Uint8Array.from(latin1, (character) => character.charCodeAt(0));
}

/** The subcommand, behind `-c` settings. */
function nameOf(args: readonly string[]): string {
  let at = 0;
  while (args[at] === "-c") at += 2;
  return args[at] ?? "";
}

function failure(place: GitPlace, args: readonly string[], result: RunResult): ToolError {
  const words = redacted(clipped(result.stderr.trim() || DECODER.decode(result.stdout).trim(), 2000));
  if (/detected dubious ownership/.test(words)) {
    return new ToolError("unsafe_repo_owner", `git refuses '${place.root}': another user owns it`);
  }
  if (/not a git repository/i.test(words)) {
    const message = `'${place.root}' is not inside a git repository`;
    return new ToolError("not_a_git_repository", message, { details: { path: place.root } });
  }
  return new ToolError("git_failed", `git ${nameOf(args)} failed (exit ${result.code}): ${words}`, {
    details: { exitCode: result.code, stderr: words },
  });
}
