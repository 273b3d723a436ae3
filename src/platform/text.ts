/**
 * Making outside text safe to show: what git, file names and remotes say is untrusted input.
 */

// deno-lint-ignore no-control-regex -- control characters are exactly what has to go
const ANSI = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
// deno-lint-ignore no-control-regex -- the same
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
/** Bidirectional overrides and zero-width characters: they make a name read as another. */
const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;
const URL_CREDENTIALS = /([a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi;

/** Strips terminal escapes, control and invisible characters; tabs and newlines stay. */
export function plain(text: string): string {
  return text.replace(ANSI, "").replace(CONTROL, "").replace(INVISIBLE, "");
}

/** Like {@linkcode plain}, and hides `user:password@` in URLs: for the words of git that reach a caller. */
export function redacted(text: string): string {
  return plain(text).replace(URL_CREDENTIALS, "$1***@");
}

/** The first `max` UTF-16 units, or one less where that would cut a character in two. */
export function head(text: string, max: number): string {
  return text.slice(0, /[\ud800-\udbff]$/.test(text.slice(0, max)) ? max - 1 : max);
}

/** Cuts to at most `max` UTF-16 units, marking the cut. */
export function clipped(text: string, max: number): string {
  if (text.length <= max) return text;
  const shown = head(text, max);
  return `${shown} … (${text.length - shown.length} more characters)`;
}
