/** The command line: one table of flags that parsing, help and the docs are made from. */
import { LOG_LEVELS, type LogLevel } from "../platform/log.ts";

/** One flag. */
export interface Flag {
  name: string;
  /** Placeholder of its value; a flag without one is a switch. */
  value?: string;
  /** Values of several occurrences, or of a comma-separated list, add up. */
  repeatable?: boolean;
  help: string;
}

/** Every flag of the program. One dash and two dashes mean the same. */
export const FLAGS = [
  {
    name: "repo",
    value: "path",
    help: "Repository to work on (default: the client's root, else the current directory)",
  },
  { name: "db", value: "directory", help: "Directory of the session database (default: current directory)" },
  {
    name: "base",
    value: "branch",
    help: "Base branch of sessions (default: main, origin's HEAD, master, current)",
  },
  {
    name: "repos",
    value: "directory",
    help: "Directory whose repositories are served for browsing and search (default: the roots)",
  },
  { name: "root", value: "directory", repeatable: true, help: "Further directory that tools may work in" },
  { name: "read-only", help: "Serve only tools that read" },
  { name: "toolsets", value: "a,b", repeatable: true, help: "Serve only these toolsets" },
  {
    name: "tools",
    value: "a,b",
    repeatable: true,
    help: "Serve these tools (globs work), besides --toolsets",
  },
  {
    name: "exclude-tools",
    value: "a,b",
    repeatable: true,
    help: "Do not serve these tools, whatever else says so",
  },
  { name: "trust-repo-config", help: "Work on repositories whose own config runs programs" },
  { name: "no-hooks", help: "Do not run the repository's hooks on commit and push" },
  { name: "allow-file-remotes", help: "Push to repositories of this machine too, inside the allowed roots" },
  { name: "allow-agent-config", help: "Let files be written that agents' clients start programs from" },
  {
    name: "log-level",
    value: "level",
    help: `What goes to stderr: ${LOG_LEVELS.join(", ")} (default: warn)`,
  },
  { name: "version", help: "Print the version" },
  { name: "help", help: "Print this help" },
] as const satisfies readonly Flag[];

/** Subcommands; without one the program serves MCP on standard input and output. */
export const COMMANDS = ["serve", "call", "doctor", "index", "demo"] as const;

/** One of {@linkcode COMMANDS}. */
export type Command = (typeof COMMANDS)[number];

/** A command line as understood. */
export interface CommandLine {
  command: Command;
  /** What stands behind the subcommand. */
  operands: string[];
  repo?: string;
  db?: string;
  base?: string;
  repos?: string;
  roots: string[];
  readOnly: boolean;
  toolsets: string[];
  tools: string[];
  excludeTools: string[];
  trustRepoConfig: boolean;
  hooks: boolean;
  allowFileRemotes: boolean;
  allowAgentConfig: boolean;
  logLevel: LogLevel;
  version: boolean;
  help: boolean;
}

/** A command line that cannot be understood; the message is one line for a person. */
export class UsageError extends Error {
  override name = "UsageError";
}

/**
 * Parses the arguments behind the program's name.
 *
 * @throws {UsageError} For an unknown flag or subcommand, a missing or surplus value.
 */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const values = new Map<string, string[]>();
  const operands: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    if (arg === "--") {
      operands.push(...args.slice(i + 1));
      break;
    }
    const [, name, glued] = /^--?([a-z][a-z-]*)(?:=(.*))?$/is.exec(arg) ?? [];
    if (name === undefined) {
      if (arg.startsWith("-") && arg !== "-") throw new UsageError(`unknown flag '${arg}'`);
      operands.push(arg);
      continue;
    }
    const flag: Flag | undefined = FLAGS.find((candidate) => candidate.name === name);
    if (!flag) throw new UsageError(`unknown flag '${arg.split("=")[0]}'${didYouMean(name)}`);
    if (flag.value === undefined && glued !== undefined) {
      throw new UsageError(`flag '--${name}' takes no value`);
    }
    const value = flag.value === undefined ? "true" : glued ?? args[++i];
    if (value === undefined || value === "") {
      throw new UsageError(`flag '--${name}' needs a value: <${flag.value}>`);
    }
    if (values.has(name) && !flag.repeatable && flag.value) {
      throw new UsageError(`flag '--${name}' is given twice`);
    }
    values.set(name, [...values.get(name) ?? [], value]);
  }
  return assemble(values, operands);
}

function assemble(values: ReadonlyMap<string, string[]>, operands: string[]): CommandLine {
  const one = (name: string) => values.get(name)?.[0];
  const list = (name: string) =>
    (values.get(name) ?? []).flatMap((value) => value.split(",")).filter(Boolean);
  const [first = "serve", ...rest] = operands;
  const command = COMMANDS.find((candidate) => candidate === first);
  if (!command) throw new UsageError(`unknown command '${first}' (there are: ${COMMANDS.join(", ")})`);
  if (command !== "call" && rest.length > 0) {
    throw new UsageError(`'${command}' takes no operand '${rest[0]}'`);
  }
  const logLevel = LOG_LEVELS.find((level) => level === (one("log-level") ?? "warn"));
  if (!logLevel) {
    throw new UsageError(`unknown log level '${one("log-level")}' (there are: ${LOG_LEVELS.join(", ")})`);
  }
  return {
    command,
    operands: rest,
    repo: one("repo"),
    db: one("db"),
    base: one("base"),
    repos: one("repos"),
    roots: values.get("root") ?? [],
    readOnly: values.has("read-only"),
    toolsets: list("toolsets"),
    tools: list("tools"),
    excludeTools: list("exclude-tools"),
    trustRepoConfig: values.has("trust-repo-config"),
    hooks: !values.has("no-hooks"),
    allowFileRemotes: values.has("allow-file-remotes"),
    allowAgentConfig: values.has("allow-agent-config"),
    logLevel,
    version: values.has("version"),
    help: values.has("help"),
  };
}

function didYouMean(name: string): string {
  const near = FLAGS.find((flag) => flag.name.startsWith(name) || name.startsWith(flag.name));
  return near ? ` (did you mean '--${near.name}'?)` : " (--help lists them)";
}
