/**
 * Backups: what a removal takes away stays reachable under `refs/orchestragent/backup/`, where no command of
 * git removes it by itself and from where a new session can be started.
 */
import { ToolError } from "../errors.ts";
import { showAgain } from "../git/hidden_edits.ts";
import { withIndexCopy } from "../git/index_copy.ts";
import type { Repository } from "../git/repository.ts";
import type { GitOptions, GitRunner } from "../git/runner.ts";
import type { SessionScope } from "./scope.ts";
import type { Session } from "./session.ts";
import { keepModules } from "./submodules.ts";
import type { SessionWork } from "./work.ts";

const PREFIX = "refs/orchestragent/backup";
const SUBMODULE_MODE = "160000";

/**
 * Keeps the commits that removal would leave without a name, a commit of the uncommitted work, and the
 * commits of submodules.
 *
 * @returns The full names of the refs made, the most complete one first: `…/work`, `…/tip`, then others.
 * @throws {ToolError} `nested_repository` when the worktree holds a repository that git cannot take up, or a
 * submodule with uncommitted files.
 */
export async function backUp(
  scope: SessionScope,
  session: Session,
  work: SessionWork,
  options: GitOptions,
): Promise<string[]> {
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const prefix = `${PREFIX}/${session.branch}/${stamp}-${crypto.randomUUID().slice(0, 4)}`;
  const refs = new Map<string, string>();
  refuseDirtySubmodules(session, work);
  const snapshot = work.tree && work.uncommittedFiles > 0
    ? await snapshotOf(scope.git, work.tree, work, session, options)
    : null;
  if (snapshot) refs.set(`${prefix}/work`, snapshot);
  for (const [at, tip] of work.unnamedTips.entries()) refs.set(`${prefix}/tip${at === 0 ? "" : at + 1}`, tip);
  if (refs.size > 0) {
    const stdin = [...refs].map(([ref, oid]) => `create ${ref} ${oid}\n`).join("");
    await scope.git.exec(scope.main, ["update-ref", "--stdin"], { ...options, write: true, stdin });
  }
  const modules = work.tree && work.modules.length > 0
    ? await keepModules(scope.git, scope.main, work.tree, work.modules, prefix)
    : [];
  return [...refs.keys(), ...modules];
}

/**
 * A commit of everything in the working tree, made beside the user's index. Like git-stash(1)'s, it has the
 * HEAD commit as first parent and, when something else was staged, a commit of the index as second.
 */
async function snapshotOf(
  git: GitRunner,
  tree: Repository,
  work: SessionWork,
  session: Session,
  options: GitOptions,
): Promise<string | null> {
  return await withIndexCopy(tree, async (env) => {
    const within: GitOptions = { ...options, write: true, env: { ...IDENTITY, ...env } };
    const ask = async (...args: string[]) => (await git.exec(tree, args, within)).stdout.trim();
    const commit = (treeOid: string, parents: readonly string[], message: string) =>
      ask("commit-tree", "--no-gpg-sign", treeOid, ...parents.flatMap((oid) => ["-p", oid]), "-m", message);
    const verified = await git.exec(tree, ["rev-parse", "--verify", "--quiet", "HEAD"], { okCodes: [1] });
    const head = verified.stdout.trim();
    const parents = head ? [head] : [];
    // An index with conflicts has no tree of its own; its content stands in the files.
    const staged = (await git.exec(tree, ["write-tree"], { ...within, okCodes: [128] })).stdout.trim();
    // Without this, files outside the sparse part are passed over. Before git 2.34 they never were.
    const sparse = (await git.binary()).atLeast(2, 34) ? ["--sparse"] : [];
    await ask("add", "--all", ...sparse, "--", ".");
    await takeIn(git, tree, work, within);
    await refuseNested(git, tree, head, within);
    const files = await ask("write-tree");
    const headTree = head ? await ask("rev-parse", `${head}^{tree}`) : "";
    if (files === headTree && (staged === headTree || staged === "")) return null;
    if (staged !== "" && staged !== headTree && staged !== files) {
      parents.push(await commit(staged, parents, `Index of session '${session.id}'`));
    }
    return await commit(files, parents, `Uncommitted work of session '${session.id}'`);
  });
}

/** Adds what `git add --all` passes over: edits hidden from it, and ignored files that are work. */
async function takeIn(
  git: GitRunner,
  tree: Repository,
  work: SessionWork,
  within: GitOptions,
): Promise<void> {
  const paths = [...work.hiddenEdits, ...work.changedIncluded];
  if (paths.length === 0) return;
  if (work.hiddenEdits.length > 0) await showAgain(git, tree, work.hiddenEdits, within);
  const stdin = paths.map((path) => `${path}\0`).join("");
  await git.exec(tree, ["update-index", "--add", "-z", "--stdin"], { ...within, stdin });
}

const IDENTITY = {
  GIT_AUTHOR_NAME: "orchestragent-mcp",
  GIT_AUTHOR_EMAIL: "orchestragent-mcp@localhost",
  GIT_COMMITTER_NAME: "orchestragent-mcp",
  GIT_COMMITTER_EMAIL: "orchestragent-mcp@localhost",
};

/** The superproject's index has no place for files of a submodule. */
function refuseDirtySubmodules(session: Session, work: SessionWork): void {
  if (work.dirtySubmodules.length === 0) return;
  const paths = work.dirtySubmodules;
  throw new ToolError(
    "nested_repository",
    `submodules of '${session.worktree}' have uncommitted files: ${paths.join(", ")}`,
    {
      next: "Commit them inside the submodule, then call again: its commits are kept.",
      details: { paths },
    },
  );
}

/** git takes a repository inside the worktree for a submodule and keeps none of its content. */
async function refuseNested(
  git: GitRunner,
  tree: Repository,
  head: string,
  within: GitOptions,
): Promise<void> {
  const listing = await git.exec(tree, ["ls-files", "--stage", "-z"], within);
  const known = head ? await git.exec(tree, ["ls-tree", "-r", "-z", head], within) : null;
  const submodules = new Set(known ? pathsOfMode(known.stdout, SUBMODULE_MODE) : []);
  const nested = pathsOfMode(listing.stdout, SUBMODULE_MODE).filter((file) => !submodules.has(file));
  if (nested.length === 0) return;
  throw new ToolError(
    "nested_repository",
    `'${tree.root}' holds other git repositories: ${nested.join(", ")}`,
    {
      details: { paths: nested },
    },
  );
}

/** Paths of one mode in the output of `ls-files --stage -z` or `ls-tree -z`. */
function pathsOfMode(listing: string, mode: string): string[] {
  return listing.split("\0")
    .filter((record) => record.startsWith(`${mode} `))
    .map((record) => record.slice(record.indexOf("\t") + 1));
}
