/** Names under which people keep a secret itself; our files name the variable that holds it instead. */
const SECRET_NAMES =
  /^((access|api|auth|bearer)?token|(api)?key|(client)?secret|(ssl)?password|passphrase|passwd|pwd)$/;

/** `true` for a name such as `api_key`, whose value could only be a secret. */
export function namesASecret(name: string): boolean {
  return SECRET_NAMES.test(name.toLowerCase().replace(/[-_]/g, ""));
}

/** `scheme://user:password@` or `user:password@`; after a host's colon comes its port. */
const USER_AND_PASSWORD =
  /^(?:[a-z][a-z0-9+.-]*:\/\/[^/?#@\s:[]*:(?!\d+(?:[/?#]|$))[\s\S]*@|[\w.-]+:[^\s/\\@]+@)/i;

/** An http URL has no user without a password: the part before its `@` is a token. */
const HTTP_USER = /^https?:\/\/[^/?#\s]*@/i;

/** `name=value` in a query (`?password=x`) or in a connection string (`host=h password='x'`, `Uid=u;Pwd=x`). */
const ASSIGNMENT = /([a-z][\w-]*)\s*=\s*['"{]?[^&;\s'"]/gi;

/** `true` for an address or connection string that carries a password or token. */
export function holdsCredentials(text: string): boolean {
  if (USER_AND_PASSWORD.test(text) || HTTP_USER.test(text)) return true;
  return [...text.matchAll(ASSIGNMENT)].some(([, name = ""]) => namesASecret(name));
}

/** Where a command can hold a token: after curl's option, a bearer scheme, or a key's header. */
const TOKEN_PLACE = /(?:--oauth2-bearer[ =]+|\bbearer +|\bx-api-key: *)(?!["'\\]*[$<{])["'\\]*[A-Za-z0-9]/i;

/** `true` when a shell command holds a token itself, not a `$VARIABLE`. */
export function holdsToken(command: string): boolean {
  return TOKEN_PLACE.test(command);
}
