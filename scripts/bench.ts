/**
 * Measures the server beside bare git and an empty Deno script, in turns and in one run, prints the table and
 * writes it to docs/benchmarks.md. `--only=<part of a name>` runs some of it and writes nothing. The files lie
 * in TMPDIR: a memory file system there leaves the disk, which is the same for both sides, out of it.
 */
import { join } from "node:path";
import { ROOT } from "../tests/support/paths.ts";
import { only, rows } from "./bench/harness.ts";

await import("./bench/sessions.ts");
await import("./bench/git.ts");
await import("./bench/program.ts");

const table = [
  "| what | ours | beside it | ratio or value | at most | |",
  "|---|---|---|---|---|---|",
  ...rows.map(({ what, ours, floor, limit, unit, note }) => {
    const value = unit === "×" ? ours / floor : ours;
    const shown = (n: number) =>
      Number.isNaN(n) ? "" : `${n.toFixed(n < 10 ? 2 : 1)} ${unit === "MiB" ? "MiB" : "ms"}`;
    const verdict = value <= limit ? "" : " **over**";
    return `| ${what} | ${shown(ours)} | ${shown(floor)} | ${
      value.toFixed(2)
    } ${unit}${verdict} | ${limit} ${unit} | ${note} |`;
  }),
].join("\n");

// deno-lint-ignore no-console -- a script's result
console.log(table);
if (!only) {
  const version = new TextDecoder().decode(
    (await new Deno.Command("git", { args: ["--version"] }).output()).stdout,
  ).trim();
  await Deno.writeTextFile(
    join(ROOT, "docs", "benchmarks.md"),
    `# Benchmarks

Made by \`deno task bench\`: medians, both sides measured in turns in one run. Trust the ratios; milliseconds
are those of the machine (${navigator.hardwareConcurrency} cores, ${Deno.build.os}, files ${
      Deno.env.get("OMCP_BENCH_FILES") ?? "on disk"
    }, Deno ${Deno.version.deno}, ${version}).

${table}
`,
  );
}
if (!only) {
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", join(ROOT, "docs", "benchmarks.md")] })
    .output();
}
Deno.exit(rows.some(({ ours, floor, limit, unit }) => (unit === "×" ? ours / floor : ours) > limit) ? 1 : 0);
