/** Longest piece of a server's words that is shown. */
const LONGEST_QUOTE = 240;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal.
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]+/g;

/** A server's own words for a person's terminal: one line, no control characters, cut. */
export function quote(text: string): string {
  const plain = text.replace(CONTROLS, " ").trim();
  return plain.length <= LONGEST_QUOTE ? plain : `${plain.slice(0, LONGEST_QUOTE)}...`;
}

/** Takes every secret out of a text, whoever put it there. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length > 0)
    .reduce((rest, secret) => rest.replaceAll(secret, "<key>"), text);
}
