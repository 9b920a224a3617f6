import type { Exchange, Reply } from "./exchange";

/** A refusal of a request. Each API has its own shape for it; the words are vLLM's. */
export class RefusedRequest extends Error {
  constructor(
    readonly status: number,
    readonly type: string,
    message: string,
    readonly param: string | null = null,
  ) {
    super(message);
  }
}

/** The refusal in OpenAI's shape, or in Anthropic's on its routes. */
export function refusal(path: string, error: RefusedRequest): Reply {
  const { status, type, message, param } = error;
  const json = path.startsWith("/v1/messages")
    ? { type: "error", error: { type, message } }
    : { error: { message, type, param, code: status } };
  return { status, json };
}

export function checkModel({ body, server }: Exchange): void {
  const asked = body.model;
  if (asked === undefined || server.args.servedNames.some((name) => name === asked)) return;
  throw new RefusedRequest(404, "NotFoundError", `The model \`${String(asked)}\` does not exist.`, "model");
}

/** Refuses a prompt that, with the output asked for, is longer than the context. */
export function checkLength({ server }: Exchange, input: number, output: number): void {
  const limit = server.args.maxModelLen;
  const total = input + output;
  if (total <= limit) return;
  throw new RefusedRequest(
    400,
    "BadRequestError",
    `This model's maximum context length is ${limit} tokens. However, you requested ${output} output tokens and ` +
      `your prompt contains ${input} input tokens, for a total of ${total} tokens. Please reduce the length of ` +
      "the input prompt or the number of requested output tokens.",
    "input_tokens",
  );
}
