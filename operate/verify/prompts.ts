import { randomBytes } from "node:crypto";

/** A question that every chat model answers in a word. */
export const GREETING = "Say hello in one word.";

/** Output tokens for an answer of a word or a tool call, with room for a model that thinks first. */
export const SHORT_ANSWER_TOKENS = 1024;

/** Words that are one token in the usual vocabularies, so that a prompt's length in tokens is near its words. */
const FILLER =
  "the river runs past the old stone house and the quiet garden near the long road to the green hill";

/** A code that no model can guess and no earlier prompt has held. */
export function freshCode(): string {
  return `QX-${randomBytes(3).toString("hex").toUpperCase()}`;
}

/** Text of about this many tokens that no cache has seen: it begins with a code of its own. */
export function longText(words: number): string {
  const line = FILLER.split(" ");
  const lines: string[] = [`Record ${freshCode()}.`];
  for (let count = 2; count < words; count += line.length) lines.push(`${FILLER}.`);
  return lines.join("\n");
}
