/** Reading commits whole and writing new ones as objects: `git cat-file --batch`, git-commit-tree(1). */
import { ToolError } from "../errors.ts";
import type { Repository } from "./repository.ts";
import { bytesOf, type GitOptions, type GitRunner } from "./runner.ts";

/** A commit as it stands in the object store. */
export interface CommitObject {
  oid: string;
  tree: string;
  parents: string[];
  author: Signature;
  message: string;
  /** Author line, `encoding` line if any, and message, a character a byte: what a copy keeps as it is. */
  kept: { author: string; encoding: string; message: string };
}

/** Who and when. */
export interface Signature {
  name: string;
  email: string;
  /** Seconds since the epoch and zone: `@1700000000 +0100`. */
  date: string;
}

/** Reads commits, all from one git, in the order given. */
export async function readCommits(
  git: GitRunner,
  repository: Repository,
  oids: readonly string[],
  options: GitOptions = {},
): Promise<CommitObject[]> {
  if (oids.length === 0) return [];
  const stdin = oids.map((oid) => `${oid}\n`).join("");
  const { stdout } = await git.exec(repository, ["cat-file", "--batch"], { ...options, stdin, latin1: true });
  let at = 0;
  return oids.map((oid) => {
    const end = stdout.indexOf("\n", at);
    const size = Number(/ commit (\d+)$/.exec(stdout.slice(at, end))?.[1]);
    if (!Number.isInteger(size)) throw new ToolError("git_failed", `commit ${oid} cannot be read`);
    at = end + 1 + size + 1;
    return parseCommit(oid, stdout.slice(end + 1, end + 1 + size));
  });
}

/** Parses a commit object, one character a byte; texts come out in their own encoding. */
export function parseCommit(oid: string, raw: string): CommitObject {
  const cut = raw.indexOf("\n\n");
  const headers = (cut < 0 ? raw : raw.slice(0, cut)).split("\n");
  const values = (name: string) =>
    headers.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  const decoder = decoderOf(values("encoding")[0]);
  const text = (latin1: string) => decoder.decode(bytesOf(latin1));
  const [, name = "", email = "", date = "0 +0000"] =
    /^(.*?) ?<(.*)> (\d+ [+-]\d+)$/.exec(values("author")[0]) ??
      [];
  const message = cut < 0 ? "" : raw.slice(cut + 2);
  return {
    oid,
    tree: values("tree")[0],
    parents: values("parent"),
    author: { name: text(name), email: text(email), date: `@${date}` },
    message: text(message),
    kept: {
      author: values("author")[0] ?? "",
      encoding: headers.find((line) => line.startsWith("encoding ")) ?? "",
      message,
    },
  };
}

function decoderOf(encoding = "utf-8"): TextDecoder {
  try {
    return new TextDecoder(encoding);
  } catch {
    return new TextDecoder();
  }
}

/** What a new commit is made of. */
export interface NewCommit {
  /** Anything that names a tree. */
  tree: string;
  parents: readonly string[];
  message: string;
  /** Left out, the configured user. */
  author?: Signature;
}

/**
 * Writes commit objects, signed when the user's config wants commits signed.
 *
 * @throws {ToolError} What git throws, as when nobody has told it who the user is.
 */
export class CommitWriter {
  #git: GitRunner;
  #repository: Repository;
  #options: GitOptions;
  #sign: Promise<boolean> | undefined;
  #committer: Promise<string> | undefined;

  constructor(git: GitRunner, repository: Repository, options: GitOptions) {
    this.#git = git;
    this.#repository = repository;
    this.#options = { ...options, write: true };
  }

  /** Full object name of the new commit. */
  async write({ tree, parents, message, author }: NewCommit): Promise<string> {
    const sign = await (this.#sign ??= this.#wantsSignature());
    const args = [
      ...["-c", "i18n.commitEncoding=UTF-8", "commit-tree", sign ? "--gpg-sign" : "--no-gpg-sign", tree],
      ...parents.flatMap((parent) => ["-p", parent]),
    ];
    const env = {
      ...this.#options.env,
      ...(author
        ? {
          GIT_AUTHOR_NAME: author.name,
          GIT_AUTHOR_EMAIL: author.email,
          GIT_AUTHOR_DATE: author.date,
        }
        : {}),
    };
    const output = await this.#git.exec(this.#repository, args, { ...this.#options, env, stdin: message });
    return output.stdout.trim();
  }

  /** A copy of a commit on another tree and parent; whoever wrote it in whatever encoding stays as it is. */
  async copy({ author, message, kept }: CommitObject, tree: string, parent: string): Promise<string> {
    if (await (this.#sign ??= this.#wantsSignature())) {
      return await this.write({ tree, parents: [parent], message, author });
    }
    const committer = await (this.#committer ??= this.#ident());
    const lines = [
      ...[`tree ${tree}`, `parent ${parent}`, `author ${kept.author}`, `committer ${committer}`],
      ...(kept.encoding === "" ? [] : [kept.encoding]),
    ];
    const stdin = bytesOf(`${lines.join("\n")}\n\n${kept.message}`);
    const args = ["hash-object", "-t", "commit", "-w", "--stdin"];
    return (await this.#git.exec(this.#repository, args, { ...this.#options, stdin })).stdout.trim();
  }

  async #ident(): Promise<string> {
    const args = ["var", "GIT_COMMITTER_IDENT"];
    const { stdout } = await this.#git.exec(this.#repository, args, { ...this.#options, latin1: true });
    return stdout.replace(/\n$/, "");
  }

  async #wantsSignature(): Promise<boolean> {
    const args = ["config", "--type=bool", "--get", "commit.gpgSign"];
    const { stdout } = await this.#git.exec(this.#repository, args, { ...this.#options, okCodes: [1] });
    return stdout.trim() === "true";
  }
}
