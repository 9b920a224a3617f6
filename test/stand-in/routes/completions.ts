import { type Exchange, ok, type Reply, type RouteTable } from "../exchange";
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
    model: server.args.servedNames[0],
  };
  const finish = made.completionTokens >= maxTokens ? "length" : "stop";
  const choice = (text: string, finish_reason: string | null) => ({
    index: 0,
    text,
    logprobs: null,
    finish_reason,
  });
  if (body.stream !== true) return ok({ ...head, choices: [choice(made.text, finish)], usage: usage(made) });
  return {
    status: 200,
    stream: [
      ...pieces(made.text).map((piece) => ({ data: { ...head, choices: [choice(piece, null)] } })),
      { data: { ...head, choices: [choice("", finish)] } },
      { data: "[DONE]" },
    ],
  };
}

/** Token counts as OpenAI's completion routes give them. */
export function usage(made: Generation) {
  return {
    prompt_tokens: made.promptTokens,
    completion_tokens: made.completionTokens,
    total_tokens: made.promptTokens + made.completionTokens,
  };
}
