/** Pieces of markdown around text that comes from outside and may look like markdown itself. */

/** A fenced block whose fence is longer than any run of backticks in the text. */
export function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** Text on one line of its own, so that nothing in it reads as another line: control characters are escaped. */
export function oneLine(text: string): string {
  // deno-lint-ignore no-control-regex -- control characters are what is escaped
  return /[\x00-\x1f\x7f\u2028\u2029]/.test(text) ? JSON.stringify(text) : text;
}

/** A single line as it is, several as a block. */
export function inlineOrFenced(text: string): string {
  return text.includes("\n") ? fenced(text, "text") : text;
}

/** A code span. */
export function span(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const ticks = "`".repeat(longest + 1);
  return longest > 0 ? `${ticks} ${text} ${ticks}` : `${ticks}${text}${ticks}`;
}
