/**
 * The client's roots, asked for in the way of its protocol era: with a request of our own in the old one, with
 * an answer that asks for input in the new one.
 */
import { fileURLToPath } from "node:url";
import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  type InputRequiredResult,
  inputResponse,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import { messageOf } from "../errors.ts";
import { log } from "../platform/log.ts";

/** Key of the question in an answer that asks for the roots. */
const QUESTION = "roots";
/** How long a client may take to name its roots before it counts as having none, milliseconds. */
const PATIENCE_MS = 5_000;
const MOST_ROOTS = 1_000;

/** The SDK's own schema throws the whole list away for one root that is no `file:` address. */
const ANSWER = z.looseObject({ roots: z.unknown() });

/** Thrown where the roots are needed and the client has to be asked first; the call is made again with them. */
export class RootsNeeded extends Error {
  readonly question: InputRequiredResult = inputRequired({
    inputRequests: { [QUESTION]: inputRequired.listRoots() },
  });
}

/** The roots of the client of one connection. */
export class ClientRoots {
  readonly #server: McpServer;
  #known: Promise<string[]> | undefined;

  constructor(server: McpServer) {
    this.#server = server;
    server.server.setNotificationHandler("notifications/roots/list_changed", () => {
      this.#known = undefined;
    });
  }

  /**
   * Directories of the client's `file:` roots, in its order; empty when it has none to tell.
   *
   * @throws {RootsNeeded} In the new era, when the call came without them.
   */
  async of(context: ServerContext): Promise<string[]> {
    const { envelope, inputResponses } = context.mcpReq;
    if (envelope !== undefined) {
      const capabilities = (envelope as Record<string, { roots?: unknown }>)[CLIENT_CAPABILITIES_META_KEY];
      if (capabilities?.roots === undefined) return [];
      const answer = inputResponse(inputResponses, QUESTION);
      if (answer.kind === "missing") throw new RootsNeeded();
      return answer.kind === "roots" ? directoriesOf(answer.roots) : [];
    }
    if (this.#server.server.getClientCapabilities()?.roots === undefined) return [];
    return await (this.#known ??= this.#ask());
  }

  async #ask(): Promise<string[]> {
    try {
      const request = { method: "roots/list" };
      const { roots } = await this.#server.server.request(request, ANSWER, { timeout: PATIENCE_MS });
      return directoriesOf(roots);
    } catch (error) {
      this.#known = undefined;
      log("warn", `the client did not tell its roots: ${messageOf(error)}`);
      return [];
    }
  }
}

/** What a client sends is not checked by anybody before. */
function directoriesOf(roots: unknown): string[] {
  if (!Array.isArray(roots)) return [];
  return roots.slice(0, MOST_ROOTS).flatMap((root) => {
    const uri = (root as { uri?: unknown } | null)?.uri;
    if (typeof uri !== "string" || !/^file:\/\//i.test(uri)) return [];
    try {
      return [fileURLToPath(uri).replace(/(?<=[^/\\:])[/\\]+$/, "")];
    } catch {
      log("warn", `a root of the client is no path of this machine: ${uri}`);
      return [];
    }
  });
}
