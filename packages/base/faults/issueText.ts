import type * as z from "zod";
import { type NumberKey, numberFor } from "./amounts";
import { isSlip, mayBeQuoted, nearestKey } from "./quoting";

type Issue = z.core.$ZodIssue;

/**
 * Says why a schema refuses a value, for the person who wrote it: what would be right, and what was
 * given unless that may be a secret. `number` says what a key of numbers takes.
 */
export const issueText = (value: unknown, issue: Issue, number: NumberKey): string =>
  formsText(value, issue) ??
  nameText(issue) ??
  typeText(value, issue, number) ??
  choiceText(value, issue) ??
  boundText(value, issue) ??
  sentence(issue.message);

/**
 * None of several forms. Without a fault of each (nothing chose one) the schema's own words say
 * which forms there are.
 */
function formsText(value: unknown, issue: Issue): string | undefined {
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return undefined;
  const forms = [...new Set(issue.errors.map(([first]) => formText(first)))].join(" or ");
  const isForNumber = issue.errors.some(([first]) => isNumberWanted(first));
  return wantedText(forms, value) + (isForNumber ? quotesHint(value, "number") : "");
}

const isNumberWanted = (fault: Issue | undefined): boolean =>
  fault?.code === "invalid_type" && fault.expected === "number";

const wantedText = (wanted: string, value: unknown, got = given(value)): string =>
  value === undefined ? `This key is required (${wanted}).` : `Expected ${wanted}, got ${got}.`;

/** A name that a map can't have. */
function nameText(issue: Issue): string | undefined {
  const [first] = issue.code === "invalid_key" ? issue.issues : [];
  return first && `This name can't be used. ${sentence(first.message)}`;
}

function typeText(value: unknown, issue: Issue, number: NumberKey): string | undefined {
  if (issue.code !== "invalid_type") return undefined;
  const { expected } = issue;
  const wanted = typeWords(number.isWhole ? "int" : expected);
  if (value === undefined) return wantedText(wanted, value);
  const isNumber = typeof value === "number";
  if (expected === "string") {
    // Digits where text belongs may be a key that lacks its quotes.
    const said = wantedText(wanted, value, isNumber ? "a number" : given(value));
    const isPlain = isNumber || typeof value === "boolean" || value instanceof Date;
    return isPlain ? `${said} Write it in quotes.` : said;
  }
  if (isNumber && !Number.isFinite(value)) return "Expected a finite number, not NaN or Infinity.";
  return wantedText(wanted, value) + quotesHint(value, expected, number);
}

/** A value that is none of those that can be chosen. */
function choiceText(value: unknown, issue: Issue): string | undefined {
  if (issue.code !== "invalid_value") return undefined;
  const wanted = choices(issue.values);
  if (typeof value !== "string") return wantedText(wanted, value);
  const near = nearestKey(value, issue.values.map(String));
  const hint = near === undefined ? "" : ` Did you mean \`${near}\`?`;
  const got = isSlip(value, near) ? `text (\`${value}\`)` : given(value);
  return wantedText(wanted, value, got) + (quotesHint(value, typeof issue.values[0]) || hint);
}

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
function quotesHint(value: unknown, expected: string, number?: NumberKey): string {
  if (typeof value !== "string") return "";
  const isForNumber = ["number", "int"].includes(expected);
  const isFlag = expected === "boolean" && /^(?:true|false)$/.test(value);
  const isNumber = isForNumber && /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(value);
  if (isFlag || isNumber) return " Write it without quotes.";
  const amount = isForNumber && number !== undefined ? numberFor(value, number) : undefined;
  return amount === undefined ? "" : ` Write ${amount}.`;
}

/** A bound that was passed; the schema's own words where it has some. */
function boundText(value: unknown, issue: Issue): string | undefined {
  if (issue.code !== "too_small" && issue.code !== "too_big") return undefined;
  if (!issue.message.startsWith("Too ")) return undefined;
  const small = issue.code === "too_small";
  const bound = String(small ? issue.minimum : issue.maximum);
  if (typeof value === "number") {
    const [least, most] =
      issue.inclusive === false ? ["more than", "less than"] : ["at least", "at most"];
    return `Expected ${small ? least : most} ${bound}, got ${given(value)}.`;
  }
  if (small && bound === "1" && value === "") return "Expected text that is not empty.";
  const what = bound === "1" ? nounOf(value) : `${nounOf(value)}s`;
  return `Expected ${small ? "at least" : "at most"} ${bound} ${what}.`;
}

function nounOf(value: unknown): string {
  if (typeof value === "string") return "character";
  return Array.isArray(value) ? "item" : "key";
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
