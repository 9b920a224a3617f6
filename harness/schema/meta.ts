import type {} from "zod";

/** What a schema may say of a key besides its description and `examples`; the reference shows it and the layers use it. */
export interface KeyNotes {
  /** Unit of a number: `seconds`, `tokens`, `USD`. */
  unit?: string;
  /** Environment variable of the key, without the harness's prefix. */
  variable?: string;
  /** The value is a secret: it is refused in a file and never shown. */
  secret?: boolean;
  /** The key is known only to be refused; the text says why. */
  refused?: string;
  /** The specification lists the key without a meaning: the description is ours. */
  ours?: boolean;
  /** What stands for a free key of a map in the reference: `provider` is shown as `<provider>`. */
  placeholder?: string;
}

/** The names of the notes, which no published JSON Schema may hold since validators refuse unknown keywords. */
export const KEY_NOTES: readonly (keyof KeyNotes)[] = [
  "unit",
  "variable",
  "secret",
  "refused",
  "ours",
  "placeholder",
];

declare module "zod" {
  interface GlobalMeta extends KeyNotes {}
}
