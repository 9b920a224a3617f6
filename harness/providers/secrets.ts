/** Where a token stands in a command: behind curl's option, a bearer scheme, or the header of a key. */
const TOKEN_PLACE = /(?:--oauth2-bearer[ =]+|\bbearer +|\bx-api-key: *)(?!["'\\]*[$<{])["'\\]*[A-Za-z0-9]/i;

/** `true` when a shell command holds a token itself, not a `$VARIABLE`. */
export function holdsToken(command: string): boolean {
  return TOKEN_PLACE.test(command);
}
