import { isRecord } from "../../faults/json";

/** The context window of a model's config.json in tokens; `undefined` where it names none, or scales it by its positions. */
export function ownWindow(config: unknown): number | undefined {
  const root = isRecord(config) ? config : {};
  const text = isRecord(root.text_config) ? root.text_config : root;
  const scaled = [text.rope_scaling, text.rope_parameters].some((rope) =>
    /"factor":/.test(JSON.stringify(rope) ?? ""),
  );
  const { max_position_embeddings: window } = text;
  return typeof window === "number" && !scaled ? window : undefined;
}
