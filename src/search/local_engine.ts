/** The search engine of the product: an index beside the session database, kept up to date by each search. */
import { join } from "node:path";
import { asToolError, endsCall, messageOf, ToolError } from "../errors.ts";
import { isAncestor, listCommits, readMessages } from "../git/history.ts";
import type { GitRunner } from "../git/runner.ts";
import type { Repository } from "../git/repository.ts";
import { smallFile } from "../platform/small_file.ts";
import { log } from "../platform/log.ts";
import { LruMap } from "../platform/lru.ts";
import { mapBounded, PARALLELISM } from "../platform/pool.ts";
import type { Revision, View } from "../browse/view.ts";
import type {
  BuildOptions,
  CommitSearch,
  FileSearch,
  Found,
  FoundCommit,
  FoundFile,
  IndexReport,
  IndexState,
  SearchEngine,
  SearchRequest,
  Target,
} from "./engine.ts";
import { leavesOf } from "./evaluate.ts";
import { Background } from "./index/background.ts";
import { BlobNames, blobsOf, indexBlobs } from "./index/blob_indexer.ts";
import { UNKNOWN } from "./index/candidates.ts";
import { commitId, indexCommits } from "./index/commit_indexer.ts";
import { IndexStore, isBusy, isDamage, removeIndex } from "./index/store.ts";
import { refForms, valueMatcher } from "./match/value.ts";
import { type FileScope, Rows } from "./scope.ts";
import { type CommitScope, searchCommits } from "./search_commits.ts";
import { branchLeaves, searchFiles } from "./search_files.ts";

/** What the engine is made with. */
export interface LocalEngineOptions {
  git: GitRunner;
  /** Directory of the index. */
  directory: string;
  background: Background;
}

/** A commit whose files or history are searched. */
interface Place {
  target: Target;
  at: Revision;
}

interface History {
  rows: Int32Array;
  missing: string[];
}

/** So many new files are indexed before a search; more go on behind it, and are looked into meanwhile. */
const FILES_AT_ONCE = 300;
const COMMITS_AT_ONCE = 3_000;
/** A search does not wait long for another process that writes. */
const SEARCH_BUSY_MS = 250;
const HISTORIES = 256;

/** Searches with an index in one directory. */
export class LocalEngine implements SearchEngine {
  readonly #git: GitRunner;
  readonly #directory: string;
  readonly #background: Background;
  #store: IndexStore | null = null;
  #rows = new Rows(null);
  #histories = new LruMap<string, History>(HISTORIES);
  /** The last tip of each branch whose history is known. */
  #tips = new Map<string, string>();

  constructor({ git, directory, background }: LocalEngineOptions) {
    this.#git = git;
    this.#directory = directory;
    this.#background = background;
  }

  state(): IndexState {
    const store = this.#open();
    const count = (table: string) => Number(store.row(`SELECT count(*) FROM ${table}`)![0]);
    return {
      place: store.file,
      blobs: count("blob"),
      commits: count("message"),
      size: Deno.statSync(store.file).size,
      busy: this.#background.busy,
    };
  }

