/**
 * Backups: what a removal takes away stays reachable under `refs/orchestragent/backup/`, where no command of
 * git removes it by itself and from where a new session can be started.
 */
import { messageOf, ToolError } from "../errors.ts";
import { backupPrefix, createRefs } from "../git/backup_refs.ts";
import { watchAgain } from "../git/hidden_edits.ts";
import { withIndexCopy } from "../git/index_copy.ts";
import { GITLINK, listIndex } from "../git/index_entries.ts";
import type { Repository } from "../git/repository.ts";
import type { GitOptions, GitRunner } from "../git/runner.ts";
import type { SessionScope } from "./scope.ts";
import type { Session } from "./session.ts";
import type { SessionWork } from "./work.ts";

/**
 * Keeps the commits that removal would leave without a name, and a commit of the uncommitted work.
 *
 * @returns The full names of the refs made, the most complete one first: `…/work`, `…/tip`, then others.
 * @throws {ToolError} `nested_repository` when the worktree holds a repository that git cannot take up.
 */
export async function backUp(
  scope: SessionScope,
  session: Session,
  work: SessionWork,
  options: GitOptions = {},
): Promise<string[]> {
  const prefix = backupPrefix(session.branch);
  const refs = new Map<string, string>();
  const snapshot = work.tree && work.uncommittedFiles > 0
    ? await snapshotOf(scope.git, work.tree, work, session, options)
    : null;
  if (snapshot) refs.set(`${prefix}/work`, snapshot);
  for (const [at, tip] of work.unnamedTips.entries()) refs.set(`${prefix}/tip${at === 0 ? "" : at + 1}`, tip);
  await createRefs(scope.git, scope.main, refs, options);
  return [...refs.keys()];
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
  return await withIndexCopy(tree, async (copy) => {
    const env = { GIT_INDEX_FILE: copy };
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
    const add = [
      "-c",
      "core.safecrlf=false",
      "-c",
      "core.autocrlf=false",
      "add",
      "--all",
      ...sparse,
      "--",
      ".",
    ];
    await git.exec(tree, add, within).catch((error) => {
      throw isNestedUnborn(error) ? nestedError(tree, messageOf(error)) : error;
    });
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
  if (work.hiddenEdits.length > 0) await watchAgain(git, tree, work.hiddenEdits, within);
  const stdin = paths.map((path) => `${path}\0`).join("");
  await git.exec(tree, ["update-index", "--add", "-z", "--stdin"], { ...within, stdin });
}

const IDENTITY = {
  GIT_AUTHOR_NAME: "orchestragent-mcp",
  GIT_AUTHOR_EMAIL: "orchestragent-mcp@localhost",
  GIT_COMMITTER_NAME: "orchestragent-mcp",
  GIT_COMMITTER_EMAIL: "orchestragent-mcp@localhost",
};

/** git takes a repository inside the worktree for a submodule and keeps none of its content. */
async function refuseNested(
  git: GitRunner,
  tree: Repository,
  head: string,
  within: GitOptions,
): Promise<void> {
  const added = (await listIndex(git, tree, within)).filter((entry) => entry.mode === GITLINK);
  if (added.length === 0) return;
  const listing = head ? (await git.exec(tree, ["ls-tree", "-r", "-z", head], within)).stdout : "";
  const known = listing.split("\0")
    .filter((record) => record.startsWith(`${GITLINK} `))
    .map((record) => record.slice(record.indexOf("\t") + 1));
  const nested = added.map((entry) => entry.path).filter((path) => !known.includes(path));
  if (nested.length > 0) throw nestedError(tree, nested.join(", "));
}

function nestedError(tree: Repository, what: string): ToolError {
  return new ToolError("nested_repository", `'${tree.root}' holds other git repositories: ${what}`);
}

function isNestedUnborn(error: unknown): boolean {
  return /does not have a commit checked out/.test(messageOf(error));
}
