/** Ref names and commit-ish arguments: what is accepted from a caller, and what refs point at. */
import { ToolError } from "../errors.ts";
import type { GitRunner } from "./runner.ts";
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