  async searchFiles(request: FileSearch): Promise<Found<FoundFile>> {
    return await this.#withIndex(async (store, notes) => {
      const places = await this.#places(request, notes);
      const scopes = await each(places, notes, async ({ target, at }): Promise<FileScope> => {
        const { served, view } = target;
        const listing = await view.listing(at.tree, request.signal);
        return { name: served.name, view, at, listing, ...this.#rows.of(listing) };
      });
      const waiting = await this.#refreshFiles(scopes, store, request.signal);
      if (store && waiting > 0) notes.push(slower(waiting, "files"));
      const found = await searchFiles(request, scopes, store);
      return { ...found, notes: [...notes, ...found.notes] };
    });
  }

  async searchCommits(request: CommitSearch): Promise<Found<FoundCommit>> {
    return await this.#withIndex(async (store, notes) => {
      const places = await this.#places(request, notes);
      const withTags = leavesOf(request.query).some(({ field }) => field === "tag");
      const scopes = await each(places, notes, async (place): Promise<CommitScope> => {
        const { target: { served, view }, at } = place;
        const { rows, missing } = await this.#history(place, store, request.signal);
        const direct = await readMessages(this.#git, view.repository, missing, { signal: request.signal });
        const tags = withTags ? await tagsOf(view, request.signal) : new Map();
        return { name: served.name, ref: at.ref, rows, direct, tags };
      });
      const waiting = scopes.reduce((sum, { direct }) => sum + direct.length, 0);
      if (store && waiting > 0) notes.push(slower(waiting, "commits"));
      const found = await searchCommits(request, scopes, store);
      return { ...found, notes: [...notes, ...found.notes] };
    });
  }

  async build(targets: readonly Target[], { signal, onProgress }: BuildOptions): Promise<IndexReport> {
    const store = this.#open();
    const report: IndexReport = { repositories: 0, blobs: 0, commits: 0, bytes: 0 };
    for (const { served, view } of targets) {
      const at = await view.revision(undefined).catch(unlessEmpty);
      report.repositories++;
      if (!at) continue;
      const before = report.bytes;
      const options = {
        signal,
        onProgress: ({ done, total, bytes }: { done: number; total: number; bytes: number }) =>
          onProgress?.({ repository: served.name, done, total, bytes: before + bytes }),
      };
      const names = await blobsOf(this.#git, view.repository, at.tree, signal);
      const blobs = await indexBlobs(store, view.objects, names, options);
      const history = await listCommits(this.#git, view.repository, at.commit, [], { signal });
      const commits = await indexCommits(store, this.#git, view.repository, history, { signal });
      report.blobs += blobs.fresh;
      report.commits += commits.fresh;
      report.bytes += blobs.bytes + commits.bytes;
    }
    if (report.blobs + report.commits > 0) store.optimize();
    return report;
  }

  close(): void {
    this.#background.close();
    this.#forget();
  }

  #open(): IndexStore {
    // A process that goes on with a file that was deleted would index for nobody.
    if (this.#store && !this.#store.current) this.#forget();
    if (!this.#store) {
      this.#store = IndexStore.open(this.#directory, SEARCH_BUSY_MS);
      this.#rows = new Rows(this.#store);
    }
    return this.#store;
  }

  #forget(): void {
    this.#store?.close();
    this.#store = null;
    this.#rows = new Rows(null);
    this.#histories = new LruMap(HISTORIES);
    this.#tips.clear();
  }

  /** Searches with the index; one that is damaged is thrown away, and where there can be none it goes without. */
  async #withIndex<T>(work: (store: IndexStore | null, notes: string[]) => Promise<T>): Promise<T> {
    try {
      return await work(this.#open(), []);
    } catch (error) {
      if (isDamage(error)) {
        log("warn", `the search index is built anew: ${messageOf(error)}`);
        const file = this.#store?.file;
        this.#forget();
        if (file) removeIndex(file);
        return await work(this.#open(), []);
      }
      if (!(error instanceof ToolError) || error.code !== "index_unavailable") throw error;
      log("warn", error.message);
      this.#rows = new Rows(null);
      return await work(null, [`everything was looked into one by one, because ${error.message}`]);
    }
  }

  /** What is to be searched: the default branches, the branch asked for, and those that the query names. */
  async #places({ query, targets, branch, signal }: SearchRequest, notes: string[]): Promise<Place[]> {
    const asked = branch === undefined ? branchLeaves(query) : [];
    const matchers = await Promise.all(asked.map(({ match }) => valueMatcher(match, "whole")));
    const places = await each(targets, notes, async (target): Promise<Place[]> => {
      const { view } = target;
      if (branch !== undefined) {
        const at = await view.branch(branch);
        return at ? [{ target, at }] : [];
      }
      const usual = await view.revision(undefined).catch(unlessEmpty);
      const tips = matchers.length === 0
        ? []
        : (await view.tips(signal)).filter(({ ref }) =>
          ref.startsWith("refs/heads/") && ref !== usual?.ref &&
          matchers.some((matches) => matches(...refForms(ref)))
        );
      const others = await Promise.all(tips.map(({ ref }) => view.branch(ref)));
      return [usual, ...others].flatMap((at) => at ? [{ target, at }] : []);
    });
    const found = places.flat();
    if (branch !== undefined && found.length === 0) {
      throw new ToolError(
        "INVALID_REQUEST",
        `no repository that is searched has a branch '${branch.slice(0, 200)}'`,
        {
          next: "Name an existing branch, or leave branch out for the default ones.",
        },
      );
    }
    return found;
  }

  /** Indexes what is new, or leaves it to the background where it is much; returns how many files have to wait. */
  async #refreshFiles(scopes: FileScope[], store: IndexStore | null, signal?: AbortSignal): Promise<number> {
    const unknown = scopes.reduce((sum, scope) => sum + scope.unknown, 0);
    if (!store || unknown === 0) return 0;
    for (const scope of scopes) {
      if (scope.unknown === 0) continue;
      const { view, listing, at, rows } = scope;
      if (unknown > FILES_AT_ONCE) {
        this.#background.index(view.repository, at.commit);
        continue;
      }
      const names = new BlobNames(listing.oids.filter((_, nth) => rows[nth] === UNKNOWN));
      if (!await this.#write(() => indexBlobs(store, view.objects, names, { signal }))) continue;
      Object.assign(scope, this.#rows.of(listing));
    }
    return scopes.reduce((sum, scope) => sum + scope.unknown, 0);
  }

  async #history(
    { target: { view }, at }: Place,
    store: IndexStore | null,
    signal?: AbortSignal,
  ): Promise<History> {
    const { repository } = view;
    const git = this.#git;
    if (!store) {
      return {
        rows: new Int32Array(),
        missing: await listCommits(git, repository, at.commit, [], { signal }),
      };
    }
    // What a commit reaches is not the same in a shallow clone.
    const place = `${repository.commonDir}\0${shallowStamp(repository)}\0`;
    const branch = `${place}${at.ref ?? ""}`;
    let history = this.#histories.get(place + at.commit);
    if (!history) {
      const last = this.#tips.get(branch);
      const known = last === undefined ? undefined : this.#histories.get(place + last);
      const goesOn = known && known.missing.length === 0 &&
        await isAncestor(git, repository, last!, at.commit, { signal });
      const without = goesOn ? [last!] : [];
      const fresh = this.#lookUp(store, await listCommits(git, repository, at.commit, without, { signal }));
      history = { rows: joined(fresh.rows, goesOn ? known.rows : new Int32Array()), missing: fresh.missing };
    } else if (history.missing.length > 0) {
      const fresh = this.#lookUp(store, history.missing);
      history = { rows: joined(fresh.rows, history.rows), missing: fresh.missing };
    }
    const { missing } = history;
    if (missing.length > COMMITS_AT_ONCE) this.#background.index(repository, at.commit);
    else if (
      missing.length > 0 && await this.#write(() => indexCommits(store, git, repository, missing, { signal }))
    ) {
      const fresh = this.#lookUp(store, missing);
      history = { rows: joined(fresh.rows, history.rows), missing: fresh.missing };
    }
    this.#histories.set(place + at.commit, history);
    this.#tips.set(branch, at.commit);
    return history;
  }

  #lookUp(store: IndexStore, oids: readonly string[]): History {
    const rows = new Int32Array(oids.length);
    const missing: string[] = [];
    let found = 0;
    for (const oid of oids) {
      const row = commitId(store, oid);
      if (row === null) missing.push(oid);
      else rows[found++] = row;
    }
    return { rows: rows.slice(0, found), missing };
  }

  /** Whether something could be written: another process may be at it, or the disk may be full. */
  async #write(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (isDamage(error) || asToolError(error).code !== "internal_error") throw error;
      if (!isBusy(error)) log("warn", `the search index could not be written: ${messageOf(error)}`);
      return false;
    }
  }
}

