import { type ConcreteKey, complaints, type Kind } from "./keys";

/** The value of a text, or why it has none, in a sentence that doesn't repeat the text. */
export type FromText = { readonly value: unknown } | { readonly wrong: string };

/** Text that is a number from its first to its last character. */
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/**
 * The value of a key that comes as text, from a variable or an argument. Lists are separated by commas, or one JSON
 * array. A numeric key takes text that is wholly a number.
 */
export function valueFromText(key: ConcreteKey, text: string): FromText {
  const read = parse(key.kind, text);
  if ("wrong" in read) return read;
  const [complaint] = complaints(key, read.value);
  return complaint === undefined ? read : { wrong: complaint };
}

function parse(kind: Kind, text: string): FromText {
  switch (kind) {
    case "text":
      return { value: text };
    case "integer":
    case "number":
    case "number-or-empty":
      if (kind === "number-or-empty" && text === "") return { value: "" };
      return NUMBER.test(text.trim()) && Number.isFinite(Number(text))
        ? { value: Number(text) }
        : { wrong: "The text is not wholly a number." };
    case "list":
      return text.trimStart().startsWith("[") ? jsonList(text) : { value: commaList(text) };
    case "records":
      return jsonList(text);
  }
}

function commaList(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function jsonList(text: string): FromText {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return { value };
  } catch {
    // The same complaint as for JSON that isn't a list.
  }
  return {
    wrong: "Expected a list: a JSON array, or texts with commas between them where the key holds texts.",
  };
}
