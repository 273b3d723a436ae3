/** Bringing file contents into the index: each blob once, however many paths and repositories have it. */
import { isBinary, textOf } from "../../browse/blobs.ts";
import { ToolError } from "../../errors.ts";
import type { ObjectReader } from "../../git/object_reader.ts";
import type { Repository } from "../../git/repository.ts";
import type { GitRunner } from "../../git/runner.ts";
import { listTree } from "../../git/trees.ts";
import { lowerCase } from "../match/text.ts";
import type { IndexStore } from "./store.ts";

/** What is known of a blob. */
export const BLOB_KINDS = { text: 0, binary: 1, large: 2 } as const;
/** Larger files are found by their paths only. */
export const LARGEST_INDEXED = 2 * 1024 * 1024;

/** Names of blobs, each once, in twenty bytes or so: a large tree has hundreds of thousands. */
export class BlobNames {
  readonly length: number;
  readonly #bytes: Uint8Array;
  readonly #width: number;

  constructor(oids: Iterable<string>) {
    const names = new Set(oids);
    const [first = ""] = names;
    this.length = names.size;
    this.#width = first.length / 2;
    this.#bytes = new Uint8Array(names.size * this.#width);
    let at = 0;
    for (const oid of names) this.#bytes.set(Uint8Array.fromHex(oid), this.#width * at++);
  }

  /** The full object names of some of them. */
  slice(from: number, to: number): string[] {
    const names: string[] = [];
    for (let at = from; at < Math.min(to, this.length); at++) {
      names.push(this.#bytes.subarray(at * this.#width, (at + 1) * this.#width).toHex());
    }
    return names;
  }
}

/** The blobs of all files of a tree. */
export async function blobsOf(
  git: GitRunner,
  repository: Repository,
  tree: string,
  signal?: AbortSignal,
): Promise<BlobNames> {
  const { oids, kinds } = await listTree(git, repository, tree, signal);
  return new BlobNames(oids.filter((_, nth) => kinds[nth] === "file"));
}

/** How far indexing is. */
export interface IndexProgress {
  /** Objects looked at, and how many there are. */
  done: number;
  total: number;
  /** Objects that were not in the index. */
  fresh: number;
  /** Bytes of text indexed. */
  bytes: number;
}

/** How indexing is done. */
export interface IndexOptions {
  signal?: AbortSignal;
  onProgress?(progress: IndexProgress): void;
}

/** Objects asked for at once, and the bytes of a transaction: what is in memory at a time. */
const WINDOW = 256;
const BATCH_BYTES = 2 * 1024 * 1024;
const BATCH_BLOBS = 2_000;

interface Read {
  oid: string;
  size: number;
  kind: number;
  lower: string;
}

/**
 * Indexes the blobs that are not in the index yet. Ended half-way, what was written stays and the rest comes
 * next time.
 *
 * @throws {ToolError} `cancelled`, and what reading throws.
 */
export async function indexBlobs(
  store: IndexStore,
  objects: ObjectReader,
  names: BlobNames,
  options: IndexOptions = {},
): Promise<IndexProgress> {
  const progress = { done: 0, total: names.length, fresh: 0, bytes: 0 };
  let batch: Read[] = [];
  let bytes = 0;
  const write = () => {
    writeBatch(store, batch);
    progress.fresh += batch.length;
    progress.bytes += bytes;
    options.onProgress?.(progress);
    [batch, bytes] = [[], 0];
  };
  for (let at = 0; at < names.length; at += WINDOW) {
    const missing = names.slice(at, at + WINDOW).filter((oid) => blobId(store, oid) === null);
    progress.done = Math.min(at + WINDOW, names.length);
    const infos = await Promise.all(missing.map((oid) => objects.info(oid)));
    const known = infos.flatMap((info) => info?.type === "blob" ? [info] : []);
    for (const part of portions(known)) {
      if (options.signal?.aborted) throw new ToolError("cancelled", "the call was cancelled");
      const read = await Promise.all(part.map(async ({ oid, size }): Promise<Read[]> => {
        if (size > LARGEST_INDEXED) return [{ oid, size, kind: BLOB_KINDS.large, lower: "" }];
        const blob = await objects.read(oid);
        if (!blob) return [];
        const binary = isBinary(blob.bytes);
        const lower = binary ? "" : lowerCase(textOf(blob.bytes));
        return [{ oid, size, kind: binary ? BLOB_KINDS.binary : BLOB_KINDS.text, lower }];
      }));
      for (const one of read.flat()) {
        batch.push(one);
        bytes += one.lower.length;
        if (bytes >= BATCH_BYTES || batch.length >= BATCH_BLOBS) write();
      }
    }
  }
  if (batch.length > 0) write();
  return progress;
}

/** The row of a blob; null when it is not in the index. */
export function blobId(store: IndexStore, oid: string): number | null {
  const row = store.row("SELECT id FROM blob WHERE oid = ?", Uint8Array.fromHex(oid));
  return row ? Number(row[0]) : null;
}

/** So much at a time that their bytes are no burden. */
function* portions<T extends { size: number }>(infos: readonly T[]): Generator<T[]> {
  let part: T[] = [];
  let bytes = 0;
  for (const info of infos) {
    part.push(info);
    bytes += Math.min(info.size, LARGEST_INDEXED);
    if (bytes < BATCH_BYTES) continue;
    yield part;
    [part, bytes] = [[], 0];
  }
  if (part.length > 0) yield part;
}

function writeBatch(store: IndexStore, batch: readonly Read[]): void {
  try {
    store.transaction(() => {
      for (const { oid, size, kind, lower } of batch) {
        const sql = "INSERT OR IGNORE INTO blob (oid, kind, size) VALUES (?, ?, ?)";
        const { id, changes } = store.run(sql, Uint8Array.fromHex(oid), kind, size);
        // Another process may have been quicker.
        if (changes > 0 && kind === BLOB_KINDS.text) store.blobs.add(id, lower);
      }
      store.blobs.flush();
    });
  } catch (error) {
    store.blobs.discard();
    throw error;
  }
}