function shallowStamp({ commonDir }: Repository): string {
  return smallFile(join(commonDir, "shallow")) ?? "";
}

async function tagsOf(view: View, signal?: AbortSignal): Promise<Map<string, string[]>> {
  const tags = new Map<string, string[]>();
  for (const { ref, commit } of await view.tips(signal)) {
    if (ref.startsWith("refs/tags/")) tags.set(commit, [...tags.get(commit) ?? [], ref]);
  }
  return tags;
}

function joined(newer: Int32Array, older: Int32Array): Int32Array {
  const all = new Int32Array(newer.length + older.length);
  all.set(newer);
  all.set(older, newer.length);
  return all;
}

function slower(waiting: number, what: string): string {
  return `${waiting} ${what} are not in the index yet and were looked into one by one`;
}

/** Works on many; where one of several cannot be read, the others are searched all the same. */
async function each<T extends Target | Place, R>(
  items: readonly T[],
  notes: string[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const found = await mapBounded(items, PARALLELISM, async (item): Promise<R[]> => {
    try {
      return [await work(item)];
    } catch (error) {
      if (items.length === 1 || endsCall(error) || isDamage(error)) throw error;
      const { served } = "served" in item ? item : item.target;
      notes.push(`${served.name} was left out: ${asToolError(error).message}`);
      return [];
    }
  });
  return found.flat();
}

/** A repository without commits has nothing to be searched. */
function unlessEmpty(error: unknown): null {
  if (asToolError(error).code === "NOT_FOUND") return null;
  throw error;
}
