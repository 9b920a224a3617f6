import type { JsonObject } from "./json";
import { GREETING, SHORT_ANSWER_TOKENS } from "./prompts";
import { messagesTool, type OfferedTool } from "./tools";

export const MESSAGES = "/v1/messages";

/** Headers of the messages surface; servers ignore the key's value, clients send one. */
export const MESSAGES_HEADERS = {
  "anthropic-version": "2023-06-01",
  "x-api-key": "local-serving-placeholder",
};

interface Shape {
  readonly model: string;
  readonly tools?: readonly OfferedTool[];
  readonly messages?: readonly JsonObject[];
}

/**
 * A request as Claude Code shapes it: the system text as a list of blocks, one of them marked for the cache, metadata,
 * tools with input_schema. Without the billing header, which our settings switch off.
 */
export function claudeCodeBody({ model, tools = [], messages }: Shape): JsonObject {
  return {
    model,
    max_tokens: SHORT_ANSWER_TOKENS,
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
    metadata: { user_id: "serving-verify" },
    ...(tools.length === 0 ? {} : { tools: tools.map(messagesTool) }),
  };
}

export const userTurn = (text: string) => ({ role: "user", content: [{ type: "text", text }] });
