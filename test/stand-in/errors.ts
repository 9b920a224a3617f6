import { gte } from "@renovatebot/pep440";
import type { Exchange, JsonObject, Reply } from "./exchange";

/** A refusal of a request. Each API has its own shape for it; the words are vLLM's. */
export class RefusedRequest extends Error {
  constructor(
    readonly status: number,
    readonly type: string,
    message: string,
    readonly param: string | null = null,
    /** vLLM's own answer to a body that it can't read: in OpenAI's shape on every route. */
    readonly unread = false,
  ) {
    super(message);
  }
}

/** The refusal in OpenAI's shape, or in Anthropic's on its routes. */
export function refusal(path: string, error: RefusedRequest): Reply {
  const { status, type, message, param, unread } = error;
  const json =
    path.startsWith("/v1/messages") && !unread
      ? { type: "error", error: { type, message } }
      : { error: { message, type, param, code: status } };
  return { status, json };
}

export function checkModel({ body, server }: Exchange): void {
  const asked = body.model;
  const { servedNames, adapters } = server.args;
  if (asked === undefined || [...servedNames, ...adapters.keys()].some((name) => name === asked))
    return;
  throw new RefusedRequest(
    404,
    "NotFoundError",
    `The model \`${String(asked)}\` does not exist.`,
    "model",
  );
}

/** Refuses a body without these fields. */
export function checkFields(body: JsonObject, ...fields: string[]): void {
  const missing = fields.find((field) => body[field] === undefined);
  if (missing === undefined) return;
  const input = `<dict of ${Object.keys(body).length} items>`;
  throw unreadBody(
    `body.${missing}`,
    `{'type': 'missing', 'loc': 'body.${missing}', 'msg': 'Field required', 'input': '${input}'}`,
  );
}

export function unreadBody(place: string, fault: string): RefusedRequest {
  return new RefusedRequest(400, "Bad Request", `1 validation error:\n  ${fault}`, place, true);
}

/**
 * Refuses a prompt that, with the output asked for, is longer than the context. vLLM counts no
 * further than it must.
 */
export function checkLength({ server }: Exchange, input: number, output: number): void {
  const limit = server.args.maxModelLen;
  if (output > limit)
    throw new RefusedRequest(
      400,
      "BadRequestError",
      `max_tokens=${output} cannot be greater than max_model_len=max_total_tokens=${limit}. Please request fewer ` +
        `output tokens. (parameter=max_tokens, value=${output})`,
      "max_tokens",
    );
  // From 0.32 on the output is shortened to what the prompt leaves.
  if (input + output <= limit || (input <= limit && gte(server.version, "0.32.0"))) return;
  const counted = limit - output + 1;
  throw new RefusedRequest(
    400,
    "BadRequestError",
    `This model's maximum context length is ${limit} tokens. However, you requested ${output} output tokens and ` +
      `your prompt contains at least ${counted} input tokens, for a total of at least ${limit + 1} tokens. Please ` +
      "reduce the length of the input prompt or the number of requested output tokens. " +
      `(parameter=input_tokens, value=${counted})`,
    "input_tokens",
  );
}
