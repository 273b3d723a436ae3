/** The help text, made from the table of flags. */
import { type Flag, FLAGS } from "./flags.ts";

/** What `--help` prints. */
export function helpText(): string {
  const rows = FLAGS.map((flag: Flag) => [
    `  -${flag.name}${flag.value ? ` <${flag.value}>` : ""}`,
    flag.help,
  ]);
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return `orchestragent-mcp: an MCP server that gives coding agents git worktree sessions, git, and code search

Usage:
  orchestragent-mcp [flags]                       serve MCP on standard input and output
  orchestragent-mcp [flags] call <tool> '<json>'  call one tool and print the result
  orchestragent-mcp [flags] doctor                check git, repository, database and permissions
  orchestragent-mcp [flags] index                 index all served repositories now
  orchestragent-mcp [flags] demo                  show a session's life in a throw-away repository;
                                                  with -repo, list the sessions of that repository

Flags (one dash or two, value behind a blank or '='):
${rows.map(([left, right]) => `${left.padEnd(width)}${right}`).join("\n")}

Register with a client:
  codex mcp add orchestragent-mcp -- orchestragent-mcp -repo /path/to/repo
  claude mcp add orchestragent-mcp -- orchestragent-mcp -repo /path/to/repo
`;
}
