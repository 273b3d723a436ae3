/**
 * What in a repository's own config would run a program or lead git elsewhere.
 *
 * Only the local and worktree scopes are judged: global and system config are the operator's. Settings that
 * the hardened chain neutralises (environment.ts) are not listed here, so ordinary repositories pass.
 * See git-config(1) for the keys.
 */
import * as path from "node:path";
import { isWithin } from "../platform/jail.ts";

/** One entry of `git config --list -z --show-scope --show-origin`. */
export interface ConfigEntry {
  scope: string;
  /** `file:<path>`, path as git prints it. */
  origin: string;
  /** Section and key in lower case, subsection as written. */
  key: string;
  /** Null for a key without `=`. */
  value: string | null;
}

/** Where the repository lies, all real paths. */
export interface GuardedPlace {
  /** Top of the working tree; the git directory itself when bare. */
  root: string;
  gitDir: string;
  commonDir: string;
}

/** Parses the NUL-separated listing; a trailing broken record is dropped. */
export function parseConfigList(text: string): ConfigEntry[] {
  const fields = text.split("\0");
  const entries: ConfigEntry[] = [];
  for (let i = 0; i + 2 < fields.length; i += 3) {
    const [scope, origin, pair] = [fields[i], fields[i + 1], fields[i + 2]];
    const cut = pair.indexOf("\n");
    entries.push({
      scope,
      origin,
      key: cut < 0 ? pair : pair.slice(0, cut),
      value: cut < 0 ? null : pair.slice(cut + 1),
    });
  }
  return entries;
}

/** A rule: keys it speaks of, and whether a value is harmless all the same. */
interface Rule {
  key: RegExp;
  harmless?(value: string, place: GuardedPlace, entry: ConfigEntry): boolean;
}

const LFS = /^git-lfs (clean -- %f|smudge (--skip )?-- %f|filter-process( --skip)?)$/;
/** A helper named by a bare word is git's own `git-credential-<word>` from the PATH, not a program here. */
const NAMED_HELPER = /^[a-z0-9][a-z0-9-]*( --?[a-z0-9-]+(=[a-z0-9]+)?)*$/i;
const empty = (value: string) => value === "";

const RULES: readonly Rule[] = [
  { key: /^filter\.lfs\.(clean|smudge|process)$/, harmless: (value) => LFS.test(value) || empty(value) },
  { key: /^filter\..*\.(clean|smudge|process)$/s, harmless: empty },
  { key: /^merge\..*\.driver$/s, harmless: empty },
  { key: /^core\.sshcommand$/ },
  { key: /^credential\.(.*\.)?helper$/s, harmless: (value) => empty(value) || NAMED_HELPER.test(value) },
  { key: /^gpg\.(.*\.)?(program|defaultkeycommand)$/s },
  { key: /^remote\..*\.(uploadpack|receivepack|vcs)$/s },
  { key: /^url\..*\.(push)?insteadof$/s, harmless: (_value, _place, entry) => !leadsToProgram(entry.key) },
  { key: /^submodule\..*\.update$/s, harmless: (value) => !value.startsWith("!") },
  { key: /^core\.worktree$/, harmless: (value, place) => path.resolve(place.gitDir, value) === place.root },
  { key: /^include\.path$/, harmless: staysInside },
  { key: /^includeif\..*\.path$/s, harmless: staysInside },
  // Files of ours that are read or, for cookies, written with what a server sends.
  { key: /^http\.(.*\.)?(cookiefile|savecookies)$/s, harmless: empty },
  {
    key: /^mailmap\.file$/,
    harmless: (value, place) => isWithin(place.root, path.resolve(place.root, value)),
  },
  { key: /^trailer\..*\.(command|cmd)$/s },
];

/** The keys that make a repository unsafe to work on, in the order of the listing, each once. */
export function unsafeKeys(entries: readonly ConfigEntry[], place: GuardedPlace): string[] {
  const found = new Set<string>();
  for (const entry of entries) {
    if (entry.scope !== "local" && entry.scope !== "worktree") continue;
    const rule = RULES.find((candidate) => candidate.key.test(entry.key));
    if (rule && !rule.harmless?.(entry.value ?? "", place, entry)) found.add(entry.key);
  }
  return [...found];
}

/** Whether `url.<base>.insteadOf` rewrites to a transport that runs a command or reads local files. */
function leadsToProgram(key: string): boolean {
  const base = key.slice("url.".length, key.lastIndexOf("."));
  return !/^(https?|ssh|git\+ssh|ssh\+git):\/\//i.test(base) && !/^[\w.-]+@[\w.-]+:/.test(base);
}

/** The file that an include names; null for any other entry. A path into somebody's home is none we follow. */
export function includeTarget(entry: ConfigEntry, root: string): string | null {
  if (!/^include(if\..*)?\.path$/s.test(entry.key) || !entry.value || entry.value.startsWith("~")) {
    return null;
  }
  return path.resolve(root, path.dirname(entry.origin.replace(/^file:/, "")), entry.value);
}

/** Whether a `core.hooksPath` leads out of the repository; hooks inside of it are its user's own. */
export function hasForeignHooks(
  entries: readonly ConfigEntry[],
  { root, commonDir }: Pick<GuardedPlace, "root" | "commonDir">,
): boolean {
  return entries.some(({ key, value }) => {
    if (key !== "core.hookspath" || !value) return false;
    const target = path.resolve(root, value);
    return value.startsWith("~") || !(isWithin(root, target) || isWithin(commonDir, target));
  });
}

function staysInside(_value: string, place: GuardedPlace, entry: ConfigEntry): boolean {
  const target = includeTarget(entry, place.root);
  if (target === null) return false;
  return isWithin(place.commonDir, target) || isWithin(place.root, target);
}
