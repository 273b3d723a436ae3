/** Reading objects through one long-lived git: `git cat-file --batch-command`. */
import { ToolError } from "../errors.ts";
import type { Repository } from "./repository.ts";
import type { GitRunner } from "./runner.ts";

/** What an object is. */
export interface ObjectInfo {
  /** Full object name. */
  oid: string;
  type: "blob" | "tree" | "commit" | "tag";
  /** Bytes. */
  size: number;
}

/** An object with what is in it. */
export interface GitObject extends ObjectInfo {
  bytes: Uint8Array;
}

interface Question {
  line: string;
  withBytes: boolean;
  resolve(answer: GitObject | null): void;
  reject(error: unknown): void;
}

const TRIES = 2;
const IDLE_MS = 60_000;
const STUCK_MS = 60_000;
const NOTHING = new Uint8Array();
const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

/**
 * The objects of one repository. Git is started at the first question, again when it has died, and ended when
 * nothing was asked for a minute. Questions may be asked without waiting for answers.
 */
export class ObjectReader {
  readonly #git: GitRunner;
  readonly #repository: Repository;
  #conversations = new Map<string, Promise<Conversation>>();
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(git: GitRunner, repository: Repository) {
    this.#git = git;
    this.#repository = repository;
  }

  /**
   * What a name stands for; null when it stands for nothing, or for several things.
   *
   * @param name A revision as in gitrevisions(7), without a line break.
   */
  async info(name: string): Promise<ObjectInfo | null> {
    return await this.#ask(name, false);
  }

  /** An object with its bytes, all of them in memory: look at {@linkcode info} first where size matters. */
  async read(name: string): Promise<GitObject | null> {
    return await this.#ask(name, true);
  }

  /** Ends git; the next question starts it again. */
  close(): void {
    clearTimeout(this.#idle);
    for (const conversation of this.#conversations.values()) {
      conversation.then((open) => open.close()).catch(() => {});
    }
    this.#conversations.clear();
  }

  async #ask(name: string, withBytes: boolean): Promise<GitObject | null> {
    if (/[\n\0]/.test(name)) return null;
    // Before 2.36 there is no --batch-command: one git tells what objects are and another what is in them.
    const both = (await this.#git.binary()).atLeast(2, 36);
    const option = both ? "--batch-command" : withBytes ? "--batch" : "--batch-check";
    const line = both ? `${withBytes ? "contents" : "info"} ${name}` : name;
    try {
      for (let tries = 0; tries < TRIES; tries++) {
        try {
          return await (await this.#conversation(option)).ask(line, withBytes);
        } catch (error) {
          if (!(error instanceof GitEnded)) throw error;
        }
      }
    } finally {
      this.#restIdle();
    }
    const { root } = this.#repository;
    throw new ToolError("git_failed", `git cat-file ended while it read '${name}' of '${root}'`, {
      next: "An object may be damaged: 'git fsck' in the repository tells.",
    });
  }

  async #conversation(option: string): Promise<Conversation> {
    const known = this.#conversations.get(option);
    if (known) {
      const conversation = await known;
      if (!conversation.over) return conversation;
      // Somebody else may have started the next one meanwhile.
      if (this.#conversations.get(option) === known) this.#conversations.delete(option);
      return await this.#conversation(option);
    }
    const flushes = option === "--batch-command";
    const args = ["cat-file", option, ...(flushes ? ["--buffer"] : [])];
    const opened = this.#git.converse(this.#repository, args).then((child) =>
      new Conversation(child, flushes)
    );
    this.#conversations.set(option, opened);
    opened.catch(() => {
      if (this.#conversations.get(option) === opened) this.#conversations.delete(option);
    });
    return await opened;
  }

  #restIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.close(), IDLE_MS);
    Deno.unrefTimer(this.#idle);
  }
}

/** The git ended before it answered. */
class GitEnded extends Error {}

/** One git and the questions it has not answered yet, which it answers in order. */
class Conversation {
  over = false;
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  /** Git keeps its answers until it is told to give them: many in one piece come much quicker. */
  readonly #flushes: boolean;
  #unsent = "";
  #questions: Question[] = [];
  /** Index of the first open question: taking from the front of an array would copy it each time. */
  #first = 0;
  #head = "";
  #info: ObjectInfo | undefined;
  #body: Uint8Array | undefined;
  #filled = 0;
  #watchdog: ReturnType<typeof setTimeout> | undefined;

  constructor(child: Deno.ChildProcess, flushes: boolean) {
    this.#child = child;
    this.#flushes = flushes;
    this.#writer = child.stdin.getWriter();
    void this.#listen();
  }

  ask(line: string, withBytes: boolean): Promise<GitObject | null> {
    const { promise, resolve, reject } = Promise.withResolvers<GitObject | null>();
    if (this.over) return Promise.reject(new GitEnded());
    this.#questions.push({ line, withBytes, resolve, reject });
    this.#watch();
    if (this.#unsent === "") queueMicrotask(() => this.#send());
    this.#unsent += `${line}\n`;
    return promise;
  }

  /** Sends what was asked since the last time. */
  #send(): void {
    const lines = this.#unsent + (this.#flushes ? "flush\n" : "");
    this.#unsent = "";
    this.#writer.write(ENCODER.encode(lines)).catch(() => this.#end());
  }

  close(): void {
    this.#writer.close().catch(() => {});
  }

  async #listen(): Promise<void> {
    try {
      for await (const chunk of this.#child.stdout) {
        this.#watch();
        this.#take(chunk);
      }
    } catch { /* a broken pipe is an end like any other */ }
    this.#end();
    await this.#child.status;
  }

  #take(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#body) {
        const some = chunk.subarray(at, at + this.#body.length - this.#filled);
        this.#body.set(some, this.#filled);
        this.#filled += some.length;
        at += some.length;
        if (this.#filled === this.#body.length) {
          // Behind the bytes stands a line feed.
          this.#answer({ ...this.#info!, bytes: this.#body.subarray(0, -1) });
        }
        continue;
      }
      const end = chunk.indexOf(10, at);
      this.#head += DECODER.decode(chunk.subarray(at, end < 0 ? undefined : end), { stream: end < 0 });
      if (end < 0) return;
      at = end + 1;
      this.#readHead(this.#head);
      this.#head = "";
    }
  }

  #readHead(head: string): void {
    const [, oid, type, size] = /^([0-9a-f]{40,64}) (blob|tree|commit|tag) (\d+)$/.exec(head) ?? [];
    if (oid === undefined) return this.#answer(null);
    const info = { oid, type: type as ObjectInfo["type"], size: Number(size) };
    if (!this.#questions[this.#first].withBytes) return this.#answer({ ...info, bytes: NOTHING });
    this.#info = info;
    this.#body = new Uint8Array(info.size + 1);
    this.#filled = 0;
  }

  #answer(answer: GitObject | null): void {
    this.#body = undefined;
    const { resolve } = this.#questions[this.#first++];
    if (this.#first === this.#questions.length) {
      this.#questions = [];
      this.#first = 0;
      clearTimeout(this.#watchdog);
    }
    resolve(answer);
  }

  #end(): void {
    clearTimeout(this.#watchdog);
    this.over = true;
    for (const { reject } of this.#questions.slice(this.#first)) reject(new GitEnded());
    this.#questions = [];
    this.#first = 0;
  }

  /** A git that says nothing for long while it is asked is ended. */
  #watch(): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => {
      try {
        this.#child.kill("SIGKILL");
      } catch { /* it is gone already */ }
    }, STUCK_MS);
    Deno.unrefTimer(this.#watchdog);
  }
}
