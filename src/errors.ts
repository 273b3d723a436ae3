/**
 * Every error the product can answer with, once.
 *
 * A code is stable: agents branch on it, so it is never renamed. `meaning` feeds the error reference;
 * `next` is the default advice a caller gets when the place that throws has nothing more precise to say.
 */
export const ERRORS = {
  invalid_arguments: {
    meaning: "The arguments do not fit the tool's input schema.",
    next: "Correct the named fields and call again.",
  },
  cancelled: {
    meaning: "The caller cancelled the call; nothing was left half done.",
    next: "Call again if the work is still wanted.",
  },
  internal_error: {
    meaning: "A defect in the server.",
    next: "Report it with the server's stderr.",
  },

  git_not_found: {
    meaning: "No git program stands in a trusted PATH directory.",
    next: "Install git 2.30 or newer; the next call looks again.",
  },
  git_too_old: {
    meaning: "The git program is older than 2.30.",
    next: "Install git 2.30 or newer; the next call looks again.",
  },
  git_failed: {
    meaning: "git exited with an error that has no code of its own.",
    next: "Read git's own words in the message.",
  },
  git_timeout: {
    meaning: "A git command ran longer than allowed and was stopped with its children.",
    next: "Call again; if it repeats, run the command by hand to see what it waits for.",
  },
  not_a_git_repository: {
    meaning: "The path is not inside a git repository.",
    next: "Point -repo at a repository, or run 'git init' there first.",
  },
  unsafe_repo_owner: {
    meaning: "git refuses the repository because another user owns it (safe.directory).",
    next: "Fix the ownership, or have the operator add it to safe.directory in the global git config.",
  },
  unsafe_repo_config: {
    meaning: "The repository's own config or layout would execute code or redirect git elsewhere.",
    next: "Remove the named keys, or have the operator start the server with --trust-repo-config.",
  },
  path_escapes_repository: {
    meaning: "A path leads outside its root, directly or through a symbolic link.",
    next: "Use a path that stays inside.",
  },
  repo_locked: {
    meaning: "Another process has been writing to this repository for longer than a call waits.",
    next: "Call again in a moment.",
  },
  repo_not_writable: {
    meaning: "The git directory of the repository cannot be written by this user.",
    next: "Check its permissions, or start the server with --read-only.",
  },
  unsafe_ref_token: {
    meaning: "A ref contains characters or forms that are not accepted as a single commit-ish.",
    next: "Use a branch, tag, HEAD~n or object name.",
  },
  base_not_found: {
    meaning: "The base branch or ref does not resolve to a commit.",
    next: "Name an existing branch with -base or baseRef; an empty repository needs a first commit.",
  },

  invalid_session_id: {
    meaning: "The session id breaks the rule: 2-50 lowercase letters, digits and hyphens.",
    next: "Use 2-50 lowercase letters, numbers and hyphens, starting and ending with a letter or number.",
  },
  session_not_found: {
    meaning: "No session of that id is known for this repository.",
    next: "Call get_sessions for the ids.",
  },
  session_exists: {
    meaning: "A session of that id exists already.",
    next: "Work in it (get_sessions has its path), or choose another id.",
  },
  branch_exists: {
    meaning: "The session's branch name is taken by a branch that is not a session.",
    next: "Choose another session id, or rename or delete that branch with git.",
  },
  worktree_path_exists: {
    meaning: "Something already stands where the session's worktree would go.",
    next: "Move it away, or choose another session id.",
  },
  worktree_locked: {
    meaning: "The worktree is locked with 'git worktree lock'.",
    next: "Run 'git worktree unlock' on it when it may go.",
  },
  nested_repository: {
    meaning: "The worktree holds another git repository whose work no backup of ours can keep.",
    next: "Move the nested repository out of the worktree, then call again.",
  },
  worktree_in_use: {
    meaning: "The worktree directory cannot be moved or deleted; a program still holds it open.",
    next: "Close terminals, editors and processes in the worktree, then call again.",
  },

  database_unavailable: {
    meaning: "The session database cannot be opened or written.",
    next: "Check that the -db directory exists and is writable for this user.",
  },
  database_corrupt: {
    meaning: "The session database is damaged or is not one of ours; it was left as it is.",
    next: "Move the file away: the next start makes a new one and takes up the worktrees it finds in git.",
  },
  database_locked: {
    meaning: "Other processes kept the session database busy for longer than a call waits.",
    next: "Call again in a moment.",
  },
} as const satisfies Record<string, { meaning: string; next: string }>;

/** A stable error code, a key of {@linkcode ERRORS}. */
export type ErrorCode = keyof typeof ERRORS;

/** What a {@linkcode ToolError} carries besides its code and message. */
export interface ToolErrorOptions {
  /** What the caller should do next; the registry's advice stands in when left out. */
  next?: string;
  /** Structured facts for payloads: the keys, paths and names the message speaks of. */
  details?: Record<string, unknown>;
  cause?: unknown;
}

/** The one error that domains throw: a stable code, a message that names the input, and what to do next. */
export class ToolError extends Error {
  readonly code: ErrorCode;
  readonly next: string;
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, options: ToolErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = "ToolError";
    this.code = code;
    this.next = options.next ?? ERRORS[code].next;
    this.details = options.details ?? {};
  }
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
