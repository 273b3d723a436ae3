/** Writing for a person: subcommands only, because while serving standard output carries the protocol. */

const ENCODER = new TextEncoder();

/** Prints a line to standard output. */
export function print(text: string): void {
  writeAll(Deno.stdout, `${text}\n`);
}

/** Prints a line to standard error. */
export function printError(text: string): void {
  writeAll(Deno.stderr, `${text}\n`);
}

/** Shows how far something is, in one line of standard error that the next one replaces; "" takes it away. */
export function printProgress(text: string): void {
  if (Deno.stderr.isTerminal()) writeAll(Deno.stderr, `\r\x1b[2K${text}`);
}

function writeAll(stream: { writeSync(bytes: Uint8Array): number }, text: string): void {
  const bytes = ENCODER.encode(text);
  for (let at = 0; at < bytes.length;) at += stream.writeSync(bytes.subarray(at));
}
