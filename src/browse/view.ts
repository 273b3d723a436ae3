/** One served repository: its revisions, its trees and its objects. */
import { asToolError, ToolError } from "../errors.ts";
import { ObjectReader } from "../git/object_reader.ts";
import { checkCommitish } from "../git/refs.ts";
import type { Repository } from "../git/repository.ts";
import type { GitRunner } from "../git/runner.ts";
import { type Listing, listTree } from "../git/trees.ts";
import { LruMap } from "../platform/lru.ts";
import { readHead, readRef, refsStamp } from "./heads.ts";

/** A commit that a caller named, or meant by naming none. */
export interface Revision {
  commit: string;
  tree: string;
  /** Full name of the branch or tag; null when it was named by its object. */
  ref: string | null;
}

/** A branch or tag. */
export interface Tip {
  /** Full name. */
  ref: string;
  /** The commit it leads to. */
  commit: string;
  /** When that was committed, seconds since the epoch. */
  time: number;
}

const FIELDS = [
  ...["refname", "objecttype", "objectname", "committerdate:unix"],
  ...["*objecttype", "*objectname", "*committerdate:unix"],
].map((field) => `%(${field})`).join("%00");
const TREES = 4_096;
/** Paths of all repositories that are kept in memory: a few hundred bytes each. */
const LISTED_PATHS = 600_000;
const MOST_LISTINGS = 256;

/** Paths by tree, shared by all views: a tree has the same ones wherever it stands. */
const listings = new LruMap<string, Listing>(MOST_LISTINGS, {
  weight: ({ paths }) => paths.length,
  most: LISTED_PATHS,
});

/** A repository as it is looked at. */
export class View {
  readonly repository: Repository;
  readonly objects: ObjectReader;
  readonly #git: GitRunner;
  #trees = new LruMap<string, string>(TREES);
  #tips: { stamp: string | null; tips: readonly Tip[] } | undefined;

  constructor(git: GitRunner, repository: Repository) {
    this.#git = git;
    this.repository = repository;
    this.objects = new ObjectReader(git, repository);
  }

  /**
   * The commit that a branch, tag, session branch or object name stands for; without one that of HEAD, or of the
   * branch that was changed last where HEAD leads nowhere.
   *
   * @throws {ToolError} `INVALID_REQUEST` for a name that resolves to nothing, `NOT_FOUND` for a repository
   * without commits.
   */
  async revision(name: string | undefined): Promise<Revision> {
    if (name === undefined || name === "" || name === "HEAD") return await this.#default();
    const found = await this.#named(name);
    if (found) return found;
    throw new ToolError("INVALID_REQUEST", `Cannot resolve revision: ${name.slice(0, 200)}`, {
      next:
        "Name a branch, tag or commit of this repository; without a revision the default branch is meant.",
    });
  }

  /** {@linkcode revision} of a branch, tag or object name; null when there is none. */
  async branch(name: string): Promise<Revision | null> {
    if (name === "HEAD") return await this.#default().catch(() => null);
    return await this.#named(name);
  }

