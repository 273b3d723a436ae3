/** `index`: brings the search index up to date now, so that no search has to wait for it. */
import type { App } from "../app.ts";
import { mapBounded, PARALLELISM } from "../platform/pool.ts";
import type { Target } from "../search/engine.ts";
import { print, printProgress } from "./print.ts";

const BAR = 24;
const MB = 1e6;

/** Indexes the default branch of every served repository; exit code 1 when one could not be read. */
export async function buildIndex(app: App): Promise<number> {
  const started = performance.now();
  const signal = new AbortController().signal;
  const workspace = app.workspace({ signal, clientRoots: () => Promise.resolve([]) });
  const served = await app.library.list(workspace);
  let failed = 0;
  const opened = await mapBounded(served, PARALLELISM, async (one): Promise<Target[]> => {
    try {
      return [{ served: one, view: await app.library.view(workspace, one) }];
    } catch (error) {
      failed++;
      print(`✗ ${one.name}: ${error instanceof Error ? error.message : error}`);
      return [];
    }
  });
  const engine = await app.search();
  const report = await engine.build(opened.flat(), {
    signal,
    onProgress: ({ repository, done, total, bytes }) => {
      const full = total > 0 ? Math.round(BAR * done / total) : BAR;
      const bar = "█".repeat(full) + "░".repeat(BAR - full);
      printProgress(`${bar} ${repository} ${done}/${total} (${(bytes / MB).toFixed(1)} MB)`);
    },
  });
  printProgress("");
  const seconds = (performance.now() - started) / 1000;
  const { repositories, blobs, commits, bytes } = report;
  print(
    `${repositories} repositories, ${blobs} new blobs, ${commits} new commits, ${
      (bytes / MB).toFixed(1)
    } MB ` +
      `at ${(bytes / MB / seconds).toFixed(1)} MB/s`,
  );
  const { place, size } = engine.state();
  print(`${place}, ${(size / MB).toFixed(1)} MB`);
  return failed > 0 ? 1 : 0;
}
