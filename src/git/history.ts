/** Every commit that a branch reaches, and what their messages say. */
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/** A commit with its whole message. */
export interface CommitMessage {
  oid: string;
  author: Person;
  committer: Person;
  /** When it was committed, seconds since the epoch. */
  time: number;
  /** Without the line feeds at its end. */
  text: string;
}

/** A name and an address as they stand in the commit: a mailmap may change, and commits are kept by their names. */
export interface Person {
  name: string;
  email: string;
}

const FORMAT = "--format=tformat:%H%x00%an%x00%ae%x00%cn%x00%ce%x00%ct%x00%B%x00%x00";
const FIELDS = 7;
/** A million commits are 40 MB. */
const MAX_LIST = 256 * 1024 * 1024;
/** Commits whose messages are asked for at once, and the most that they may come to. */
const AT_ONCE = 2_000;
const MAX_MESSAGES = 32 * 1024 * 1024;
/** What is kept of a message, characters. */
const LONGEST_MESSAGE = 1024 * 1024;

/** The commits that `tip` reaches and none of `without` does, newest first. */
export async function listCommits(
  git: GitRunner,
  repository: Repository,
  tip: string,
  without: readonly string[] = [],
  options: GitOptions = {},
): Promise<string[]> {
  const args = ["rev-list", "--end-of-options", tip, ...without.map((oid) => `^${oid}`)];
  const { stdout } = await git.exec(repository, args, { maxStdout: MAX_LIST, ...options });
  return stdout === "" ? [] : stdout.trimEnd().split("\n");
}

/** Whether everything that one commit reaches is also reached by another. */
export async function isAncestor(
  git: GitRunner,
  repository: Repository,
  older: string,
  newer: string,
  options: GitOptions = {},
): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", older, newer];
  return (await git.exec(repository, args, { ...options, okCodes: [1, 128] })).code === 0;
}

/** The messages of commits, in any order; those that are missing are left out. */
export async function readMessages(
  git: GitRunner,
  repository: Repository,
  oids: readonly string[],
  options: GitOptions = {},
): Promise<CommitMessage[]> {
  const messages: CommitMessage[] = [];
  for (let at = 0; at < oids.length; at += AT_ONCE) {
    for (const one of await readSome(git, repository, oids.slice(at, at + AT_ONCE), options)) {
      messages.push(one);
    }
  }
  return messages;
}

async function readSome(
  git: GitRunner,
  repository: Repository,
  oids: readonly string[],
  options: GitOptions,
): Promise<CommitMessage[]> {
  const args = ["log", "--no-walk=unsorted", "--ignore-missing", "--no-color", FORMAT, "--stdin"];
  const stdin = `${oids.join("\n")}\n`;
  const { stdout, truncated } = await git.exec(repository, args, {
    stdin,
    maxStdout: MAX_MESSAGES,
    ...options,
  });
  if (!truncated) return parseMessages(stdout);
  // One whose message alone is too much is read as far as it goes.
  if (oids.length === 1) return parseMessages(`${stdout}\0\0`);
  const half = oids.length >> 1;
  return [
    ...await readSome(git, repository, oids.slice(0, half), options),
    ...await readSome(git, repository, oids.slice(half), options),
  ];
}

/** Parses the format above: seven fields, each ended by NUL, and one NUL more. */
export function parseMessages(text: string): CommitMessage[] {
  const messages: CommitMessage[] = [];
  const fields = text.split("\0");
  for (let at = 0; at + FIELDS <= fields.length; at += FIELDS + 1) {
    const [oid, author, authorEmail, committer, committerEmail, time, body] = fields.slice(at, at + FIELDS);
    messages.push({
      oid: oid.trim(),
      author: { name: author, email: authorEmail },
      committer: { name: committer, email: committerEmail },
      time: Number(time),
      text: body.slice(0, LONGEST_MESSAGE).trimEnd(),
    });
  }
  return messages;
}
