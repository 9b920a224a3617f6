/** Whether a parsed value is a map of keys to values: no list, no text. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
