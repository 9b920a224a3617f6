/** Words as a POSIX shell reads them back, each quoted where it has to be. */
export function shellWords(words: readonly string[]): string {
  return words.map(shellWord).join(" ");
}

/** Quotes a word for a POSIX shell, where it needs quotes. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word);
}

/** A word in single quotes, as a POSIX shell takes it literally. */
export const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
