/** Progress notifications: never backwards, and not more of them than a reader can use. */

/** The params of a progress notification, its token aside. */
export interface ProgressParams {
  progress: number;
  total?: number;
  message?: string;
}

const INTERVAL_MS = 250;

/** A progress function that passes on at most four reports a second, always rising, and the last one. */
export function throttledProgress(
  send: (params: ProgressParams) => void,
  now: () => number = () => performance.now(),
): (done: number, total?: number, message?: string) => void {
  let highest = -Infinity;
  let last = -Infinity;
  return (done, total, message) => {
    const complete = total !== undefined && done >= total;
    if (done <= highest || (now() - last < INTERVAL_MS && !complete)) return;
    highest = done;
    last = now();
    send({ progress: done, ...(total === undefined ? {} : { total }), ...(message ? { message } : {}) });
  };
}
