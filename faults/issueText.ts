import type * as z from "zod";
import { isSlip, mayBeQuoted, nearestKey } from "./quoting";

type Issue = z.core.$ZodIssue;

/**
 * Says why a schema refuses a value, for the person who wrote it: what would be right, and what was
 * given unless that may be a secret. `whole` marks a number that takes no fraction.
 */
export function issueText(value: unknown, issue: Issue, whole: boolean): string {
  // Without a fault of each form (nothing chose one) the schema's own words say which forms there
  // are.
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    const forms = [...new Set(issue.errors.map(([first]) => formText(first)))].join(" or ");
    return value === undefined
      ? `This key is required (${forms}).`
      : `Expected ${forms}, got ${given(value)}.`;
  }
  if (issue.code === "invalid_key") {
    const [first] = issue.issues;
    if (first !== undefined) return `This name can't be used. ${sentence(first.message)}`;
  }
  if (issue.code === "invalid_type") {
    const wanted = whole ? TYPE_WORDS.int : typeWords(issue.expected);
    if (value === undefined) return `This key is required (${wanted}).`;
    if (typeof value === "number" && !Number.isFinite(value) && issue.expected !== "string")
      return "Expected a finite number, not NaN or Infinity.";
    // Digits where text belongs may be a key that lacks its quotes.
    const got =
      issue.expected === "string" && typeof value === "number" ? "a number" : given(value);
    const isPlain = ["number", "boolean"].includes(typeof value) || value instanceof Date;
    const hint =
      issue.expected === "string" && isPlain
        ? " Write it in quotes."
        : quotesHint(value, issue.expected, unitKey(issue), whole);
    return `Expected ${wanted}, got ${got}.${hint}`;
  }
  if (issue.code === "invalid_value") {
    const wanted = choices(issue.values);
    if (value === undefined) return `This key is required (${wanted}).`;
    const near =
      typeof value === "string" ? nearestKey(value, issue.values.map(String)) : undefined;
    const hint = near === undefined ? "" : ` Did you mean \`${near}\`?`;
    const got =
      typeof value === "string" && isSlip(value, near) ? `text (\`${value}\`)` : given(value);
    return `Expected ${wanted}, got ${got}.${quotesHint(value, typeof issue.values[0]) || hint}`;
  }
  const bound = boundText(value, issue);
  if (bound !== undefined) return bound;
  return sentence(issue.message);
}

/** The key whose name says the unit: the last, or of a map's entry the map's. */
const unitKey = ({ path }: Issue): string =>
  path.map(String).findLast((key) => KEY_UNITS.some(([name]) => name.test(key))) ?? "";

const sentence = (text: string): string => (text.endsWith(".") ? text : `${text}.`);

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "`true` or `false`",
  object: "a map",
  record: "a map",
  array: "a list",
};

const typeWords = (expected: string): string => TYPE_WORDS[expected] ?? expected;

const choices = (values: readonly unknown[]): string =>
  values.map((value) => (value === "" ? "empty text" : `\`${String(value)}\``)).join(" or ");

/**
 * A number or flag in quotes is text, and so is a number with a unit: the message says what to
 * write.
 */
function quotesHint(value: unknown, expected: string, key = "", whole = false): string {
  if (typeof value !== "string") return "";
  const isFlag = expected === "boolean" && /^(?:true|false)$/.test(value);
  const isNumber =
    ["number", "int"].includes(expected) && /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(value);
  if (isFlag || isNumber) return " Write it without quotes.";
  const amount = ["number", "int"].includes(expected) ? amountIn(value, key, whole) : undefined;
  return amount === undefined ? "" : ` Write ${amount}.`;
}

const GIB = 1024 ** 3;

/** Bytes of the unit that a key's name ends with. */
const KEY_UNITS = [
  [/GiB$/, GIB],
  [/GB$/, 1e9],
  [/Bytes$/, 1],
] as const;

/**
 * An amount with a unit as the number that a key takes; a unit without `B` is of the key's own
 * kind. `undefined` for what is no such amount.
 */
function amountIn(text: string, key: string, whole: boolean): number | undefined {
  const [, number = "", letter = "", i = "", b = ""] =
    /^(\d+(?:\.\d+)?) ?([kmgt]?)(i?)(b?)$/i.exec(text) ?? [];
  const power = letter === "" ? 0 : "kmgt".indexOf(letter.toLowerCase()) + 1;
  const [, own] = KEY_UNITS.find(([name]) => name.test(key)) ?? [];
  // Whole numbers without a unit in their name count tokens.
  if (number === "" || (power === 0 && b === "") || (own === undefined && !whole)) return undefined;
  const isBinary = i !== "" || (b === "" ? own !== KEY_UNITS[1][1] : false);
  const factor = (isBinary ? 1024 : 1000) ** power / (own ?? 1);
  const amount = Number(number) * factor;
  return whole ? Math.round(amount) : Math.round(amount * 1000) / 1000;
}

/** A bound that was passed; the schema's own words where it has some. */
function boundText(value: unknown, issue: Issue): string | undefined {
  if (issue.code !== "too_small" && issue.code !== "too_big") return undefined;
  if (!issue.message.startsWith("Too ")) return undefined;
  const small = issue.code === "too_small";
  const bound = String(small ? issue.minimum : issue.maximum);
  if (typeof value === "number") {
    const least = issue.inclusive === false ? "more than" : "at least";
    const most = issue.inclusive === false ? "less than" : "at most";
    return `Expected ${small ? least : most} ${bound}, got ${given(value)}.`;
  }
  if (small && bound === "1" && value === "") return "Expected text that is not empty.";
  const noun = typeof value === "string" ? "character" : Array.isArray(value) ? "item" : "key";
  const what = bound === "1" ? noun : `${noun}s`;
  return `Expected ${small ? "at least" : "at most"} ${bound} ${what}.`;
}

/** One form that a value may have, by the fault that another form found in it. */
function formText(fault: Issue | undefined): string {
  if (fault?.code === "invalid_value") return choices(fault.values);
  if (fault?.code === "invalid_type") return typeWords(fault.expected);
  return fault?.message.replace(/^Expected /, "") ?? "another value";
}

/**
 * What a value is, for a message; text is only shown when it can't be a secret pasted in the wrong
 * place.
 */
function given(value: unknown): string {
  if (value === null) return "nothing (null)";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a date";
  if (value === "") return "empty text";
  if (typeof value === "string") return mayBeQuoted(value) ? `text (\`${value}\`)` : "text";
  return typeof value === "object" ? "a map" : String(value);
}
