/** Dates of queries: beginnings of `yyyyMMddHHmm` in UTC, also written as ISO 8601. */
import { ToolError } from "../../errors.ts";
import type { Match } from "../query/ast.ts";

/** Seconds since the epoch: the first that a date stands for, and the first behind it. */
interface Period {
  start: number;
  end: number;
}

/**
 * Whether a time lies in what a query says of `date`. A range takes in all of the day, month or year that an end
 * of it names.
 *
 * @throws {ToolError} `INVALID_REQUEST` for what is no date.
 */
export function dateMatcher(match: Match): (seconds: number) => boolean {
  switch (match.kind) {
    case "all":
      return () => true;
    case "text":
      return within(periodOf(match.text));
    case "wildcard": {
      const [first, star, ...rest] = match.parts;
      if (typeof first === "object" && star === "*" && rest.length === 0) return within(periodOf(first.text));
      break;
    }
    case "range": {
      const from = match.from === null ? null : periodOf(match.from);
      const to = match.to === null ? null : periodOf(match.to);
      const low = from && (match.withFrom ? from.start : from.end);
      const high = to && (match.withTo ? to.end : to.start);
      return (seconds) => (low === null || seconds >= low) && (high === null || seconds < high);
    }
  }
  throw noDate("a date is compared with another one, or with a range");
}

function within({ start, end }: Period): (seconds: number) => boolean {
  return (seconds) => seconds >= start && seconds < end;
}

function periodOf(text: string): Period {
  const digits = text.replace(/[-:TZ\s.]/gi, "");
  if (!/^(?:\d{4}|\d{6}|\d{8}|\d{10}|\d{12}|\d{14})$/.test(digits)) throw noDate(`'${text}' is none`);
  const [year, ...rest] = [digits.slice(0, 4), ...digits.slice(4).match(/../g) ?? []].map(Number);
  const at = (step: number) => {
    const parts = [year, (rest[0] ?? 1) - 1, rest[1] ?? 1, rest[2] ?? 0, rest[3] ?? 0, rest[4] ?? 0];
    parts[rest.length] += step;
    const [y, month, day, hour, minute, second] = parts;
    return Date.UTC(y, month, day, hour, minute, second) / 1000;
  };
  const valid = new Date(at(0) * 1000).toISOString().replace(/[-:TZ.]/g, "").startsWith(digits);
  if (!valid) throw noDate(`there is no '${text}'`);
  return { start: at(0), end: at(1) };
}

function noDate(why: string): ToolError {
  return new ToolError("INVALID_REQUEST", `date: ${why}`, {
    next: "Write dates as 2024, 202404, 20240131 or 2024-01-31, ranges as date:[20240101 TO 20241231].",
  });
}
