import type { ServerArguments } from "./arguments";
import type { FaultName } from "./faults";

/** What a route is given: the parsed body of a request and the server it was sent to. */
export interface Exchange {
  readonly body: JsonObject;
  readonly server: ServerState;
  /** The header with the client's key. */
  readonly authorization: string | undefined;
}

/** The name that an answer carries: the adapter's that was asked for, else the first served. */
export function answeringName({ body, server: { args } }: Exchange): string {
  const { model } = body;
  return typeof model === "string" && args.adapters.has(model) ? model : args.servedNames[0];
}

export type JsonObject = Record<string, unknown>;

/** What is known of a running stand-in. */
export interface ServerState {
  readonly args: ServerArguments;
  readonly version: string;
  /** Requests of full length that fit into its KV cache. */
  readonly kvConcurrency: number;
  readonly counts: {
    requests: number;
    /** Of these, those that are being answered. */
    running: number;
    promptTokens: number;
    generationTokens: number;
    prefixQueries: number;
    prefixHits: number;
    paths: Map<string, number>;
  };
  /** Words of earlier prompts, which the prefix cache holds. */
  readonly seenPrompts: string[][];
  /** Lets go each request that is held. */
  readonly waiting: (() => void)[];
  /** How this server fails; `undefined` for a healthy one. */
  readonly fault: FaultName | undefined;
}

/**
 * One server-sent event; vLLM names events on /v1/responses and /v1/messages, and not on the OpenAI
 * routes.
 */
export interface StreamEvent {
  readonly event?: string;
  readonly data: JsonObject | "[DONE]";
}

export type Reply =
  | { readonly status: number; readonly json: JsonObject }
  | {
      readonly status: number;
      readonly text: string;
      /** Its headers; by default those of plain text. */
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly status: number; readonly stream: readonly StreamEvent[] };

export type Route = (exchange: Exchange) => Reply;

/**
 * Routes by method and path (`POST /v1/chat/completions`). A failing form replaces one of these.
 */
export type RouteTable = Readonly<Record<string, Route>>;

/** Fields that vLLM writes and that say nothing here. */
export const nulls = (...names: string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, null]));

export const ok = (json: JsonObject): Reply => ({ status: 200, json });

/** The objects in a list of a request's body; anything else is left out. */
export function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
