import { randomBytes } from "node:crypto";

/** A question that every chat model answers in a word. */
export const GREETING = "Say hello in one word.";

/** Output tokens for an answer in one word by a model that does not think first. */
const SHORT_ANSWER_TOKENS = 512;

/** Output tokens for a model that thinks as it does for a real client: greetings were seen to take a thousand and more. */
const THOUGHTFUL_ANSWER_TOKENS = 4096;

/** Output tokens to ask for in a window of this many; at least half of the window is left for the prompt. */
export function answerTokens(window: number, thinks: boolean): number {
  return Math.min(thinks ? THOUGHTFUL_ANSWER_TOKENS : SHORT_ANSWER_TOKENS, Math.floor(window / 2));
}

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
