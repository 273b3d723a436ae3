/**
 * The index file: SQLite with full-text tables, shared by every process that uses the same `-db`. Everything in it
 * comes from git objects by their names, so it can be thrown away at any time.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { join } from "node:path";
import { messageOf, ToolError } from "../../errors.ts";
import { log } from "../../platform/log.ts";
import { INDEX_FILE } from "./background.ts";
import { TextIndex } from "./text_index.ts";

/** Raised when what is stored, or how words are cut, changes: an index of another version is built anew. */
const VERSION = 5;
const APPLICATION = 0x6f6d6370;

const SCHEMA = `
  CREATE TABLE blob (id INTEGER PRIMARY KEY, oid BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, size INTEGER NOT NULL);
  CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, UNIQUE (name, email));
  CREATE TABLE message (
    id INTEGER PRIMARY KEY, oid BLOB NOT NULL UNIQUE, author INTEGER NOT NULL, committer INTEGER NOT NULL,
    time INTEGER NOT NULL, text TEXT NOT NULL
  );
`;

/** The open index. Statements are kept; every method is synchronous. */
export class IndexStore {
  readonly file: string;
  /** Words of file contents; rows are those of `blob`. */
  readonly blobs: TextIndex;
  /** Words of commit messages; rows are those of `message`. */
  readonly messages: TextIndex;
  readonly #db: DatabaseSync;
  readonly #inode: string;
  #statements = new Map<string, StatementSync>();

  private constructor(file: string, db: DatabaseSync) {
    this.file = file;
    this.#db = db;
    this.#inode = inodeOf(file);
    this.blobs = new TextIndex(this, "blob");
    this.messages = new TextIndex(this, "message");
  }

  /**
   * Opens the index in a directory; one that is damaged or of another version is replaced by an empty one.
   *
   * @param busyMs How long to wait for another process that writes.
   * @throws {ToolError} `index_unavailable`.
   */
  static open(directory: string, busyMs: number): IndexStore {
    const file = join(directory, INDEX_FILE);
    try {
      return IndexStore.#open(file, busyMs);
    } catch (error) {
      if (!isDamage(error)) throw unavailable(file, error);
      log("warn", `the search index is built anew: ${messageOf(error)}`);
    }
    try {
      removeIndex(file);
      return IndexStore.#open(file, busyMs);
    } catch (error) {
      throw unavailable(file, error);
    }
  }

  static #open(file: string, busyMs: number): IndexStore {
    const db = new DatabaseSync(file, { timeout: busyMs });
    try {
      // A file that exists already keeps the mode it was made with.
      db.exec(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8000",
      );
      const version = () => Number(Object.values(db.prepare("PRAGMA user_version").get()!)[0]);
      if (version() === 0) {
        db.exec("BEGIN IMMEDIATE");
        // Another process may have been quicker.
        if (version() === 0) {
          db.exec(SCHEMA + TextIndex.schema("blob") + TextIndex.schema("message"));
          db.exec(`PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${VERSION}`);
        }
        db.exec("COMMIT");
      }
      if (version() !== VERSION) throw new Damage(`its version is ${version()}, not ${VERSION}`);
      db.prepare("SELECT count(*) FROM sqlite_schema").get();
      return new IndexStore(file, db);
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** Whether the file that was opened is still the one at its place. */
  get current(): boolean {
    return inodeOf(this.file) === this.#inode;
  }

  /** Runs a statement; returns the id of the last row it made and how many it changed. */
  run(sql: string, ...values: SQLInputValue[]): { id: number; changes: number } {
    const { lastInsertRowid, changes } = this.#prepared(sql).run(...values);
    return { id: Number(lastInsertRowid), changes: Number(changes) };
  }

  /** The first row as an array, if there is one. */
  row(sql: string, ...values: SQLInputValue[]): unknown[] | undefined {
    return this.#prepared(sql).get(...values) as unknown[] | undefined;
  }

  /** All rows as arrays. */
  rows(sql: string, ...values: SQLInputValue[]): unknown[][] {
    return this.#prepared(sql).all(...values) as unknown as unknown[][];
  }

  /** All of the work is kept, or none of it. Waits for other writers. */
  transaction(work: () => void): void {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.#db.exec("COMMIT");
    } catch (error) {
      try {
        this.#db.exec("ROLLBACK");
      } catch { /* SQLite has rolled back by itself */ }
      throw error;
    }
  }

  /** Merges what was written piece by piece, so that reading is as quick as it can be. */
  optimize(): void {
    this.blobs.optimize();
    this.messages.optimize();
    // What merging has left empty goes back to the disk.
    this.#db.exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#db.prepare(sql);
    // Rows as arrays are a good deal quicker; the types do not know of it yet.
    (statement as unknown as { setReturnArrays(on: boolean): void }).setReturnArrays(true);
    this.#statements.set(sql, statement);
    return statement;
  }
}

class Damage extends Error {}

/** Whether an error says that the file is no good, and not that it is busy or out of reach. */
export function isDamage(error: unknown): boolean {
  return error instanceof Damage ||
    /malformed|not a database|corrupt|no such (?:table|column|module)|file is encrypted/i.test(
      messageOf(error),
    );
}

/** Whether an error says that another process holds the index. */
export function isBusy(error: unknown): boolean {
  return /database is locked|database table is locked|busy/i.test(messageOf(error));
}

/** Removes an index with what SQLite keeps beside it. */
export function removeIndex(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) {
    try {
      Deno.removeSync(file + suffix);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

function unavailable(file: string, cause: unknown): ToolError {
  return new ToolError(
    "index_unavailable",
    `the search index '${file}' cannot be used: ${messageOf(cause)}`,
    {
      cause,
    },
  );
}

function inodeOf(file: string): string {
  try {
    const { ino, dev } = Deno.statSync(file);
    return `${dev}:${ino}`;
  } catch {
    return "gone";
  }
}
