import type { JsonObject } from "./json";
import { GREETING } from "./prompts";
import { messagesTool, type OfferedTool } from "./tools";

export const MESSAGES = "/v1/messages";

/** Date of the messages surface that clients name. */
export const MESSAGES_VERSION = { "anthropic-version": "2023-06-01" };

/** What a probe decides of a request. */
export interface MessagesShape {
  readonly model: string;
  readonly maxTokens: number;
  /** Tells a thinking model not to, where the answer's text is all that counts. */
  readonly withoutThinking?: boolean;
  readonly tools?: readonly OfferedTool[];
  readonly messages?: readonly JsonObject[];
}

/**
 * A request as Claude Code shapes it: the system text as a list of blocks, one of them marked for the cache, metadata,
 * tools with input_schema. Without the billing header, which our settings switch off.
 */
export function claudeCodeBody({
  model,
  maxTokens,
  withoutThinking,
  tools = [],
  messages,
}: MessagesShape): JsonObject {
  return {
    model,
    max_tokens: maxTokens,
    temperature: 0,
    system: [
      { type: "text", text: "You are a coding agent." },
      {
        type: "text",
        text: "Work with the tools that are offered. Be brief.",
        cache_control: { type: "ephemeral" },
      },
    ],
    messages: messages ?? [userTurn(GREETING)],
    ...(withoutThinking === true ? { chat_template_kwargs: { enable_thinking: false } } : {}),
    metadata: { user_id: "serving-verify" },
    ...(tools.length === 0 ? {} : { tools: tools.map(messagesTool) }),
  };
}

export const userTurn = (text: string) => ({ role: "user", content: [{ type: "text", text }] });
