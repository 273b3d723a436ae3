/** How much of the random, racing and killing is done: a little in `test`, all of it in `test:long`. */

const LONG = Deno.env.get("OMCP_LONG") === "1";

/** `full` rounds in a long run, `short` otherwise. */
export function rounds(short: number, full: number): number {
  return LONG ? full : short;
}

/** A random generator with a seed that is printed, so that a failing run can be repeated (OMCP_SEED). */
export function seededRandom(name: string): () => number {
  const seed = Number(Deno.env.get("OMCP_SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]);
  // deno-lint-ignore no-console -- it is what a failing run is repeated with
  console.log(`${name}: OMCP_SEED=${seed}`);
  let state = seed >>> 0;
  return () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
