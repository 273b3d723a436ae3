/** Where a caller's path leads, and whether it may be written there. */
import * as path from "node:path";
import { ToolError } from "../errors.ts";
import { isWithin, lstatOrNull } from "../platform/jail.ts";
import { isGitName, partsOf, pathFault } from "../platform/path_forms.ts";

/** Where a call may write. */
export interface WritePlace {
  /** What relative paths are relative to. */
  root: string;
  /** Whether a real path lies in an allowed root. */
  mayTouch(real: string): Promise<boolean>;
  /** Files that tell agents' clients what to run may be written. */
  allowAgentConfig: boolean;
}

/** A path that may be written. */
export interface Target {
  /** As it was given. */
  given: string;
  /** Without links on the way. */
  real: string;
  /** What stands there; null when nothing does. */
  info: Deno.FileInfo | null;
}

/** Files that clients of agents start programs from. */
const AGENT_CONFIG = [
  /^\.mcp\.json$/i,
  /^\.(?:claude|codex|gemini|cursor|windsurf|zed)(?:\/|$)/i,
  /^\.vscode\/(?:mcp|settings|tasks|launch)\.json$/i,
];
const OWN_FILE = /^\.orchestragent-mcp\./i;
const MOST_LINKS = 40;

/**
 * Resolves a path for writing. Links on the way are followed, and it is where they lead that counts.
 *
 * @throws {ToolError} `OutsideRoot`, or `PermissionDenied` for what belongs to git, to the server or to clients.
 */
export async function resolveTarget(place: WritePlace, given: string): Promise<Target> {
  const fault = pathFault(given);
  if (fault !== null) throw outside(place, given, fault);
  const wanted = path.resolve(place.root, given);
  const real = await realTarget(wanted);
  if (real === null) throw outside(place, given, "cannot be resolved: a link leads nowhere or in a circle");
  if (!await place.mayTouch(real)) throw outside(place, given, "leads outside of the allowed roots");
  const owner = await ownerOf(place, wanted, real);
  if (owner !== null) {
    throw new ToolError("PermissionDenied", `'${given}' ${owner}`, { details: { path: given } });
  }
  return { given, real, info: await lstatOrNull(real) };
}

/** Every link followed, also the last; what does not exist is appended. Null where that cannot be done. */
async function realTarget(wanted: string): Promise<string | null> {
  const rest: string[] = [];
  let ancestor = wanted;
  for (let steps = 0; steps < MOST_LINKS + wanted.length; steps++) {
    try {
      return path.join(await Deno.realPath(ancestor), ...rest);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) return null;
      // A link that leads to nothing: writing through it would make a file there.
      if ((await lstatOrNull(ancestor).catch(() => null)) !== null) return null;
      if (ancestor === path.dirname(ancestor)) return null;
      rest.unshift(path.basename(ancestor));
      ancestor = path.dirname(ancestor);
    }
  }
  return null;
}

/** Whose file it is, if it is not the caller's to write. */
async function ownerOf(place: WritePlace, wanted: string, real: string): Promise<string | null> {
  const below = (file: string) => isWithin(place.root, file) ? path.relative(place.root, file) : file;
  for (const file of [wanted, real]) {
    const parts = partsOf(below(file));
    if (parts.some(isGitName)) return "lies in a git directory, which only git writes";
    if (OWN_FILE.test(parts.at(-1) ?? "")) return "is a database of this server";
    const inner = parts.map((_, at) => parts.slice(at).join("/"));
    if (!place.allowAgentConfig && inner.some((tail) => AGENT_CONFIG.some((one) => one.test(tail)))) {
      return "tells an agent's client what to run (--allow-agent-config permits it)";
    }
  }
  for (
    let directory = path.dirname(real);
    await place.mayTouch(directory);
    directory = path.dirname(directory)
  ) {
    if (await isBareRepository(directory)) return "lies in a bare repository, which only git writes";
    if (directory === path.dirname(directory)) break;
  }
  return null;
}

async function isBareRepository(directory: string): Promise<boolean> {
  const found = await Promise.all(
    ["HEAD", "objects", "refs"].map((name) => lstatOrNull(path.join(directory, name)).catch(() => null)),
  );
  return found.every((info) => info !== null) && found[1]!.isDirectory && found[2]!.isDirectory;
}

function outside(place: WritePlace, given: string, why: string): ToolError {
  const shown = given.length > 200 ? `${given.slice(0, 200)}…` : given;
  return new ToolError("OutsideRoot", `path '${shown}' ${why}; the root is '${place.root}'`, {
    details: { path: shown, root: place.root },
  });
}
