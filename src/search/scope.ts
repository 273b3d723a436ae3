/** What a search looks at: the files of one commit of each repository, and which rows of the index they are. */
import { isBinary, textOf } from "../browse/blobs.ts";
import type { Revision, View } from "../browse/view.ts";
import type { Listing } from "../git/trees.ts";
import { LruMap } from "../platform/lru.ts";
import { UNKNOWN } from "./index/candidates.ts";
import { BLOB_KINDS, LARGEST_INDEXED } from "./index/blob_indexer.ts";
import type { IndexStore } from "./index/store.ts";
import { prepare, type Prepared } from "./match/text.ts";

/** A repository at a commit. */
export interface FileScope {
  /** Name of the repository. */
  name: string;
  view: View;
  at: Revision;
  listing: Listing;
  /** For each path its row in the index, or `UNKNOWN`, or {@linkcode NO_TEXT}. */
  rows: Int32Array;
  /** How many rows are unknown. */
  unknown: number;
}

/** No text to search: binary, too large, a link or a submodule. */
export const NO_TEXT = -1;

const MOST_ROWS = 1_000_000;
const MOST_TEXT = 12 * 1024 * 1024;
const MOST_TEXTS = 4_096;

/** Rows by blob name, as long as one store is open. */
export class Rows {
  readonly #store: IndexStore | null;
  #known = new Map<string, number>();
  #complete = new WeakMap<Listing, Int32Array>();

  /** @param store Null when there is no index: then everything is unknown. */
  constructor(store: IndexStore | null) {
    this.#store = store;
  }

  /** The rows of a listing. */
  of(listing: Listing): Pick<FileScope, "rows" | "unknown"> {
    const complete = this.#complete.get(listing);
    if (complete) return { rows: complete, unknown: 0 };
    const { oids, kinds } = listing;
    if (this.#known.size > MOST_ROWS) this.#known.clear();
    const rows = new Int32Array(oids.length);
    let unknown = 0;
    for (let i = 0; i < oids.length; i++) {
      const row = kinds[i] === "file" ? this.#known.get(oids[i]) ?? this.#lookUp(oids[i]) : NO_TEXT;
      if (row === UNKNOWN) unknown++;
      rows[i] = row;
    }
    if (unknown === 0) this.#complete.set(listing, rows);
    return { rows, unknown };
  }

  #lookUp(oid: string): number {
    const found = this.#store?.row("SELECT id, kind FROM blob WHERE oid = ?", Uint8Array.fromHex(oid));
    if (!found) return UNKNOWN;
    const row = Number(found[1]) === BLOB_KINDS.text ? Number(found[0]) : NO_TEXT;
    this.#known.set(oid, row);
    return row;
  }
}

const texts = new LruMap<string, Prepared>(MOST_TEXTS, {
  weight: ({ text }) => text.length,
  most: MOST_TEXT,
});

/** How a text is read. */
export interface TextOptions {
  /** It is likely to be asked for again. */
  keep: boolean;
  /** It is known to be text, and not too large. */
  checked: boolean;
}

/** The text of a blob, ready to be searched; null when it is none, or too large. */
export async function preparedText(
  { objects }: View,
  oid: string,
  { keep, checked }: TextOptions,
): Promise<Prepared | null> {
  const known = texts.get(oid);
  if (known) return known;
  if (!checked) {
    const info = await objects.info(oid);
    if (info?.type !== "blob" || info.size > LARGEST_INDEXED) return null;
  }
  const blob = await objects.read(oid);
  if (!blob || isBinary(blob.bytes)) return null;
  const prepared = prepare(textOf(blob.bytes));
  if (keep) texts.set(oid, prepared);
  return prepared;
}