  /** Every path of a tree; kept while there is room. */
  async listing(tree: string, signal?: AbortSignal): Promise<Listing> {
    const known = listings.get(tree);
    if (known) return known;
    const listing = await listTree(this.#git, this.repository, tree, signal);
    listings.set(tree, listing);
    return listing;
  }

  /** Local branches and tags by name; what is broken is left out. */
  async tips(signal?: AbortSignal): Promise<readonly Tip[]> {
    const stamp = refsStamp(this.repository);
    if (this.#tips && stamp !== null && this.#tips.stamp === stamp) return this.#tips.tips;
    const tips = await this.#readTips(signal);
    this.#tips = { stamp, tips };
    return tips;
  }

  /** Ends what was started for reading. */
  close(): void {
    this.objects.close();
  }

  async #default(): Promise<Revision> {
    const head = readHead(this.repository) ?? await this.#askHead();
    if (head.commit !== null) {
      const revision = await this.#revisionOf(head.commit, head.ref);
      if (revision) return revision;
    }
    const branches = (await this.tips()).filter(({ ref }) => ref.startsWith("refs/heads/"));
    const latest = branches.toSorted((a, b) => b.time - a.time)[0];
    const revision = latest && await this.#revisionOf(latest.commit, latest.ref);
    if (revision) return revision;
    if (head.commit !== null) {
      const message = `HEAD of '${this.repository.root}' names ${head.commit}, which is missing or damaged`;
      throw new ToolError("git_failed", message, {
        next: "'git fsck' in the repository tells what is wrong.",
      });
    }
    throw new ToolError("NOT_FOUND", "Repository has no commits", {
      next: "There is nothing to look at yet.",
    });
  }

  async #named(name: string): Promise<Revision | null> {
    let token: string;
    try {
      token = checkCommitish(name);
    } catch {
      return null;
    }
    const candidates = token.startsWith("refs/")
      ? [token]
      : [`refs/heads/${token}`, `refs/tags/${token}`, `refs/remotes/${token}`];
    for (const ref of /[~^]/.test(token) ? [] : candidates) {
      const direct = readRef(this.repository, ref);
      const commit = direct === undefined ? (await this.objects.info(`${ref}^{commit}`))?.oid : direct;
      const revision = commit && await this.#revisionOf(commit, ref);
      if (revision) return revision;
    }
    const commit = await this.objects.info(`${token}^{commit}`);
    return commit && await this.#revisionOf(commit.oid, null);
  }

  /** Null when the object is missing or leads to no commit. */
  async #revisionOf(object: string, ref: string | null): Promise<Revision | null> {
    const known = this.#trees.get(object);
    if (known) return { commit: object, tree: known, ref };
    const commit = await this.objects.info(`${object}^{commit}`);
    const tree = commit && await this.objects.info(`${commit.oid}^{tree}`);
    if (!tree) return null;
    this.#trees.set(commit.oid, tree.oid);
    return { commit: commit.oid, tree: tree.oid, ref };
  }

  async #askHead(): Promise<{ ref: string | null; commit: string | null }> {
    const args = ["symbolic-ref", "--quiet", "HEAD"];
    const { code, stdout } = await this.#git.exec(this.repository, args, { okCodes: [1, 128] });
    const commit = (await this.objects.info("HEAD^{commit}"))?.oid ?? null;
    return { ref: code === 0 ? stdout.trim() : null, commit };
  }

  async #readTips(signal?: AbortSignal): Promise<Tip[]> {
    const patterns = ["refs/heads", "refs/tags"];
    try {
      const args = ["for-each-ref", `--format=${FIELDS}`, ...patterns];
      return parseTips((await this.#git.exec(this.repository, args, { signal })).stdout);
    } catch (error) {
      if (asToolError(error).code !== "git_failed") throw error;
    }
    // One ref to an object that is missing ends git: then each is looked at by itself.
    const args = ["for-each-ref", "--format=%(refname)", ...patterns];
    const { stdout } = await this.#git.exec(this.repository, args, { signal });
    const tips = await Promise.all(
      stdout.split("\n").filter(Boolean).map(async (ref): Promise<Tip[]> => {
        const commit = await this.objects.read(`${ref}^{commit}`);
        return commit ? [{ ref, commit: commit.oid, time: committedAt(commit.bytes) }] : [];
      }),
    );
    return tips.flat();
  }
}

/** Parses the fields of tips; tags stand for what they tag, and what is no commit is left out. */
function parseTips(text: string): Tip[] {
  return text.split("\n").flatMap((line) => {
    const [ref, type, oid, time, tagged, target, targetTime] = line.split("\0");
    if (type === "commit") return [{ ref, commit: oid, time: Number(time) }];
    return tagged === "commit" ? [{ ref, commit: target, time: Number(targetTime) }] : [];
  });
}

function committedAt(commit: Uint8Array): number {
  const [, seconds] = /^committer .*> (-?\d+) /m.exec(new TextDecoder().decode(commit)) ?? [];
  return Number(seconds ?? 0);
}
