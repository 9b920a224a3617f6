import { analyticsSchema } from "./schema";
import { renderDocument } from "./setKey";

/** The text of a new session-analytics file: the blocks that people set first, at their defaults. */
export function analyticsTemplate(prefix: string): string {
  const { redaction_mode, embedding, judge, sources } = analyticsSchema.parse({});
  return renderDocument({
    _comment: [
      "Session analytics of the harness. A key that is not here has its default.",
      "Every key with its default and variable: docs/reference/session-analytics.md",
      "Effective values and where each comes from: serving config show analytics",
      `Secrets never stand here. The judge's key comes from the variable ${prefix}SA_JUDGE_API_KEY.`,
    ],
    redaction_mode,
    sources,
    judge: {
      default: judge.default,
      base_url: judge.base_url,
      ollama_url: judge.ollama_url,
    },
    embedding: { backend: embedding.backend, model: embedding.model, ollama_url: embedding.ollama_url },
  });
}
