import { type JsonObject, objectsIn, textOr } from "@local-serving/base/faults/json";
import { ask, NoAnswer } from "@local-serving/base/http/ask";
import { BadAnswer, quote } from "../../sees/answer";
import type { Api } from "../../sees/api";
import type { Host } from "../../sees/host";
import { fail, type Verdict } from "../probe";
import type { Answer, Question, Surface } from "../surfaces/surface";
import type { ServerTarget } from "../target";
import { answerTokens } from "../tools";

/** What to look at where an answer isn't one that the probe can judge. */
export const asItSays = (): string => "What it answers and its log say why.";

/** Why a probe that needs a chat template is left out. */
export const chatOnly = ({ server: { model } }: ServerTarget) =>
  model.kind === "chat"
    ? undefined
    : `its model isn't a chat model (\`model.kind: ${model.kind}\`)`;

/** Most tokens that a word of a probe's text takes. */
const MOST_TOKENS_PER_WORD = 1.3;

/** Why a prompt of so many words can't be asked, with so many tokens beside it. */
export const fitting = (words: number, room: number) => (target: ServerTarget) => {
  const needed = Math.ceil(words * MOST_TOKENS_PER_WORD) + room;
  return (
    chatOnly(target) ??
    (target.maxModelLen >= needed
      ? undefined
      : `its window of ${target.maxModelLen} tokens is too short for a prompt of ${words} words (about ${needed} tokens with the answer)`)
  );
};

/** Why a probe of thinking is left out. */
export const thinkingOnly = (target: ServerTarget) =>
  chatOnly(target) ?? (target.server.model.thinking ? undefined : "its model has no thinking mode");

/**
 * Seconds that an address of this very machine gets; a firewall that drops answers nothing at all.
 */
const ADDRESS_SECONDS = 3;

/**
 * What each address of the network got from a port: a status, `other` where something else answers,
 * nothing where nobody does.
 */
export async function askOnTheNetwork({ lanAddresses }: Host, port: number, path: string) {
  const answers = await Promise.all(
    (await lanAddresses()).map(async (address): Promise<[string, number | "other"][]> => {
      try {
        const { status } = await ask(`http://${address}:${port}${path}`, {
          timeoutSeconds: ADDRESS_SECONDS,
        });
        return [[address, status]];
      } catch (error) {
        const nobody = error instanceof NoAnswer && ["refused", "timeout"].includes(error.reason);
        return nobody ? [] : [[address, "other"]];
      }
    }),
  );
  return new Map(answers.flat());
}

/** Entries of /v1/models, the canonical one first. */
export async function servedModels(api: Api): Promise<JsonObject[]> {
  const listed = objectsIn((await api.json("/v1/models")).data);
  if (listed.length === 0) throw new BadAnswer("/v1/models lists no model");
  return listed;
}

/** The declared name, or the first that is served: one wrong name must not fail forty probes. */
export async function modelName({ api, server }: ServerTarget): Promise<string> {
  const ids = (await servedModels(api)).map((each) => textOr(each.id));
  return ids.includes(server.servedModelName)
    ? server.servedModelName
    : (ids[0] ?? server.servedModelName);
}

/**
 * A request for a short answer. A thinking model is asked not to think, unless the question says
 * otherwise.
 */
export const questionOf = async (
  target: ServerTarget,
  question: Partial<Question> = {},
): Promise<Question> => ({
  model: question.model ?? (await modelName(target)),
  maxTokens: answerTokens(target.maxModelLen, false, target.moreTokens),
  thinking: target.server.model.thinking ? false : undefined,
  ...question,
});

/** How an agent asks: it leaves the thinking to the model, and room for it. */
export const asAgent = ({ maxModelLen, moreTokens, server }: ServerTarget): Partial<Question> => ({
  maxTokens: answerTokens(maxModelLen, server.model.thinking, moreTokens),
  thinking: undefined,
});

/** An answer that was cut off shows neither a text nor a call. */
export const cutOff = ({ shape, tokens: { completion } }: Answer): Verdict => ({
  ...fail(
    `it was cut off after ${completion} tokens (${quote(shape)})`,
    "Check `max_new_tokens` in the model's generation_config.json, and whether the model ends its answers at all.",
  ),
  cut: true,
});

/** The answer of a server to a question on one of its APIs. */
export async function answerOf(
  target: ServerTarget,
  surface: Surface,
  question?: Partial<Question>,
  streamed = false,
) {
  const { ask, path, read, readStream } = surface;
  const body = ask(await questionOf(target, question));
  return streamed
    ? readStream(await target.api.stream(path, { ...body, ...surface.streamed }))
    : read(await target.api.json(path, body));
}
