/** First line of every file whose format has comments. */
export function writtenBy(what: string): string {
  return `# ${what}: written by local-serving from the stack file. Edits are lost at the next update.`;
}

/** A JSON file; keys whose value is `undefined` are left out. */
export function jsonFile(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** A word in single quotes, as a POSIX shell takes it literally. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Lines that set and export variables, each given as a word of the shell. */
export function exported(variables: Readonly<Record<string, string>>): string[] {
  const lines = Object.entries(variables).map(([name, word]) => `${name}=${word}`);
  return [...lines, `export ${Object.keys(variables).join(" ")}`];
}
