/** What a tool is: data, one function that does the work, one that writes it out for a reader. */
import type * as z from "zod";
import type { App } from "../app.ts";
import type { Workspace } from "../workspace/workspace.ts";

/** The toolsets, in the order in which their tools are listed. */
export const TOOLSETS = ["sessions", "git", "remotes", "browse", "files", "shell"] as const;

/** One of {@linkcode TOOLSETS}. */
export type Toolset = (typeof TOOLSETS)[number];

/** The four hints of MCP's ToolAnnotations, all of them always given. */
export interface Hints {
  readOnly: boolean;
  destructive: boolean;
  idempotent: boolean;
  openWorld: boolean;
}

/** What a tool gets with each call. */
export interface ToolContext {
  app: App;
  /** Where the call may act, and which roots it means. */
  workspace: Workspace;
  /** Fires when the caller cancels or goes away. */
  signal: AbortSignal;
  /** Tells the caller how far the work is; throttled, and nothing when nobody asked. */
  progress(done: number, total?: number, message?: string): void;
}

/** A tool. */
export interface Tool<In extends z.ZodObject = z.ZodObject, Out extends z.ZodObject = z.ZodObject> {
  name: string;
  toolset: Toolset;
  title: string;
  /** For the agent, which pays for every word of it: under 1,000 characters. */
  description: string;
  hints: Hints;
  input: In;
  output: Out;
  /** Does the work; throws ToolError. */
  run(input: z.output<In>, context: ToolContext): Promise<z.input<Out>>;
  /** The payload for a reader; has to carry every fact of it. */
  render(payload: z.input<Out>): string;
}

/** Types a tool by its schemas. */
export function defineTool<In extends z.ZodObject, Out extends z.ZodObject>(tool: Tool<In, Out>): Tool {
  return tool as unknown as Tool;
}
