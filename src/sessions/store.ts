/**
 * The session store: Deno KV in one SQLite file that several server processes share.
 *
 * Deno KV gives up at once with `database is locked` when two processes write, so every operation is tried
 * again for a bounded time. A file that is not a database is reported and never written to.
 */
import { join } from "node:path";
import { messageOf, ToolError } from "../errors.ts";
import { log } from "../platform/log.ts";
import type { Session } from "./session.ts";

/** File name inside the database directory. */
export const DATABASE_FILE = ".orchestragent-mcp.db";

const PATIENCE_MS = 10_000;
const LONGEST_PAUSE_MS = 100;

/** A session with the version of its record, for changes that must not overwrite another's. */
export interface StoredSession {
  session: Session;
  version: string;
}

/** The sessions of all repositories, keyed by the repository's common git directory. */
export class SessionStore {
  #kv: Deno.Kv;
  /** The database file. */
  readonly file: string;

  private constructor(kv: Deno.Kv, file: string) {
    this.#kv = kv;
    this.file = file;
  }

  /**
   * Opens the database, making the directory and the file (readable by the owner alone) when missing.
   *
   * @throws {ToolError} `database_unavailable`, `database_corrupt`, `database_locked`.
   */
  static async open(directory: string): Promise<SessionStore> {
    const file = join(directory, DATABASE_FILE);
    if (typeof Deno.openKv !== "function") {
      throw new ToolError("database_unavailable", "Deno KV is not enabled in this process", {
        next: "Start the server with 'deno run --unstable-kv', or use a binary.",
      });
    }
    try {
      await Deno.mkdir(directory, { recursive: true });
      (await Deno.open(file, { write: true, create: true, mode: 0o600 })).close();
    } catch (error) {
      throw unavailable(file, error);
    }
    return new SessionStore(await patiently(file, () => Deno.openKv(file)), file);
  }

  /** One session of a repository, or null. */
  async get(repository: string, id: string): Promise<StoredSession | null> {
    const entry = await patiently(this.file, () => this.#kv.get<Session>(key(repository, id)));
    return entry.value === null ? null : { session: entry.value, version: entry.versionstamp };
  }

  /** All sessions of a repository, oldest first. */
  async list(repository: string): Promise<StoredSession[]> {
    const found = await patiently(this.file, async () => {
      const entries: StoredSession[] = [];
      for await (const entry of this.#kv.list<Session>({ prefix: ["sessions", repository] })) {
        entries.push({ session: entry.value, version: entry.versionstamp });
      }
      return entries;
    });
    return found.sort((a, b) =>
      a.session.createdAt - b.session.createdAt || (a.session.id < b.session.id ? -1 : 1)
    );
  }

  /**
   * Writes a session if its record is still the one that was read.
   *
   * @param version The version read; null when there must be none yet.
   * @returns The new version, or null when somebody else was first.
   */
  async put(repository: string, session: Session, version: string | null): Promise<string | null> {
    const at = key(repository, session.id);
    const outcome = await patiently(
      this.file,
      () => this.#kv.atomic().check({ key: at, versionstamp: version }).set(at, session).commit(),
    );
    return outcome.ok ? outcome.versionstamp : null;
  }

  /** Forgets a session, whatever its version. */
  async delete(repository: string, id: string): Promise<void> {
    await patiently(this.file, () => this.#kv.delete(key(repository, id)));
  }

  /** Closes the database. */
  close(): void {
    this.#kv.close();
  }
}

function key(repository: string, id: string): Deno.KvKey {
  return ["sessions", repository, id];
}

/** Retries while other processes hold the database, with growing random pauses. */
async function patiently<T>(file: string, operation: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let pause = 2;; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await operation();
    } catch (error) {
      const words = messageOf(error);
      if (!/database is locked|database table is locked/.test(words)) throw failed(file, words, error);
      if (Date.now() >= deadline) {
        throw new ToolError("database_locked", `the session database '${file}' stayed busy`, {
          cause: error,
        });
      }
      log("debug", `session database busy, trying again in about ${pause} ms`);
      await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
    }
  }
}

function failed(file: string, words: string, cause: unknown): ToolError {
  if (/not a database|malformed|corrupt|no such table|no such column/.test(words)) {
    return new ToolError("database_corrupt", `the session database '${file}' cannot be read: ${words}`, {
      cause,
    });
  }
  return unavailable(file, cause);
}

function unavailable(file: string, cause: unknown): ToolError {
  const words = messageOf(cause);
  return new ToolError("database_unavailable", `the session database '${file}' cannot be used: ${words}`, {
    cause,
  });
}
