/** First line of every file whose format has comments. */
export function writtenBy(what: string): string {
  return `# ${what}: written by local-serving from the stack file. Edits are lost at the next update.`;
}
