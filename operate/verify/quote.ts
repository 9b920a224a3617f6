/** Longest piece of a server's words that is shown. */
const LONGEST_QUOTE = 240;

/** Longest sentence about an answer: a list of everything that a server offers must not fill the screen. */
const LONGEST_SENTENCE = 2000;

/** Control characters, and those that turn or break a line: what follows them could be read as something else. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal.
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g;

/** A server's own words for a person's terminal: one line, no control characters, cut. */
export function quote(text: string): string {
  return cut(text, LONGEST_QUOTE);
}

/** A sentence with such words in it, for a terminal. */
export function sentence(text: string): string {
  return cut(text, LONGEST_SENTENCE);
}

/** A server's own words in a list; `otherwise` if there are none. */
export function quotedList(texts: readonly string[], otherwise = ""): string {
  return texts.map(quote).join(", ") || otherwise;
}

function cut(text: string, longest: number): string {
  const plain = text.replace(CONTROLS, " ").trim();
  return plain.length <= longest ? plain : `${plain.slice(0, longest)}...`;
}

/** The text without secrets, whoever put them there. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length > 0)
    .reduce((rest, secret) => rest.replaceAll(secret, "<key>"), text);
}
