/** Indexing that goes on behind the calls, in a worker, so that nobody waits for it. */
import { messageOf } from "../../errors.ts";
import type { Repository } from "../../git/repository.ts";
import { log } from "../../platform/log.ts";

/** Name of the index beside the session database. */
export const INDEX_FILE = ".orchestragent-mcp.index.db";

/** What a worker is asked to index. */
export interface IndexJob {
  /** Directory of the index. */
  directory: string;
  repository: Repository;
  commit: string;
  /** Directories whose programs are never run. */
  places: readonly string[];
}

/** What a worker answers when a job is done. */
export interface JobDone {
  blobs: number;
  commits: number;
  bytes: number;
  milliseconds: number;
  /** What went wrong, where something did. */
  problem?: string;
}

/** Hands jobs to a worker one after the other; each commit once. */
export class Background {
  readonly #directory: string;
  readonly #places: readonly string[];
  readonly #program: string | undefined;
  #worker: Worker | undefined;
  #waiting: IndexJob[] = [];
  #running: IndexJob | undefined;
  #asked = new Set<string>();

  /** @param program URL of the program's own module; without it nothing is indexed behind calls. */
  constructor(directory: string, places: readonly string[], program: string | undefined) {
    this.#directory = directory;
    this.#places = places;
    this.#program = program;
  }

  /** Whether something is being indexed. */
  get busy(): boolean {
    return this.#running !== undefined;
  }

  /** Indexes the files and the history of a commit as soon as the worker is free. */
  index(repository: Repository, commit: string): void {
    const key = `${repository.commonDir}\0${commit}`;
    if (this.#program === undefined || this.#asked.has(key)) return;
    this.#asked.add(key);
    this.#waiting.push({ directory: this.#directory, repository, commit, places: this.#places });
    this.#next();
  }

  /** Ends the worker; what it was at goes on at the next start. */
  close(): void {
    this.#waiting = [];
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#running = undefined;
  }

  #next(): void {
    if (this.#running) return;
    this.#running = this.#waiting.shift();
    if (!this.#running) {
      // An idle worker would keep its memory.
      this.#worker?.terminate();
      this.#worker = undefined;
      return;
    }
    // What is sent to a worker that is still loading is lost: it asks for its first job.
    if (this.#worker) this.#worker.postMessage(this.#running);
    else this.#worker = this.#start();
  }

  #start(): Worker {
    const worker = new Worker(this.#program!, { type: "module", name: WORKER_NAME });
    worker.onmessage = ({ data }: MessageEvent<JobDone | typeof READY>) =>
      data === READY ? worker.postMessage(this.#running) : this.#done(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.#worker = undefined;
      this.#done({ blobs: 0, commits: 0, bytes: 0, milliseconds: 0, problem: event.message });
    };
    return worker;
  }

  #done({ blobs, commits, bytes, milliseconds, problem }: JobDone): void {
    const job = this.#running;
    this.#running = undefined;
    if (job && problem !== undefined) {
      log("warn", `indexing '${job.repository.root}' did not come to its end: ${messageOf(problem)}`);
      // The next search asks again.
      this.#asked.delete(`${job.repository.commonDir}\0${job.commit}`);
    } else if (job) {
      const rate = (bytes / 1e6 / Math.max(0.001, milliseconds / 1000)).toFixed(1);
      log(
        "info",
        `indexed ${blobs} files and ${commits} commits of '${job.repository.root}' at ${rate} MB/s`,
      );
    }
    this.#next();
  }
}

/** What a worker says when it can take jobs. */
export const READY = "ready";

/** By this name the program knows that it runs as the worker. */
export const WORKER_NAME = "orchestragent-index";
