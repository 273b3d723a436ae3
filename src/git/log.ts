/** Commits with their figures: `git log --shortstat`. */
import type { Repository } from "./repository.ts";
import type { GitOptions, GitRunner } from "./runner.ts";

/** One commit of a log. */
export interface Commit {
  /** Full object name. */
  oid: string;
  /** Its shortest unambiguous form, at least seven characters. */
  short: string;
  subject: string;
  /** Name and address of the author, after the mailmap. */
  author: string;
  email: string;
  /** Author date in strict ISO 8601. */
  date: string;
  /** Author date, seconds since the epoch. */
  time: number;
  files: number;
  insertions: number;
  deletions: number;
}

/** Which commits are meant. Everything but the paths is checked by the caller. */
export interface LogQuery {
  /** Full object names or a range of them; `HEAD` when not resolved. */
  start: string;
  since: string;
  paths: readonly string[];
  grep?: string;
  author?: string;
  skip: number;
  limit: number;
}

const FIELDS = ["%H", "%h", "%aN", "%aE", "%aI", "%at", "%s"];
const FORMAT = `--format=tformat:${FIELDS.join("%x00")}%x00`;

/**
 * The newest commits first, at most `limit` of them behind the first `skip`.
 *
 * @throws {ToolError} What git throws.
 */
export async function readLog(
  git: GitRunner,
  repository: Repository,
  query: LogQuery,
  options: GitOptions = {},
): Promise<Commit[]> {
  const args = ["log", "--abbrev=7", "--no-color", "--no-show-signature", "--no-ext-diff", "--shortstat"];
  const page = [`--skip=${query.skip}`, `--max-count=${query.limit}`];
  const { stdout } = await git.exec(
    repository,
    [...SETTINGS, ...args, FORMAT, ...page, ...selection(query)],
    options,
  );
  return parseLog(stdout);
}

/** How many commits there are, however many are asked for. */
export async function countLog(
  git: GitRunner,
  repository: Repository,
  query: LogQuery,
  options: GitOptions = {},
): Promise<number> {
  const { stdout } = await git.exec(
    repository,
    [...SETTINGS, "rev-list", "--count", ...selection(query)],
    options,
  );
  return Number(stdout);
}

/** What the user's config would change in which commits are found, or in how they are written. */
const SETTINGS: readonly string[] = [
  ...["log.showRoot=true", "log.follow=false", "i18n.logOutputEncoding=UTF-8", "diff.renames=true"],
  ...["grep.patternType=default", "grep.extendedRegexp=false", "log.excludeDecoration="],
].flatMap((setting) => ["-c", setting]);

function selection({ start, since, paths, grep, author }: LogQuery): string[] {
  return [
    ...(since === "" ? [] : [`--since=${since}`]),
    ...(grep === undefined ? [] : [`--grep=${grep}`, "--regexp-ignore-case"]),
    ...(author === undefined ? [] : [`--author=${author}`]),
    start,
    "--",
    ...paths,
  ];
}

/** Parses what {@linkcode FORMAT} and `--shortstat` give: a commit's figures stand before the next one's name. */
export function parseLog(text: string): Commit[] {
  const chunks = text.split("\0");
  const lastLine = (chunk: string) => chunk.slice(chunk.lastIndexOf("\n") + 1);
  const commits: Commit[] = [];
  for (let at = 0; at + FIELDS.length < chunks.length; at += FIELDS.length) {
    const [first, short, author, email, date, time, subject, stat] = chunks.slice(at, at + FIELDS.length + 1);
    const figure = (unit: string) => Number(new RegExp(`(\\d+) ${unit}`).exec(stat)?.[1] ?? 0);
    commits.push({
      oid: lastLine(first),
      short,
      subject,
      author,
      email,
      date,
      time: Number(time),
      files: figure("file"),
      insertions: figure("insertion"),
      deletions: figure("deletion"),
    });
  }
  return commits;
}
