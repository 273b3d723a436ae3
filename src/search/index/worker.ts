/** The inside of the worker that indexes behind the calls: the same program, started under another name. */
import { messageOf } from "../../errors.ts";
import { ObjectReader } from "../../git/object_reader.ts";
import { listCommits } from "../../git/history.ts";
import { GitRunner } from "../../git/runner.ts";
import { withLock } from "../../platform/lock.ts";
import { type IndexJob, type JobDone, READY } from "./background.ts";
import { blobsOf, indexBlobs } from "./blob_indexer.ts";
import { indexCommits } from "./commit_indexer.ts";
import { IndexStore } from "./store.ts";

/** The worker's own scope, as far as it is used here. */
export interface WorkerScope {
  onmessage: ((event: MessageEvent<IndexJob>) => void) | null;
  postMessage(message: JobDone | typeof READY): void;
}

const BUSY_MS = 30_000;
/** Another process that indexes the same thing is waited for, and then nothing is left to do. */
const LOCK_MS = 600_000;

/** Answers jobs until the worker is ended. */
export function serveIndexJobs(scope: WorkerScope): void {
  scope.onmessage = async ({ data }) => {
    const done: JobDone = { blobs: 0, commits: 0, bytes: 0, milliseconds: 0 };
    const started = performance.now();
    try {
      await work(data, done);
    } catch (error) {
      done.problem = messageOf(error);
    }
    done.milliseconds = performance.now() - started;
    scope.postMessage(done);
  };
  scope.postMessage(READY);
}

async function work({ directory, repository, commit, places }: IndexJob, done: JobDone): Promise<void> {
  const git = new GitRunner(Deno.env.toObject(), places);
  const objects = new ObjectReader(git, repository);
  const store = IndexStore.open(directory, BUSY_MS);
  try {
    await withLock(`${store.file}.lock`, async () => {
      const names = await blobsOf(git, repository, `${commit}^{tree}`);
      const blobs = await indexBlobs(store, objects, names);
      const history = await listCommits(git, repository, commit);
      const commits = await indexCommits(store, git, repository, history);
      Object.assign(done, { blobs: blobs.fresh, commits: commits.fresh, bytes: blobs.bytes + commits.bytes });
    }, { waitMs: LOCK_MS });
  } finally {
    store.close();
    objects.close();
  }
}
