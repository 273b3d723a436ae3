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

function writeAll(stream: { writeSync(bytes: Uint8Array): number }, text: string): void {
  const bytes = ENCODER.encode(text);
  for (let at = 0; at < bytes.length;) at += stream.writeSync(bytes.subarray(at));
}
