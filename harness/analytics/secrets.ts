import { holdsCredentials } from "../credentials";
import { type ConcreteKey, findKey } from "./keys";

/** What is shown in the place of a secret that is set. */
export const HIDDEN = "<set>";

/** A value as it may be shown: a secret, or an address with a password in it, only as set. */
export function shown(name: string, value: unknown): unknown {
  if (value === "" || value === undefined) return value;
  const secret = findKey(name)?.secret === true;
  return secret || mentionsCredentials(value) ? HIDDEN : value;
}

/** `true` when text, or a text in a list, carries a user's password. */
export function mentionsCredentials(value: unknown): boolean {
  if (typeof value === "string") return holdsCredentials(value);
  return Array.isArray(value) && value.some(mentionsCredentials);
}

/** What to do with a secret instead of writing it down. */
export function secretRemedy(key: ConcreteKey, prefix: string): string {
  return key.variable === undefined
    ? "A password never stands here: keep it out of the value."
    : `A secret is set in the environment only, by the variable ${prefix}${key.variable}.`;
}
