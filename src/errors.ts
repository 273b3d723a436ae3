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

  root_not_allowed: {
    meaning: "The directory lies outside of the roots that the server may work in.",
    next: "Choose one of the allowed roots, or have the operator start the server with -root for this one.",
  },
  root_index_out_of_range: {
    meaning: "rootIndex is not below the number of roots.",
    next: "Use 0 to rootCount - 1, or name the directory with workspaceRoot.",
  },
  not_a_git_repo: {
    meaning: "The resolved root is not inside a git repository (git_log's own form of not_a_git_repository).",
    next: "Name a directory inside a repository with workspaceRoot.",
  },

  preset_not_found: {
    meaning: "No preset of that name stands in the repository's preset file.",
    next: "Call list_presets for the names.",
  },
  preset_file_invalid: {
    meaning: "The preset file is not JSON, or does not fit its schema.",
    next: "Correct the named place in the file; docs/git-mcp-presets.schema.json describes it.",
  },
  remote_branch_mismatch: {
    meaning: "Only one of remote and branch was given.",
    next: "Give both, or neither to compare with each repository's own upstream.",
  },
  invalid_remote_or_branch: {
    meaning: "remote or branch holds characters that are not accepted in a ref.",
    next: "Use the plain names, such as 'origin' and 'main'.",
  },
  no_pairs: {
    meaning: "There is nothing to compare.",
    next: "Give pairs, or a preset with parityPairs.",
  },

  invalid_since: {
    meaning: "since is no date that git understands, or holds shell metacharacters.",
    next: "Use forms such as '7.days', '2 weeks ago' or '2026-04-01T00:00:00Z'.",
  },
  invalid_paths: {
    meaning: "A path holds shell metacharacters.",
    next: "Name files by their plain paths; to see everything, leave paths out.",
  },
  git_log_failed: {
    meaning: "git log failed, as for an unknown branch.",
    next: "Check the branch name; git's own words are in detail.",
  },
  unsafe_range_token: {
    meaning: "A range holds characters or forms that are not accepted.",
    next: "Use 'staged', 'HEAD', one ref, 'A..B' or 'A...B'.",
  },
  git_diff_failed: {
    meaning: "git diff failed, as for an unknown revision.",
    next: "Check the revisions; git's own words are in detail.",
  },

  stage_failed: {
    meaning: "A listed file could not be staged.",
    next: "Check that the file exists, is not ignored, and is a file; what was committed before stays.",
  },
  commit_failed: {
    meaning: "git commit failed: nothing to commit, a hook said no, or nobody told git who the user is.",
    next: "Read detail, correct it, and call again with the remaining commits.",
  },
  push_detached_head: {
    meaning: "HEAD is detached, so there is no branch to push.",
    next: "Put the commits on a branch first.",
  },
  push_no_upstream: {
    meaning: "The branch has no upstream, and none is set without being asked for.",
    next: "Set one with 'git push -u <remote> <branch>'; the commits are made.",
  },
  push_failed: {
    meaning: "git push failed; the commits stay.",
    next: "Read detail: pull first when the remote has moved on.",
  },

  working_tree_dirty: {
    meaning: "The working tree has uncommitted or untracked files.",
    next: "Commit, stash or discard them first.",
  },
  into_detached_head: {
    meaning: "HEAD is detached and no destination was given.",
    next: "Name the destination branch with into.",
  },
  onto_detached_head: {
    meaning: "HEAD is detached and no destination was given.",
    next: "Name the destination branch with onto.",
  },
  checkout_failed: {
    meaning: "The working tree could not be put on the destination branch.",
    next: "Read detail; nothing has changed.",
  },
  destination_not_found: {
    meaning: "The destination is not a local branch with a commit.",
    next: "Name an existing local branch.",
  },
  source_not_found: {
    meaning: "A source is neither a branch nor a commit.",
    next: "Check the name; a remote branch is written 'origin/<branch>'.",
  },
  source_checked_out: {
    meaning: "A source branch cannot be rebased: it is checked out in a worktree that is in use.",
    next: "Commit or discard what is in that worktree, or use strategy 'merge'.",
  },
  cannot_fast_forward: {
    meaning: "strategy ff-only was asked for and the branches have diverged.",
    next: "Retry with strategy rebase, merge or auto.",
  },
  rebase_conflicts: {
    meaning: "A commit of the source does not apply to the destination; nothing of it was kept.",
    next: "Resolve what conflicts names on the source branch, or use strategy 'merge'.",
  },
  merge_conflicts: {
    meaning: "Source and destination change the same places; nothing of the merge was kept.",
    next: "Merge the destination into the source branch, resolve what conflicts names there, call again.",
  },
  merge_failed: {
    meaning: "git could not merge, or files were in the way.",
    next: "Read detail; nothing has changed.",
  },
  merge_base_failed: {
    meaning: "Source and destination have no common history.",
    next: "Check that the right branch is named.",
  },
  range_resolution_failed: {
    meaning: "A range does not resolve to commits.",
    next: "Check both ends of the range.",
  },
  cherry_pick_failed: {
    meaning: "git could not put the picked commits on the destination, or files were in the way.",
    next: "Read detail; nothing has changed.",
  },
  merge_in_progress: {
    meaning: "A merge was begun in the working tree and not ended.",
    next: "Finish or abort it with git.",
  },
  cherry_pick_in_progress: {
    meaning: "A cherry-pick was begun in the working tree and not ended.",
    next: "Finish or abort it with git.",
  },
  revert_in_progress: {
    meaning: "A revert was begun in the working tree and not ended.",
    next: "Finish or abort it with git.",
  },
  rebase_in_progress: {
    meaning: "A rebase was begun in the working tree and not ended.",
    next: "Finish or abort it with git.",
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
  NOT_FOUND: {
    meaning: "The repository, file, directory or commit is not there.",
    next: "Look with gb_list_repos, gb_list_files or gb_find_files.",
  },
  INVALID_REQUEST: {
    meaning: "An argument cannot be understood, such as a query that does not parse or an unknown revision.",
    next: "Correct what the message names and call again.",
  },
  FILE_TOO_LARGE: {
    meaning: "What would be returned is larger than 128 KB.",
    next: "Give startLine and endLine, or search the file with gb_file_search.",
  },
  ACCESS_DENIED: {
    meaning: "The repository is there, and its config or its place forbid to read it.",
    next: "Read the message; the operator can widen what is allowed.",
  },
  OutsideRoot: {
    meaning: "The path leads outside of the roots that the server may write in, or is no path at all.",
    next: "Use a path inside the root; a relative one starts there.",
  },
  NotFound: {
    meaning: "The file does not exist.",
    next: "Check the path; write_file makes a file, create_directory a directory.",
  },
  PermissionDenied: {
    meaning: "The system, or a rule of the server, does not allow to write there.",
    next: "Write somewhere else, or ask the user to do it.",
  },
  InvalidTarget: {
    meaning: "What stands at the path is not what the tool works on.",
    next: "Look at what stands there, and name another path.",
  },
  ReadOnly: {
    meaning: "The server was started with --read-only.",
    next: "Nothing can be written; ask the user to start it without.",
  },
  index_unavailable: {
    meaning: "The search index cannot be opened or written.",
    next: "Check the directory of -db; the index can be deleted at any time and is built again.",
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

/** What was thrown as a {@linkcode ToolError}; anything else is a defect. */
export function asToolError(thrown: unknown): ToolError {
  if (thrown instanceof ToolError) return thrown;
  const code: ErrorCode = "internal_error";
  return new ToolError(code, `internal error: ${messageOf(thrown)}`, { cause: thrown });
}

/** Whether an error ends the call, or belongs to the one root it came from. */
export function endsCall(error: unknown): boolean {
  const { code } = asToolError(error);
  return code === "cancelled" || code === "git_not_found" || code === "git_too_old";
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
