import { type Exchange, isObject, nulls, ok, type Reply, type RouteTable } from "../exchange";

/** What a server with `--runner pooling` answers; a chat model's server has no such routes. */
export const pooling: RouteTable = {
  "POST /v1/embeddings": embeddings,
  "POST /v1/rerank": rerank,
};

const DIMENSIONS = 8;

/**
 * Counts the words of a text by their letters, so that texts with the same words are near each
 * other.
 */
function vectorOf(text: string): number[] {
  const vector = Array.from({ length: DIMENSIONS }, () => 0);
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    const at = [...word].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % DIMENSIONS;
    vector[at] = (vector[at] ?? 0) + 1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((figure) => figure / length);
}

function embeddings({ body, server }: Exchange): Reply {
  const texts = Array.isArray(body.input) ? body.input.map(String) : [String(body.input)];
  return ok({
    id: "embd-stand-in",
    object: "list",
    created: 1_780_000_000,
    model: server.args.servedNames[0],
    data: texts.map((text, index) => ({ index, object: "embedding", embedding: vectorOf(text) })),
    usage: {
      ...{ prompt_tokens: texts.length * 8, total_tokens: texts.length * 8, completion_tokens: 0 },
      ...nulls("prompt_tokens_details", "completion_tokens_details"),
    },
  });
}

function rerank({ body, server }: Exchange): Reply {
  const query = vectorOf(String(body.query));
  const documents = Array.isArray(body.documents) ? body.documents : [];
  const results = documents
    .map((document, index) => {
      const text = isObject(document) ? String(document.text) : String(document);
      const score = vectorOf(text).reduce((sum, figure, at) => sum + figure * (query[at] ?? 0), 0);
      return { index, document: { text, multi_modal: null }, relevance_score: score };
    })
    .sort((a, b) => b.relevance_score - a.relevance_score);
  return ok({
    id: "score-stand-in",
    model: server.args.servedNames[0],
    usage: { prompt_tokens: documents.length * 16, total_tokens: documents.length * 16 },
    results,
  });
}
