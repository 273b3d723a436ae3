/** Bringing commit messages into the index: each commit once, however many branches reach it. */
import { ToolError } from "../../errors.ts";
import { type CommitMessage, type Person, readMessages } from "../../git/history.ts";
import type { Repository } from "../../git/repository.ts";
import type { GitRunner } from "../../git/runner.ts";
import { lowerCase } from "../match/text.ts";
import type { IndexOptions, IndexProgress } from "./blob_indexer.ts";
import type { IndexStore } from "./store.ts";

/** Commits read at a time, and of a transaction. */
const BATCH = 2_000;

/**
 * Indexes the commits that are not in the index yet; ended half-way, the rest comes next time.
 *
 * @throws {ToolError} `cancelled`, and what reading throws.
 */
export async function indexCommits(
  store: IndexStore,
  git: GitRunner,
  repository: Repository,
  oids: readonly string[],
  options: IndexOptions = {},
): Promise<IndexProgress> {
  const missing = oids.filter((oid) => commitId(store, oid) === null);
  const progress = { done: 0, total: missing.length, fresh: 0, bytes: 0 };
  for (let at = 0; at < missing.length; at += BATCH) {
    if (options.signal?.aborted) throw new ToolError("cancelled", "the call was cancelled");
    const messages = await readMessages(git, repository, missing.slice(at, at + BATCH), options);
    writeMessages(store, messages);
    progress.done = Math.min(at + BATCH, missing.length);
    progress.fresh += messages.length;
    progress.bytes += messages.reduce((sum, { text }) => sum + text.length, 0);
    options.onProgress?.(progress);
  }
  return progress;
}

/** The row of a commit; null when it is not in the index. */
export function commitId(store: IndexStore, oid: string): number | null {
  const row = store.row("SELECT id FROM message WHERE oid = ?", Uint8Array.fromHex(oid));
  return row ? Number(row[0]) : null;
}

/** A commit of the index by its row. */
export function readMessage(store: IndexStore, id: number): CommitMessage {
  const sql = `
    SELECT m.oid, a.name, a.email, c.name, c.email, m.time, m.text FROM message m
    JOIN person a ON a.id = m.author JOIN person c ON c.id = m.committer WHERE m.id = ?`;
  const [oid, author, authorEmail, committer, committerEmail, time, text] = store.row(sql, id)!;
  return {
    oid: (oid as Uint8Array).toHex(),
    author: { name: String(author), email: String(authorEmail) },
    committer: { name: String(committer), email: String(committerEmail) },
    time: Number(time),
    text: String(text),
  };
}

function writeMessages(store: IndexStore, messages: readonly CommitMessage[]): void {
  try {
    store.transaction(() => {
      for (const { oid, author, committer, time, text } of messages) {
        const { id, changes } = store.run(
          "INSERT OR IGNORE INTO message (oid, author, committer, time, text) VALUES (?, ?, ?, ?, ?)",
          Uint8Array.fromHex(oid),
          personId(store, author),
          personId(store, committer),
          time,
          text,
        );
        if (changes > 0) store.messages.add(id, lowerCase(text));
      }
      store.messages.flush();
    });
  } catch (error) {
    store.messages.discard();
    throw error;
  }
}

function personId(store: IndexStore, { name, email }: Person): number {
  const known = store.row("SELECT id FROM person WHERE name = ? AND email = ?", name, email);
  return known
    ? Number(known[0])
    : store.run("INSERT INTO person (name, email) VALUES (?, ?)", name, email).id;
}
