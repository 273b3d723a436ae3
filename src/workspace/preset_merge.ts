/** Joining what a call lists with what a preset lists. */
import type { ParityPair } from "./presets.ts";

/** How a call refers to a preset. */
export interface PresetUse<T> {
  /** What the call itself lists. */
  inline: readonly T[];
  /** What the preset lists; undefined when the call names none. */
  preset?: readonly T[];
  /** Both lists, the preset's first; else a list of the call's own replaces the preset's. */
  merge: boolean;
}

/** The nested roots that are meant, each once. */
export function joinedRoots(use: PresetUse<string>): string[] {
  return [...new Set(joined(use))];
}

/** The pairs that are meant; of two with the same sides the first one. */
export function joinedPairs(use: PresetUse<ParityPair>): ParityPair[] {
  const byPaths = new Map<string, ParityPair>();
  for (const pair of joined(use)) {
    const key = JSON.stringify([pair.left, pair.right]);
    if (!byPaths.has(key)) byPaths.set(key, pair);
  }
  return [...byPaths.values()];
}

function joined<T>({ inline, preset = [], merge }: PresetUse<T>): T[] {
  if (merge) return [...preset, ...inline];
  return inline.length > 0 ? [...inline] : [...preset];
}
