/**
 * The environment and the `-c` chain every git child gets: nothing in it can prompt, page, edit, or run a
 * program that the repository names.
 */

/** Variables handed on from the server's environment; everything else is dropped. */
const HANDED_ON = new Set([
  ...["HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GNUPGHOME"],
  ...["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR"],
  ...[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
  ],
  // The operator's own choice of config files and identity; a repository cannot set these.
  ...["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"],
  ...["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"],
  // Windows cannot start most programs without these.
  ...[
    "SystemRoot",
    "SystemDrive",
    "windir",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
  ],
  ...["ProgramData", "ProgramFiles", "ProgramFiles(x86)", "COMSPEC", "PATHEXT", "TEMP", "TMP"],
].map(folded));

/** No prompt, no editor, no pager, English words, no transport. */
const FIXED: Readonly<Record<string, string>> = {
  LANG: "C.UTF-8",
  LC_ALL: "C.UTF-8",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "",
  SSH_ASKPASS: "",
  SSH_ASKPASS_REQUIRE: "never",
  GCM_INTERACTIVE: "never",
  GIT_SSH_COMMAND: "ssh -oBatchMode=yes",
  GIT_EDITOR: "true",
  GIT_SEQUENCE_EDITOR: "true",
  GIT_PAGER: "cat",
  GIT_MERGE_AUTOEDIT: "no",
  // Paths from callers name themselves, not patterns.
  GIT_LITERAL_PATHSPECS: "1",
  // A read of a partial clone would fetch what is missing; who may talk to a remote says so.
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_LAZY_FETCH: "1",
  GIT_PROGRESS_DELAY: "1",
};

/**
 * Options before the subcommand on every call. `diff.external` is not among them (an empty value makes
 * `git diff` fail): diffing commands get {@linkcode NO_DIFF_PROGRAMS} instead.
 */
export const HARDENED: readonly string[] = [
  "--no-pager",
  ...[
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.pager=cat",
    "core.editor=true",
    "core.askPass=",
    "core.gitProxy=",
    "core.alternateRefsCommand=",
    "core.quotePath=false",
    "diff.orderFile=/dev/null",
    "log.showSignature=false",
    "submodule.recurse=false",
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
  ].flatMap((setting) => ["-c", setting]),
];

/** Keeps every hook of the repository from running. */
export const NO_HOOKS: readonly string[] = ["-c", "core.hooksPath=/dev/null"];

/** For every subcommand that prints a diff: no external diff program, no textconv. */
export const NO_DIFF_PROGRAMS: readonly string[] = ["--no-ext-diff", "--no-textconv"];

/**
 * The child's environment, from the server's own. Pure, so that a test can pin it.
 *
 * @param searchPath The trusted part of PATH: git looks there for ssh, git-lfs and credential helpers.
 */
export function gitEnvironment(own: Record<string, string>, searchPath: string): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (HANDED_ON.has(folded(name))) env[name] = value;
  }
  return { ...env, ...FIXED, PATH: searchPath };
}

/** Windows does not tell `Path` from `PATH`. */
function folded(name: string): string {
  return Deno.build.os === "windows" ? name.toUpperCase() : name;
}
