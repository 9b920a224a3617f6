/**
 * What a server's model does. `chat` and `base` write text; `embedding` and `rerank` answer with
 * figures, and vLLM runs them with its pooling runner.
 */
export const MODEL_KINDS = ["chat", "base", "embedding", "rerank"] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

/** Whether vLLM runs such a model with its pooling runner: it writes no text. */
export const isPooling = (kind: ModelKind): boolean => kind === "embedding" || kind === "rerank";
