/**
 * The server's log: lines on stderr, because stdout carries the protocol.
 */

/** Log levels from most to least talkative; `silent` writes nothing. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

/** One of {@linkcode LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];

const ENCODER = new TextEncoder();

let threshold = LOG_LEVELS.indexOf("warn");

/** Sets what is written from now on, for the whole process. */
export function setLogLevel(level: LogLevel): void {
  threshold = LOG_LEVELS.indexOf(level);
}

/** Writes one line to stderr: time, level, message. Never throws: a closed stderr must not stop a call. */
export function log(level: Exclude<LogLevel, "silent">, message: string): void {
  if (LOG_LEVELS.indexOf(level) < threshold) return;
  const line = `${new Date().toISOString()} ${level} ${message.replaceAll("\n", "\n  ")}\n`;
  try {
    Deno.stderr.writeSync(ENCODER.encode(line));
  } catch { /* nobody is listening */ }
}
