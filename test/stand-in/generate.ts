import { checkLength, checkModel, RefusedRequest } from "./errors";
import { type Exchange, isObject, type JsonObject, objects } from "./exchange";
import { reusedTokens } from "./prefixCache";

/** A tool that a request offers, the same whatever API it came through. */
export interface Tool {
  readonly name: string;
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject;
}

/** A request, the same whatever API it came through. */
export interface Prompt {
  readonly text: string;
  /** Output tokens asked for; without it what is left of the context. */
  readonly maxTokens: number | undefined;
  readonly tools: readonly Tool[];
  /** `true` when the last turn holds a tool's result: then the answer is text. */
  readonly answersTool: boolean;
  /** `false` when the request switched thinking off. */
  readonly thinking: boolean;
}

export interface Generation {
  readonly text: string;
  readonly reasoning: string | undefined;
  readonly toolCall: { readonly name: string; readonly arguments: string } | undefined;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** One word is one token here, so that a test can say exactly how long its prompt is. */
export function countTokens(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}

/**
 * Codes in a prompt, which the model that is not there repeats: so that a test can tell what
 * reached it.
 */
const CODE = /\bQX-[0-9A-F]{6}\b/g;

/** Tokens that a tokenizer with a truncation of its own lets through. */
const TRUNCATION_TOKENS = 2048;

/**
 * What the model that is not there would say: a greeting, the codes that stand in the prompt, and
 * where tools are offered a call of the one that the prompt names, else of the first.
 */
export function generate(exchange: Exchange, prompt: Prompt): Generation {
  checkModel(exchange);
  const { args, counts, fault } = exchange.server;
  // As a template does it, the tools come first.
  const tools = prompt.tools.map((tool) => JSON.stringify(tool)).join(" ");
  const words = `${tools} ${prompt.text}`.split(/\s+/).filter(Boolean);
  if (fault === "truncation-2048") words.splice(TRUNCATION_TOKENS);
  const promptTokens = words.length;
  if (fault !== "no-window-rule") checkLength(exchange, promptTokens, prompt.maxTokens ?? 0);
  counts.prefixQueries += promptTokens;
  counts.prefixHits += fault === "zero-prefix-hits" ? 0 : reusedTokens(exchange.server, words);
  const tool = prompt.answersTool ? undefined : toolToCall(prompt.tools, prompt.text);
  if (tool !== undefined && !args.autoToolChoice) {
    throw new RefusedRequest(
      400,
      "BadRequestError",
      '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    );
  }
  const said = [
    "Hello",
    "from",
    args.servedNames[0],
    ...new Set(words.join(" ").match(CODE) ?? []),
  ];
  const thoughts = prompt.thinking ? "A greeting is enough." : undefined;
  // Without a parser a model that thinks leaves its thoughts in the text.
  const left = thoughts !== undefined && fault === "no-reasoning-parser";
  const answer = [...(left ? [`${thoughts}\n</think>\n\n`] : []), ...said];
  const text =
    tool === undefined ? answer.slice(0, prompt.maxTokens ?? answer.length).join(" ") : "";
  const reasoning = args.reasoningParser === undefined ? undefined : thoughts;
  const toolCall =
    tool === undefined
      ? undefined
      : { name: tool.name, arguments: JSON.stringify(exampleOf(tool.parameters)) };
  const completionTokens = countTokens(
    [text, reasoning ?? "", toolCall?.arguments ?? ""].join(" "),
  );
  counts.requests += 1;
  counts.promptTokens += promptTokens;
  counts.generationTokens += completionTokens;
  return { text, reasoning, toolCall, promptTokens, completionTokens };
}

function toolToCall(tools: readonly Tool[], text: string): Tool | undefined {
  return tools.find((tool) => new RegExp(`\\b${tool.name}\\b`).test(text)) ?? tools[0];
}

/** The text of a message's content, which may be plain or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return objects(content)
    .map((part) => (typeof part.text === "string" ? part.text : textOf(part.content)))
    .join(" ");
}

/** A value that fits a JSON Schema: every property with a fitting value. */
function exampleOf(schema: unknown): unknown {
  if (!isObject(schema)) return "example";
  if (Array.isArray(schema.enum)) return schema.enum[0];
  switch (schema.type) {
    case "number":
    case "integer":
      return 1;
    case "boolean":
      return true;
    case "array":
      return [exampleOf(schema.items)];
    case "object":
    case undefined:
      return Object.fromEntries(
        Object.entries(isObject(schema.properties) ? schema.properties : {}).map(
          ([name, property]) => [name, exampleOf(property)],
        ),
      );
    default:
      return "example";
  }
}

/** A number of tokens in a request's body, `undefined` where there is none. */
export function tokens(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** Text cut where a stream would cut it; the pieces joined give the text back. */
export function pieces(text: string): string[] {
  return text.match(/\S+\s*/g) ?? [];
}

/** A tool call's arguments as they come in the worst case: one character a piece. */
export function letters(text: string): string[] {
  return [...text];
}
