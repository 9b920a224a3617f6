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
 * What Claude Code 2.1 sends with every request that has tools, seen in a run: it thinks as much as it likes, asks for much
 * effort and keeps its earlier thoughts. A server that refuses one of them is of no use to it.
 */
const AGENT_FIELDS: JsonObject = {
  thinking: { type: "adaptive" },
  output_config: { effort: "high" },
  context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
};

/**
 * A request as Claude Code shapes it: the system text as a list of blocks, one of them marked for the cache, metadata,
 * tools with input_schema and what goes with them. Without the billing header, which our settings switch off.
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
    ...(tools.length === 0 ? {} : { tools: tools.map(messagesTool), ...AGENT_FIELDS }),
  };
}

export const userTurn = (text: string) => ({ role: "user", content: [{ type: "text", text }] });
