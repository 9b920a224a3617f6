import { errorAt, type Fault } from "../../faults/fault";
import { isRecord } from "../../faults/json";
import { secretText, unknownKey } from "./configuration";
import { findKey, valueFromText } from "./keys";
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
  const key = findKey(name);
  if (key === undefined) return { fault: unknownKey(name) };
  const secret = secretText(key, text, prefix);
  if (secret !== undefined) return { fault: secret };
  const read = valueFromText(key, text);
  if ("wrong" in read) return { fault: errorAt(name, "wrong_value", read.wrong) };
  const copy = structuredClone(document) as Record<string, unknown>;
  let at = copy;
  for (const step of key.path.slice(0, -1)) {
    if (!Object.hasOwn(at, step)) at[step] = {};
    const inner = at[step];
    if (isRecord(inner)) at = inner as Record<string, unknown>;
    else {
      const message = `\`${step}\` is not a map in this file, so nothing can be set in it.`;
      return { fault: errorAt(name, "wrong_type", message) };
    }
  }
  at[key.path.at(-1) ?? ""] = read.value;
  return { document: copy };
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
