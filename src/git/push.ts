/** Pushing a branch to its upstream: never forced, never to a place that was not configured. */
import { fileURLToPath } from "node:url";
import { isAbsolute, resolve } from "node:path";
import { messageOf, ToolError } from "../errors.ts";
import { clipped } from "../platform/text.ts";
import type { Repositories, Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/** What became of a push. */
export type PushOutcome =
  | { ok: true; branch: string; upstream: string }
  | {
    ok: false;
    error: "push_detached_head" | "push_no_upstream" | "push_failed";
    branch?: string;
    detail?: string;
  };

/** What a push may do. */
export interface PushPolicy {
  repositories: Repositories;
  /** Run the pre-push hook. */
  hooks: boolean;
  /** Push to repositories of this machine, when they lie where the server may write. */
  allowFileRemotes: boolean;
  mayTouch(directory: string): Promise<boolean>;
}

const DETAIL = 1_000;

/** Pushes the current branch to its upstream's own remote and branch name. Failures are answers. */
export async function pushUpstream(
  git: GitRunner,
  tree: Repository,
  policy: PushPolicy,
  options: GitOptions = {},
): Promise<PushOutcome> {
  const head = await git.exec(tree, ["symbolic-ref", "--quiet", "--short", "HEAD"], {
    ...options,
    okCodes: [1],
  });
  if (head.code !== 0) return { ok: false, error: "push_detached_head" };
  const branch = head.stdout.trim();
  const format = "--format=%(upstream:remotename)%00%(upstream:remoteref)%00%(upstream:short)";
  const listed = await git.exec(tree, ["for-each-ref", format, `refs/heads/${branch}`], options);
  const [remote, remoteRef, upstream] = listed.stdout.split("\n")[0].split("\0");
  if (!remote || !remoteRef) {
    const detail = `branch '${branch}' has no upstream`;
    return { ok: false, error: "push_no_upstream", branch, detail };
  }
  if (remote === ".") {
    const detail = `the upstream of '${branch}' is the local branch '${upstream}'`;
    return { ok: false, error: "push_no_upstream", branch, detail };
  }
  try {
    const file = await fileAccess(git, tree, remote, policy, options);
    const args = [
      ...(file ? ["-c", "protocol.file.allow=always"] : []),
      ...["push", "--quiet", "--no-follow-tags", "--recurse-submodules=no", "--", remote],
      `refs/heads/${branch}:${remoteRef}`,
    ];
    // Set last, it holds against what the network option allows.
    const env = { ...options.env, ...(file ? { GIT_ALLOW_PROTOCOL: "https:ssh:file" } : {}) };
    await git.exec(tree, args, {
      ...options,
      env,
      write: true,
      network: true,
      programs: true,
      hooks: policy.hooks,
    });
    return { ok: true, branch, upstream };
  } catch (error) {
    if (error instanceof ToolError && error.code === "cancelled") throw error;
    const words = error instanceof ToolError && typeof error.details.stderr === "string"
      ? error.details.stderr
      : messageOf(error);
    return { ok: false, error: "push_failed", branch, detail: clipped(words, DETAIL) };
  }
}

/** Whether the remote is a repository of this machine; refuses one that may not be written to. */
async function fileAccess(
  git: GitRunner,
  tree: Repository,
  remote: string,
  { repositories, allowFileRemotes, mayTouch }: PushPolicy,
  options: GitOptions,
): Promise<boolean> {
  const { stdout } = await git.exec(tree, ["remote", "get-url", "--push", "--all", remote], options);
  const places = stdout.split("\n").map((url) => localPath(url, tree.root)).filter((place) => place !== null);
  for (const place of places) {
    if (!allowFileRemotes) {
      throw new ToolError(
        "push_failed",
        `remote '${remote}' is the local path '${place}'; ` +
          "the operator can allow such remotes with --allow-file-remotes",
      );
    }
    const real = await Deno.realPath(place).catch(() => place);
    if (!await mayTouch(real)) {
      throw new ToolError(
        "push_failed",
        `remote '${remote}' at '${place}' lies outside of the allowed roots`,
      );
    }
    // Receiving runs git there: its config is judged like that of any repository.
    await repositories.open(real, options.signal);
  }
  return places.length > 0;
}

/** The directory that a remote's URL names; null when it is another machine. See git-push(1), GIT URLS. */
export function localPath(url: string, root: string): string | null {
  if (url === "") return null;
  if (/^file:\/\//i.test(url)) return fileURLToPath(url);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url) || /^[a-z][a-z0-9+.-]*::/i.test(url)) return null;
  if (isAbsolute(url)) return url;
  return /^[^/\\]*:/.test(url) ? null : resolve(root, url);
}
