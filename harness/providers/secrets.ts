/** Names under which people keep a key itself; a profile names the variable that holds it instead. */
const KEY_NAMES = new Set([
  "apikey",
  "key",
  "token",
  "apitoken",
  "authtoken",
  "bearertoken",
  "secret",
  "password",
]);

/** `true` for a key such as `api_key`, whose value could only be a secret. */
export function namesASecret(key: string): boolean {
  return KEY_NAMES.has(key.toLowerCase().replace(/[-_]/g, ""));
}

/** How the keys of well-known services begin. All of them have the form of a variable's name, or nearly so. */
const TOKEN_START = /^(?:sk|pk|rk|gsk|hf|ghp|gho|ghs|ghu|github_pat|glpat|nvapi|pplx|xai|xox[a-z]|tvly)[-_]/;

/** Shortest text that is taken for a key by its looks; a name in words with digits is rarely so long. */
const SHORTEST_KEY = 20;

/** `true` for text that has the form of a variable's name but is most likely the key itself. */
export function looksLikeAKey(text: string): boolean {
  if (TOKEN_START.test(text)) return true;
  if (text.length < SHORTEST_KEY || !/\d/.test(text)) return false;
  return /[a-z]/.test(text) || !text.includes("_");
}

/** `true` when a shell command holds a bearer token itself, not a `$VARIABLE`. */
export function holdsBearerToken(command: string): boolean {
  return /(?:--oauth2-bearer[ =]+|\bbearer +)(?!["'\\]*[$<{])["'\\]*[A-Za-z0-9]/i.test(command);
}
