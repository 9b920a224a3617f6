/** A JSON object whose content is not known yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The objects of a list; nothing where it is no list. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The value as an object, empty where it is none: a missing part reads as a part without content. */
export function objectOr(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The value as text, `""` where it is none. */
export function textOr(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Text of JSON as a value; `undefined` where it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
