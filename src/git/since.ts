/** Dates as git-log(1) `--since` takes them. Git reads nonsense as "now" and says nothing, so we look first. */

const WORDS = new Set([
  ...["ago", "now", "today", "yesterday", "noon", "midnight", "tea", "last", "never", "am", "pm", "the"],
  ...["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "a", "an"],
  ...["utc", "gmt", "z", "at", "on"],
]);
const UNIT = /^(second|minute|hour|day|week|fortnight|month|year)s?$/;
const NAMES =
  /^(mon(day)?|tue(s(day)?)?|wed(nesday)?|thu(rs(day)?)?|fri(day)?|sat(urday)?|sun(day)?|jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?|dec(ember)?)$/;
const NUMBER = /^\d+(st|nd|rd|th|am|pm|z)?$|^\d+t\d+z?$/;
const LONGEST = 64;

/** Whether git will understand the date; shell metacharacters never stand in one. */
export function isDate(text: string): boolean {
  if (text.length > LONGEST || !/^[\w .,:/+@-]+$/.test(text)) return false;
  const words = text.toLowerCase().split(/[\s.,:/+@-]+|(?<=\d)(?=[a-su-y])|_/).filter((word) => word !== "");
  const known = (word: string) =>
    WORDS.has(word) || UNIT.test(word) || NAMES.test(word) || NUMBER.test(word) ||
    /^(st|nd|rd|th)$/.test(word);
  return words.length > 0 && words.every(known);
}

/** Time passed, short: `42m ago`. */
export function age(seconds: number): string {
  const steps: readonly (readonly [number, string])[] = [
    [365 * 86_400, "y"],
    [30 * 86_400, "mo"],
    [7 * 86_400, "w"],
    [86_400, "d"],
    [3_600, "h"],
    [60, "m"],
  ];
  const [size, unit] = steps.find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.max(0, Math.floor(seconds / size))}${unit} ago`;
}
