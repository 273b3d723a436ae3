/**
 * Measures the server beside bare git and an empty Deno script, in turns and in one run, prints the table and
 * writes it to docs/benchmarks.md. `--only=<part of a name>` runs some of it and writes nothing. The files lie
 * in TMPDIR: a memory file system there leaves the disk, which is the same for both sides, out of it.
 */
import { join } from "node:path";
import { ROOT } from "../tests/support/paths.ts";
import { isOver, only, rows, valueOf } from "./bench/harness.ts";

await import("./bench/sessions.ts");
await import("./bench/git.ts");
await import("./bench/search.ts");
await import("./bench/program.ts");

const table = [
  "| what | ours | beside it | ratio or value | bound | |",
  "|---|---|---|---|---|---|",
  ...rows.map((row) => {
    const { what, ours, floor, limit, unit, atLeast, note } = row;
    const measure = unit === "×" ? "ms" : unit === "× MB" ? "MB" : unit;
    const shown = (n: number) => Number.isNaN(n) ? "" : `${n.toFixed(n < 10 ? 2 : 1)} ${measure}`;
    const sign = unit.startsWith("×") ? "×" : unit;
    const bound = limit === Infinity || limit === 0
      ? ""
      : `${atLeast ? "≥" : "≤"} ${Number(limit.toFixed(3))} ${sign}`;
    const value = `${valueOf(row).toFixed(2)} ${sign}${isOver(row) ? " **over**" : ""}`;
    return `| ${what} | ${shown(ours)} | ${shown(floor)} | ${value} | ${bound} | ${note} |`;
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
Deno.exit(rows.some(isOver) ? 1 : 0);
