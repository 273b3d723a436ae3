/** What every benchmark needs: rows, turns, sections, bare git. */
import { testEnv } from "../../tests/support/repo.ts";

/** One line of the table. */
export interface Row {
  what: string;
  ours: number;
  floor: number;
  /** Largest ratio, or largest value of ours when there is nothing to compare with; Infinity without one. */
  limit: number;
  /** The limit is the smallest value. */
  atLeast?: boolean;
  /** With `×`, of times; with `× MB`, of sizes. */
  unit: "×" | "× MB" | "ms" | "MiB" | "MB/s";
  note: string;
}

/** The table so far. */
export const rows: Row[] = [];
/** `--only=<part of a name>`: run some of it and write nothing. */
export const only = Deno.args.find((arg) => arg.startsWith("--only="))?.slice("--only=".length);

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

export async function time(work: () => Promise<unknown> | unknown): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/**
 * Runs the sides in turns and gives the median of each. `restMs` passes before each: files of the same second
 * as the index are read again by git at every look, which is not how a session is met that was worked in.
 */
export async function inTurns(
  rounds: number,
  sides: ((round: number) => Promise<unknown> | unknown)[],
  restMs = 0,
): Promise<number[]> {
  const times: number[][] = sides.map(() => []);
  for (let round = -1; round < rounds; round++) {
    for (const [at, side] of sides.entries()) {
      if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
      const spent = await time(() => side(round));
      if (round >= 0) times[at].push(spent);
    }
  }
  return times.map(median);
}

/** What is compared with the limit. */
export function valueOf({ ours, floor, unit }: Row): number {
  return unit.startsWith("×") ? ours / floor : ours;
}

/** Whether a row misses its limit. */
export function isOver(row: Row): boolean {
  return row.atLeast ? valueOf(row) < row.limit : valueOf(row) > row.limit;
}

export async function section(name: string, work: () => Promise<void>): Promise<void> {
  if (only && !name.includes(only)) return;
  // deno-lint-ignore no-console -- a script's progress
  console.error(`measuring: ${name}`);
  await work();
}

/** Bare git in a directory, as a shell loop would run it. */
export async function git(dir: string, ...args: string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command("git", {
    args,
    cwd: dir,
    env: testEnv(),
    clearEnv: true,
    stdin: "null",
  }).output();
  if (code !== 0) throw new Error(`git ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

export function manyFiles(count: number): Record<string, string> {
  const line = "const value = compute(index, options);\n";
  return Object.fromEntries(
    Array.from(
      { length: count },
      (
        _,
        n,
      ) => [
        `src/part-${Math.floor(n / 200)}/d${Math.floor(n / 20)}/file-${n}.ts`,
        line.repeat(20 + (n % 60)),
      ],
    ),
  );
}
