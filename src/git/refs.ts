/** Ref names and commit-ish arguments: what is accepted from a caller, and what refs point at. */
import { ToolError } from "../errors.ts";
import type { GitOptions, GitRunner } from "./runner.ts";
import type { Repository } from "./repository.ts";

/** One branch or other ref. */
export interface Ref {
  /** Full name: `refs/heads/main`. */
  name: string;
  /** Full object name of the commit it leads to. */
  oid: string;
  /** Full name of the upstream's remote-tracking ref; empty without one. */
  upstream: string;
  /** For a symbolic ref such as `refs/remotes/origin/HEAD`: where it points; else empty. */
  target: string;
}

// deno-lint-ignore no-control-regex -- control characters are part of what git forbids
const FORBIDDEN = /[\x00-\x20\x7f:?*[\\]|\.\.|@\{|\/\/|\.lock(\/|$)|^[-.\/]|\/\.|[.\/]$/;
/** Invisible characters make one name read as another. */
const INVISIBLE = /[\u0080-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/;
const LONGEST_REF = 256;

/**
 * Checks that a caller's token can stand for one commit and nothing else: a ref name, an object name, and
 * `~n` or `^n` behind it. Not accepted: options, ranges, `@{`, control and invisible characters.
 * See git-check-ref-format(1) and gitrevisions(7).
 *
 * @throws {ToolError} `unsafe_ref_token`.
 */
export function checkCommitish(token: string): string {
  const name = token.replace(/([~^]\d*)+$/, "");
  if (
    name === "" || token.length > LONGEST_REF || FORBIDDEN.test(name) || /[~^]/.test(name) ||
    INVISIBLE.test(name)
  ) {
    throw new ToolError("unsafe_ref_token", `ref '${token.slice(0, 80)}' is not accepted as a commit`, {
      details: { ref: token.slice(0, LONGEST_REF) },
    });
  }
  return token;
}

/** The commit a token names, as a full object name; null when it names none. */
export async function resolveCommit(
  git: GitRunner,
  repository: Repository,
  token: string,
  signal?: AbortSignal,
): Promise<string | null> {
  const { code, stdout } = await git.exec(
    repository,
    ["rev-parse", "--verify", "--quiet", "--end-of-options", `${checkCommitish(token)}^{commit}`],
    { okCodes: [1, 128], signal },
  );
  return code === 0 ? stdout.trim() : null;
}

/**
 * The commits that names stand for, all from one git; null for a name that stands for none.
 *
 * @throws {ToolError} `unsafe_ref_token`.
 */
export async function resolveCommits(
  git: GitRunner,
  repository: Repository,
  tokens: readonly string[],
  options: GitOptions = {},
): Promise<(string | null)[]> {
  const stdin = tokens.map((token) => `${checkCommitish(token)}^{commit}\n`).join("");
  const args = ["cat-file", "--batch-check=%(objectname)"];
  const { stdout } = await git.exec(repository, args, { ...options, stdin });
  const lines = stdout.split("\n");
  return tokens.map((_, at) => OBJECT_NAME.test(lines[at] ?? "") ? lines[at] : null);
}

/** The commit of a local branch and, failing that, of anything else by that name. */
export interface NamedCommit {
  oid: string | null;
  /** Short name of the local branch that was meant; null when it is something else. */
  branch: string | null;
}

/** Resolves names as branches first, because a tag may have the same name. */
export async function resolveBranches(
  git: GitRunner,
  repository: Repository,
  tokens: readonly string[],
  options: GitOptions = {},
): Promise<NamedCommit[]> {
  const names = tokens.map((token) => checkCommitish(token).replace(/^refs\/heads\//, ""));
  const asked = tokens.flatMap((token, at) => [`refs/heads/${names[at]}`, token]);
  const found = await resolveCommits(git, repository, asked, options);
  return tokens.map((_, at) => {
    const branch = found[2 * at];
    return branch === null || /[~^]/.test(names[at])
      ? { oid: found[2 * at + 1], branch: null }
      : { oid: branch, branch: names[at] };
  });
}

/** The tree without entries, in the hash of `like`. */
export function emptyTree(like: string): string {
  return like.length === 40
    ? "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    : "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
}

const OBJECT_NAME = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
/** What HEAD names, whether or not it can be read; null before the first commit. */
export async function headOf(
  git: GitRunner,
  repository: Repository,
  options: GitOptions = {},
): Promise<string | null> {
  const args = ["rev-parse", "--verify", "--quiet", "HEAD"];
  const { code, stdout } = await git.exec(repository, args, { ...options, okCodes: [1] });
  return code === 0 ? stdout.trim() : null;
}

const FIELDS = "--format=%(refname)%00%(objectname)%00%(upstream)%00%(symref)";

/** The refs that match the patterns of git-for-each-ref(1), by full name. Missing ones are not there. */
export async function listRefs(
  git: GitRunner,
  repository: Repository,
  patterns: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, Ref>> {
  const { stdout } = await git.exec(repository, ["for-each-ref", FIELDS, "--", ...patterns], { signal });
  const refs = new Map<string, Ref>();
  for (const line of stdout.split("\n")) {
    const [name, oid, upstream, target] = line.split("\0");
    if (oid !== undefined) refs.set(name, { name, oid, upstream, target });
  }
  return refs;
}
