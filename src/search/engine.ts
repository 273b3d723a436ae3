/**
 * What the tools know of search. One engine serves it from an index beside the session database; where one
 * machine is not enough, another can stand behind the same interface.
 */
import type { Served } from "../browse/catalogue.ts";
import type { View } from "../browse/view.ts";
import type { Query } from "./query/ast.ts";
import type { Hit } from "./snippets.ts";

/** A repository to be searched. */
export interface Target {
  served: Served;
  view: View;
}

/** What every search says. */
export interface SearchRequest {
  query: Query;
  targets: readonly Target[];
  /** Branch, tag or commit; without it the default branch of each repository. */
  branch?: string;
  /** Results passed over, and results wanted. */
  offset: number;
  count: number;
  signal?: AbortSignal;
  progress?(done: number, total: number): void;
}

/** A search of file contents and paths. */
export interface FileSearch extends SearchRequest {
  /** Whether a path is wanted at all. */
  wanted?(path: string): boolean;
}

/** A file that was found. */
export interface FoundFile {
  repository: string;
  path: string;
  /** Full name; null when a commit was searched that no branch was named for. */
  branch: string | null;
  commit: string;
  /** Its text and where in it the query matches; null when the query says nothing of content. */
  matches: { text: string; hits: Hit[] } | null;
}

/** A search of commits. */
export interface CommitSearch extends SearchRequest {
  /** Names or addresses; commits of any of them. */
  authors?: readonly string[];
}

/** A commit that was found. */
export interface FoundCommit {
  repository: string;
  branch: string | null;
  commit: string;
  author: string;
  committer: string;
  /** When it was committed, seconds since the epoch. */
  time: number;
  /** The whole message. */
  message: string;
}

/** One page of what was found. */
export interface Found<T> {
  results: T[];
  /** All there are. */
  total: number;
  /** For a reader: what was slower or less than it could be. */
  notes: string[];
}

/** How far the index is. */
export interface IndexState {
  /** Where it is. */
  place: string;
  blobs: number;
  commits: number;
  /** Bytes on disk. */
  size: number;
  /** Whether something is being indexed now. */
  busy: boolean;
}

/** What has to be indexed in one go. */
export interface IndexReport {
  repositories: number;
  blobs: number;
  commits: number;
  /** Bytes of text. */
  bytes: number;
}

/** A search engine. */
export interface SearchEngine {
  state(): IndexState;
  searchFiles(request: FileSearch): Promise<Found<FoundFile>>;
  searchCommits(request: CommitSearch): Promise<Found<FoundCommit>>;
  /** Indexes the default branches of repositories to the end. */
  build(targets: readonly Target[], options: BuildOptions): Promise<IndexReport>;
  close(): void;
}

/** How an index is built. */
export interface BuildOptions {
  signal?: AbortSignal;
  /** Called now and then with what is done of everything. */
  onProgress?(progress: { repository: string; done: number; total: number; bytes: number }): void;
}
