import { errorAt, type Fault } from "../../faults/fault";
import { putAt, readSetting } from "./configuration";
import { analyticsSchema } from "./schema";

/** A document with one key set, or why that is refused. */
export type SetResult = { readonly document: Record<string, unknown> } | { readonly fault: Fault };

/** Sets one key of a session-analytics document, typed as the schema wants it; other keys keep their order. */
export function setKey(
  document: Readonly<Record<string, unknown>>,
  name: string,
  text: string,
  prefix: string,
): SetResult {
  const read = readSetting(name, text, prefix);
  if ("fault" in read) return read;
  const copy = structuredClone(document) as Record<string, unknown>;
  const noBlock = putAt(copy, read.key.path, read.value);
  const message = `\`${noBlock}\` is not a map in this file, so nothing can be set in it.`;
  return noBlock === undefined ? { document: copy } : { fault: errorAt(name, "wrong_type", message) };
}

/** How the file is written: two spaces, a newline at its end. */
export const renderDocument = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`;

/** The text of a new session-analytics file: the blocks that people set first, at their defaults. */
export function analyticsTemplate(prefix: string): string {
  const { redaction_mode, embedding, judge, sources } = analyticsSchema.parse({});
  return renderDocument({
    _comment: [
      "Session analytics of the harness. A key that is not here has its default.",
      "Every key with its default and variable: docs/reference/session-analytics.md",
      "Effective values and where each comes from: serving config show analytics",
      `Secrets never go here. The judge's key comes from the variable ${prefix}SA_JUDGE_API_KEY.`,
    ],
    redaction_mode,
    sources,
    judge: { default: judge.default, base_url: judge.base_url, ollama_url: judge.ollama_url },
    embedding: { backend: embedding.backend, model: embedding.model, ollama_url: embedding.ollama_url },
  });
}
