import type { JsonObject } from "@local-serving/base/faults/json";
import type { ServerEvent } from "../../sees/api";
import type { OfferedTool } from "../tools";

/** A request, whatever the API. */
export interface Question {
  readonly model: string;
  readonly maxTokens: number;
  /** A user's text, or turns in the API's own form; a greeting if left out. */
  readonly turns?: string | readonly JsonObject[];
  readonly tools?: readonly OfferedTool[];
  /** Switches the model's thinking; if left out, the request doesn't mention it. */
  readonly thinking?: boolean | undefined;
  readonly more?: JsonObject;
}

/** An answer, whatever the API; whole, or put together from its stream. */
export interface Answer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  /** Why it ended, in the API's own word. */
  readonly stop: string;
  /**
   * How it ended and what it consists of, for a person: `stop_reason max_tokens, blocks: thinking`.
   */
  readonly shape: string;
  /** Name of the model that it is said to be of. */
  readonly model?: string;
  /** Tokens that the server counted, 0 if it says nothing of them. */
  readonly tokens: { readonly prompt: number; readonly completion: number };
}

/** A number of tokens in a server's answer, 0 where it gives none. */
export const tokenCount = (value: unknown): number => (typeof value === "number" ? value : 0);

/** An API of an inference server: how a client asks, and how to read what comes back. */
export interface Surface {
  readonly name: string;
  readonly path: string;
  /** The tools of its tool probes. */
  readonly tools: readonly OfferedTool[];
  /** Whether its agents let a model think before it calls a tool. */
  readonly agentThinks: boolean;
  readonly ask: (question: Question) => JsonObject;
  readonly read: (body: JsonObject) => Answer;
  /** Throws `BadAnswer` if the stream breaks off before its end. */
  readonly readStream: (events: readonly ServerEvent[]) => Answer;
  /** Further fields of a streamed request. */
  readonly streamed?: JsonObject;
  /** `stop` of an answer that calls a tool, if clients rely on it. */
  readonly callStop?: string;
  /** Where an answer holds what, for a person. */
  readonly words: { readonly noCall: string; readonly text: string; readonly reasoning: string };
}

/** The field of requests that switches a thinking model, by its chat template. */
export const thinkingSwitch = (thinking: boolean | undefined): JsonObject =>
  thinking === undefined ? {} : { chat_template_kwargs: { enable_thinking: thinking } };

/** `items: message, function_call`; `items: none`. */
export const partsText = (name: string, types: readonly string[]): string =>
  `${name}: ${types.join(", ") || "none"}`;
