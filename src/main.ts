/**
 * The program: flags in, a server or one command out.
 *
 * Subcommands are imported when asked for, so that serving starts as fast as it can.
 */
import { resolve } from "node:path";
import { App } from "./app.ts";
import { type CommandLine, parseCommandLine, UsageError } from "./cli/flags.ts";
import { print, printError } from "./cli/print.ts";
import { log, setLogLevel } from "./platform/log.ts";
import { messageOf } from "./errors.ts";
import { serveOnStdio } from "./server/stdio.ts";
import { selectTools } from "./tools/registry.ts";
import { WORKER_NAME } from "./search/index/background.ts";
import type { WorkerScope } from "./search/index/worker.ts";
import { VERSION } from "./version.ts";

const EXIT_USAGE = 2;

async function main(args: readonly string[]): Promise<number> {
  const line = parseCommandLine(args);
  setLogLevel(line.logLevel);
  if (line.version) {
    print(`orchestragent-mcp ${VERSION}`);
    return 0;
  }
  if (line.help) {
    print((await import("./cli/help.ts")).helpText());
    return 0;
  }
  if (line.command === "demo") return await (await import("./cli/demo.ts")).runDemo(line);
  const tools = toolsOf(line);
  const app = appOf(line);
  try {
    switch (line.command) {
      case "call":
        return await (await import("./cli/call.ts")).callFromShell(app, tools, line.operands);
      case "doctor":
        return await (await import("./cli/doctor.ts")).examine(app);
      case "index":
        return await (await import("./cli/index.ts")).buildIndex(app);
      case "serve":
        log("info", `serving ${tools.length} tool(s) for ${app.config.repo}`);
        await serveOnStdio(app, tools);
        return 0;
    }
  } finally {
    await app.close();
  }
}

function toolsOf(line: CommandLine) {
  try {
    return selectTools(line);
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

function appOf(line: CommandLine): App {
  return new App({
    repo: resolve(line.repo ?? "."),
    repoGiven: line.repo !== undefined,
    database: resolve(line.db ?? "."),
    base: line.base,
    program: import.meta.url,
    repos: line.repos === undefined ? undefined : resolve(line.repos),
    roots: line.roots.map((root) => resolve(root)),
    readOnly: line.readOnly,
    trustRepoConfig: line.trustRepoConfig,
    hooks: line.hooks,
    allowFileRemotes: line.allowFileRemotes,
    allowAgentConfig: line.allowAgentConfig,
  }, Deno.env.toObject());
}

if (globalThis.name === WORKER_NAME) {
  const { serveIndexJobs } = await import("./search/index/worker.ts");
  serveIndexJobs(globalThis as unknown as WorkerScope);
} else if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    printError(`orchestragent-mcp: ${error.message}`);
    Deno.exit(EXIT_USAGE);
  }
}
