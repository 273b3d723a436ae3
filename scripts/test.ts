/**
 * Runs the tests and closes with `N passed, N failed`, read from the runner's own report.
 *
 * `--long` does every round; other arguments are handed to `deno test` (files, `--filter`).
 */
import { ROOT } from "../tests/support/paths.ts";

const long = Deno.args.includes("--long");
const rest = Deno.args.filter((arg) => arg !== "--long");
const files = rest.some((arg) => !arg.startsWith("-")) ? [] : ["tests"];
const report = await Deno.makeTempFile({ suffix: ".xml" });

const { code } = await new Deno.Command(Deno.execPath(), {
  args: ["test", "-A", "--parallel", `--junit-path=${report}`, ...rest, ...files],
  cwd: ROOT,
  env: { NO_COLOR: "1", ...(long ? { OMCP_LONG: "1" } : {}) },
  stdin: "null",
}).spawn().status;

const xml = await Deno.readTextFile(report);
await Deno.remove(report);
const suites = [...xml.matchAll(/<testsuite [^>]*>/g)].map(([tag]) => tag);
const sum = (name: string) =>
  suites.reduce((total, tag) => total + Number(new RegExp(` ${name}="(\\d+)"`).exec(tag)?.[1] ?? 0), 0);
const [tests, failed, skipped] = [
  sum("tests"),
  sum("failures") + sum("errors"),
  sum("disabled") + sum("skipped"),
];
const failures = Math.max(failed, code === 0 ? 0 : 1);
// deno-lint-ignore no-console -- a script's result
console.log(
  `${tests - failed - skipped} passed, ${failures} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`,
);
Deno.exit(failures > 0 || tests === 0 ? 1 : 0);
