/** What the server may do, as flags for `deno run`; a binary has them baked in. */

/** `kill` ends the process groups of git children; Deno's own signals reach single processes only. */
export const PERMISSIONS: readonly string[] = [
  "--no-prompt",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-run=git,kill",
];
