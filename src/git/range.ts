/** Ranges of commits, `A..B` and `A...B`; see gitrevisions(7), Specifying Ranges. */
import { type ErrorCode, ToolError } from "../errors.ts";
import { checkCommitish } from "./refs.ts";

/** A range taken apart; an empty side means HEAD. */
export interface Range {
  left: string;
  dots: ".." | "...";
  right: string;
}

/**
 * Parses a range and checks both its sides.
 *
 * @param code The error for what is no safe range.
 * @throws {ToolError} `code`.
 */
export function parseRange(text: string, code: ErrorCode): Range {
  const [, left, dots, right] = /^(.*?)(\.{2,3})(?!\.)(.*)$/s.exec(text) ?? [];
  try {
    if (dots === undefined || (left === "" && right === "")) throw new Error("no range");
    return {
      left: checkCommitish(left || "HEAD"),
      dots: dots as Range["dots"],
      right: checkCommitish(right || "HEAD"),
    };
  } catch (cause) {
    const shown = text.slice(0, 200);
    throw new ToolError(code, `'${shown}' is not accepted as a range`, {
      cause,
      details: code === "unsafe_ref_token" ? { ref: shown } : { range: shown },
    });
  }
}
