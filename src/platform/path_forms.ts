/** What paths may look like, on the systems this runs on: as text, nothing is looked up. */

/** Whose rules hold. */
export type PathStyle = "posix" | "windows";

/** The rules of this system. */
export const PATH_STYLE: PathStyle = Deno.build.os === "windows" ? "windows" : "posix";

const LONGEST = 4096;
// deno-lint-ignore no-control-regex -- control characters are what is refused
const CONTROL = /[\x00-\x1f\x7f]/;
/** Names of devices, with or without an ending. See Microsoft's "Naming Files, Paths, and Namespaces". */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\..*)?$/i;
/** Characters that file systems leave out of account when they compare names; see git's path checks for HFS+. */
const IGNORABLE = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

/** Why a path is none that a caller may give; null for an ordinary one. */
export function pathFault(path: string, style: PathStyle = PATH_STYLE): string | null {
  if (path === "") return "is empty";
  if (path.length > LONGEST) return `is longer than ${LONGEST} characters`;
  if (CONTROL.test(path)) return "has a control character";
  if (!path.isWellFormed()) return "is no well-formed text";
  if (/^~(?:[\\/]|$)/.test(path)) return "begins with '~', which only a shell understands";
  return style === "windows" ? windowsFault(path) : null;
}

function windowsFault(path: string): string | null {
  if (/^[\\/]{2}/.test(path)) return "names another machine or a device";
  const drive = /^[a-z]:/i.test(path);
  if (drive && !/^..[\\/]/.test(path)) return "is relative to the current directory of a drive";
  const rest = drive ? path.slice(2) : path;
  if (rest.includes(":")) return "names a stream of a file";
  if (/[<>"|?*]/.test(rest)) return "has a character that is not allowed in names";
  for (const part of rest.split(/[\\/]/)) {
    if (DEVICE.test(part.trimEnd())) return `names the device '${part}'`;
    if (part !== "." && part !== ".." && /[. ]$/.test(part)) {
      return "has a name that ends in a dot or a blank";
    }
  }
  return null;
}

/** Whether some file system may take a name for `.git`: in capitals, as `git~1`, with letters that do not count. */
export function isGitName(name: string): boolean {
  const folded = name.normalize("NFKC").replace(IGNORABLE, "").toLowerCase()
    .replace(/:.*$/s, "").replace(/[. ]+$/, "");
  return folded === ".git" || /^git~\d+$/.test(folded);
}

/** The names that a path is made of. */
export function partsOf(path: string, style: PathStyle = PATH_STYLE): string[] {
  return path.split(style === "windows" ? /[\\/]/ : "/").filter((part) => part !== "" && part !== ".");
}
