/** What a repository says of itself: description and last change. */
import * as path from "node:path";
import type { Repository } from "../git/repository.ts";
import { smallFile } from "../platform/small_file.ts";
import { clipped } from "../platform/text.ts";
import type { View } from "./view.ts";

/** A repository at a glance. */
export interface Overview {
  /** Empty when it has none. */
  description: string;
  /** When the newest commit of any branch was made, ISO 8601 in UTC; left out without commits. */
  lastChange?: string;
  hasCommits: boolean;
}

const LONGEST = 300;
const MOST_BYTES = 256 * 1024;
/** What `git init` writes. */
const UNNAMED = /^Unnamed repository[;,]/;

/** The overview of one repository. */
export async function overviewOf(view: View, signal?: AbortSignal): Promise<Overview> {
  const tips = await view.tips(signal);
  const times = tips.filter(({ ref }) => ref.startsWith("refs/heads/")).map(({ time }) => time);
  const description = describe(view.repository);
  if (times.length === 0) {
    // A detached HEAD has commits without a branch.
    const head = await view.branch("HEAD");
    return { description, hasCommits: head !== null };
  }
  return { description, lastChange: isoOf(times.reduce((a, b) => Math.max(a, b))), hasCommits: true };
}

/** Seconds since the epoch as `2026-04-01T08:30:00Z`. */
export function isoOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}

/** The file `description`, as gitweb reads it; else what Gitblit keeps in the config. */
function describe({ commonDir }: Repository): string {
  const own = (smallFile(path.join(commonDir, "description"), MOST_BYTES) ?? "").trim();
  if (own !== "" && !UNNAMED.test(own)) return clipped(own.replace(/\s+/g, " "), LONGEST);
  const config = smallFile(path.join(commonDir, "config"), MOST_BYTES) ?? "";
  const [, section] = /^\[(?:gitblit|gitweb)\]([^[]*)/mi.exec(config) ?? [];
  const [, value = ""] = /^\s*description\s*=\s*(.*)$/mi.exec(section ?? "") ?? [];
  return clipped(value.trim().replace(/^"(.*)"$/, "$1"), LONGEST);
}
