/** What `deno run` needs to be told to run the server; a binary has it baked in. */

/** `kill` ends the process groups of git children: Deno's own signals reach single processes only. */
export const RUN_FLAGS: readonly string[] = [
  "--no-prompt",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-run=git,kill",
  "--unstable-kv",
];
