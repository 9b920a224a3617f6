import { type JsonObject, objectsIn } from "@local-serving/base/faults/json";
import { quote } from "../../sees/answer";
import { fail, pass, type Verdict } from "../probe";
import type { ProbesOf, ServerTarget } from "../target";
import { modelName } from "./asking";

/** Why a probe of another kind of model is left out. */
const only = (kind: "embedding" | "rerank") => (target: ServerTarget) =>
  target.server.model.kind === kind
    ? undefined
    : `its model is of kind ${target.server.model.kind}`;

const SEARCH = {
  query: "When does the cat sleep?",
  documents: [
    "The cat sleeps at noon, when the roof is warm.",
    "The invoice is due within thirty days.",
  ],
};

/**
 * The vectors in an answer of an OpenAI-style /v1/embeddings, in the order of its texts;
 * `undefined` where one is none.
 */
export function vectorsIn(body: JsonObject): readonly (readonly number[])[] | undefined {
  const vectors = objectsIn(body.data).map(({ embedding }) => embedding);
  return vectors.length > 0 && vectors.every(isVector) ? vectors : undefined;
}

export const isVector = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.length > 0 && value.every((each) => Number.isFinite(each));

/** Places and scores of the documents in an answer of /v1/rerank, best first as it was given. */
function rankingIn(
  body: JsonObject,
): readonly { readonly index: unknown; readonly score: number }[] {
  return objectsIn(body.results).flatMap(({ index, relevance_score: score }) =>
    typeof score === "number" && Number.isFinite(score) ? [{ index, score }] : [],
  );
}

function judgeRanking(body: JsonObject, { setting }: ServerTarget): Verdict {
  const ranking = rankingIn(body);
  const [first, second] = ranking;
  if (ranking.length !== SEARCH.documents.length || first === undefined || second === undefined)
    return fail(`it did not score each document: \`${quote(JSON.stringify(body))}\``);
  const scores = ranking
    .map(({ index, score }) => `${String(index)}: ${score.toPrecision(3)}`)
    .join(", ");
  if (first.index === 0 && first.score > second.score) return pass(`document and score: ${scores}`);
  const fix = `See ${setting("model.id")}: the model is not a reranker, or its card names \`--hf-overrides\` that ${setting("extraArgs")} lacks.`;
  return fail(
    `the document that answers the question is not first (document and score: ${scores})`,
    fix,
  );
}

/** What models answer that write no text. */
export const poolingProbes: ProbesOf<"inference-server"> = [
  {
    name: "embeddings",
    about: "POST /v1/embeddings makes one vector for each text (embedding models)",
    skip: only("embedding"),
    fix: ({ setting }) =>
      `See ${setting("model")}: \`kind: embedding\` is for a model that makes vectors.`,
    run: async (target) => {
      const model = await modelName(target);
      const body = await target.api.json("/v1/embeddings", { model, input: SEARCH.documents });
      const vectors = vectorsIn(body);
      const [one, other] = vectors ?? [];
      if (vectors?.length !== SEARCH.documents.length || one?.length !== other?.length)
        return fail(`it did not make one vector for each text: \`${quote(JSON.stringify(body))}\``);
      if (one?.every((figure, at) => figure === other?.[at]) === true)
        return fail("two different texts get the same vector");
      return pass(`${one?.length} dimensions`);
    },
  },
  {
    name: "rerank",
    about: "POST /v1/rerank ranks the document that answers a question first (rerank models)",
    skip: only("rerank"),
    fix: ({ setting }) =>
      `See ${setting("model")}: \`kind: rerank\` is for a model that compares texts.`,
    run: async (target) => {
      const model = await modelName(target);
      return judgeRanking(await target.api.json("/v1/rerank", { model, ...SEARCH }), target);
    },
  },
];
