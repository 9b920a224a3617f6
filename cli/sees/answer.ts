export type { NoAnswerReason } from "@local-serving/base/http/ask";

/** An answer that came and holds nothing to judge. Its message is a sentence for a person. */
export class BadAnswer extends Error {
  override readonly name = "BadAnswer";

  constructor(
    message: string,
    /**
     * Whether the server failed in itself: then its log says why, and no setting that a probe
     * knows.
     */
    readonly isFailure = false,
  ) {
    super(message);
  }
}

/** A stream whose events are not what its API says. Its message says which is the first. */
export class Misfit extends BadAnswer {}

/** Longest piece of a server's words that is shown. */
const LONGEST_QUOTE = 240;

/**
 * Longest sentence about an answer: a list of everything that a server offers must not fill the
 * screen.
 */
const LONGEST_SENTENCE = 500;

/**
 * Control characters, and those that turn or break a line: what follows them could be read as
 * something else.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal.
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g;

/** A server's own words for a person's terminal: one line, no control characters, cut. */
export const quote = (text: string): string => cut(text, LONGEST_QUOTE);

/** A sentence with such words in it, for a terminal. */
export const sentence = (text: string): string => cut(text, LONGEST_SENTENCE);

/** A server's own words in a list; `otherwise` if there are none. */
export const quotedList = (texts: readonly string[], otherwise = ""): string =>
  texts.map(quote).join(", ") || otherwise;

function cut(text: string, longest: number): string {
  const plain = text.replace(CONTROLS, " ").trim();
  return plain.length <= longest ? plain : `${plain.slice(0, longest)}...`;
}
