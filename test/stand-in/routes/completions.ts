import {
  answeringName,
  type Exchange,
  type JsonObject,
  nulls,
  ok,
  type Reply,
  type RouteTable,
} from "../exchange";
import { type Generation, generate, pieces, tokens } from "../generate";

/** vLLM's default output length on this route, in tokens. */
const DEFAULT_MAX_TOKENS = 16;

/** OpenAI's plain completion, which base models are addressed by. */
export const completions: RouteTable = { "POST /v1/completions": complete };

function complete(exchange: Exchange): Reply {
  const { body, server } = exchange;
  const prompt = Array.isArray(body.prompt) ? body.prompt.join(" ") : String(body.prompt ?? "");
  const maxTokens = tokens(body.max_tokens) ?? DEFAULT_MAX_TOKENS;
  const made = generate(exchange, {
    text: prompt,
    maxTokens,
    tools: [],
    answersTool: false,
    thinking: false,
  });
  const head = {
    id: "cmpl-stand-in",
    object: "text_completion",
    created: 1_780_000_000,
    model: answeringName(exchange),
  };
  const finish = made.completionTokens >= maxTokens ? "length" : "stop";
  const choice = (text: string, finish_reason: string | null) => ({
    index: 0,
    text,
    logprobs: null,
    finish_reason,
  });
  const choices = [
    {
      ...choice(made.text, finish),
      ...nulls(...CHOICE_NULLS, "prompt_logprobs", "prompt_token_ids"),
    },
  ];
  if (body.stream !== true)
    return ok({
      ...head,
      choices,
      ...wholeAnswer(server.version),
      usage: { ...usage(made), ...nulls("prompt_tokens_details", "completion_tokens_details") },
    });
  return {
    status: 200,
    stream: [
      ...pieces(made.text).map((piece) => ({ data: { ...head, choices: [choice(piece, null)] } })),
      { data: { ...head, choices: [choice("", finish)] } },
      { data: "[DONE]" },
    ],
  };
}

/** Fields of a choice that comes as a whole. */
export const CHOICE_NULLS = ["stop_reason", "token_ids", "routed_experts"] as const;

/** Fields of an answer that comes as a whole. */
export const wholeAnswer = (version: string): JsonObject => ({
  ...nulls("service_tier", "kv_transfer_params", "ec_transfer_params", "metrics"),
  system_fingerprint: fingerprint(version),
});

export const fingerprint = (version: string) => `vllm-${version}-5ca1ab1e`;

/** Token counts as OpenAI's completion routes give them. */
export function usage(made: Generation) {
  return {
    prompt_tokens: made.promptTokens,
    completion_tokens: made.completionTokens,
    total_tokens: made.promptTokens + made.completionTokens,
  };
}
