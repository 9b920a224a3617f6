import { jsonIn } from "./json";
import { keptAnswers } from "./keptAnswers";
import {
  BY_NAME,
  BY_VALUE,
  IN_SECRET_NAMES,
  MOST_FALLBACKS,
  NAMES,
  PLACEHOLDERS,
  type SecretForm,
  VALUES,
} from "./secretForms";

/** Text that replaces a secret. */
export const REDACTED = "<redacted>";

/**
 * The text without what its own form tells to be a secret: for what we say, which may quote
 * anything.
 */
export const withoutKeys = (text: string): string =>
  asLines(text, (lines) => replaced(lines, BY_VALUE));

/**
 * The text without secrets, by their form and by their names: for what others say, such as a log.
 */
export const redactSecrets = (text: string): string =>
  asLines(text, (lines) => replaced(replaced(lines, BY_VALUE), BY_NAME));

/** How JSON writes blanks inside of a text, and what stands for each while that is searched. */
const ESCAPES = [
  // JSON inside of JSON.
  ["\\\\n", "\v\v\n"],
  ["\\n", "\v\n"],
  ["\\r", "\f\n"],
  ["\\t", "\v\t"],
] as const;

/** Searches a text that may be inside of JSON, where a line's end is a letter behind a backslash. */
function asLines(text: string, search: (lines: string) => string): string {
  if (!/\\[nrt]/.test(text) || /[\v\f]/.test(text)) return search(text);
  const lines = ESCAPES.reduce((rest, [written, blank]) => rest.replaceAll(written, blank), text);
  const shown = ESCAPES.reduce(
    (rest, [written, blank]) => rest.replaceAll(blank, written),
    search(lines),
  );
  // A secret may have ended inside of what stood for its line's end.
  const whole = shown.replace(/[\v\f]/g, "");
  return text.includes("\n") ? whole : whole.replaceAll("\n", "\\n");
}

/** What was found of texts: servers have the same script and words, and every rule asks again. */
const judged = { short: keptAnswers<boolean>(4000), long: keptAnswers<boolean>(20) };
const LONG = 2000;

/** `true` for text that carries a secret. */
export const holdsSecret = (text: string): boolean =>
  judged[text.length < LONG ? "short" : "long"](text, () => redactSecrets(text) !== text);

/** The text without what these forms tell to be a secret. */
export function replaced(text: string, forms: readonly SecretForm[]): string {
  const lower = text.toLowerCase();
  return forms.reduce(
    (rest, { words, sign, pattern }) =>
      words.some((word) => lower.includes(word)) && (sign === undefined || sign.test(rest))
        ? rest.replace(pattern, withoutSecret)
        : rest,
    text,
  );
}

/** What stands for a match: its secret is taken out, if it is one. */
function withoutSecret(whole: string, ...match: unknown[]): string {
  // The last argument holds the named groups, of which a template's own assignments have none.
  const {
    before = "",
    name,
    value = "",
    none,
  } = match.at(-1) as Record<string, string | undefined>;
  if (none !== undefined) return whole;
  const secret = name === undefined ? !isPlaceholder(value) : isSecret(name, value);
  return secret ? `${before}${REDACTED}` : whole;
}

/** Deepest nesting that is looked at: a text that is JSON may nest without end. */
const DEEPEST_NESTING = 1500;

type Paths = (readonly PropertyKey[])[];

/** Paths of every text in a document that is a secret or holds one, and of every key that does. */
export function secretPaths(value: unknown, path: readonly PropertyKey[] = []): Paths {
  if (path.length > DEEPEST_NESTING) return [];
  if (Array.isArray(value))
    return value.flatMap((item, index) => {
      const at = [...path, index];
      const inside = secretPaths(item, at);
      return inside.length === 0 && isToldBefore(item, value[index - 1]) ? [at] : inside;
    });
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([key, inner]) => {
      const at = [...path, key];
      const named = ["string", "number"].includes(typeof inner) && isSecret(key, String(inner));
      return named || holdsSecret(key) ? [at] : secretPaths(inner, at);
    });
  return typeof value === "string" && isSecretText(value) ? [path] : [];
}

/** `true` in `[--hf-token, hf_...]`: what an item is may stand in the item before it. */
const isToldBefore = (item: unknown, before: unknown): boolean =>
  typeof before === "string" &&
  typeof item === "string" &&
  !holdsSecret(before) &&
  holdsSecret(`${before} ${item}`);

/** `true` for text that carries a secret, also as a document, in which escapes hide a name. */
const isSecretText = (text: string): boolean =>
  holdsSecret(text) || (/^\s*[[{]/.test(text) && secretPaths(jsonIn(text)).length > 0);

/**
 * `true` for `HF_TOKEN`, `clientSecret` and `--api-key`; not for `HF_TOKEN_PATH`, `MAX_TOKENS` or
 * `SSH_PUBLIC_KEY`.
 */
export function isSecretName(name: string): boolean {
  if (!IN_SECRET_NAMES.test(name)) return false;
  const words = name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => /[a-z]/.test(word));
  if (
    NAMES.reference.test(words.at(-1) ?? "") ||
    words.includes("public") ||
    words[0] === "env" ||
    NAMES.folder.test(name)
  )
    return false;
  const plain = words.join("_");
  return NAMES.secret.test(plain) && !NAMES.textToken.test(plain);
}

function isSecret(name: string, value: string): boolean {
  if (NAMES.login.test(name))
    return VALUES.login.test(Buffer.from(value, "base64").toString("latin1"));
  if (!isSecretName(name) || isPlaceholder(value)) return false;
  if (NAMES.common.test(name) && !/\d/.test(value)) return false;
  return !VALUES.figure.test(value) || NAMES.strict.test(name);
}

/**
 * `true` for what stands where a program insists on a value: empty, `<API_KEY>`, `${VAR}`,
 * `placeholder`, `EMPTY`, `***`.
 */
export function isPlaceholder(value: string): boolean {
  let text = value.trim();
  for (let deep = 0; deep < MOST_FALLBACKS; deep++)
    text = VALUES.fallback.exec(text)?.[1]?.trim() ?? text;
  if (VALUES.standIn.test(text)) return true;
  const word = text.toLowerCase().replace(/_/g, "-").replace(/^sk-/, "");
  return PLACEHOLDERS.includes(word) || VALUES.placeholder.test(word);
}

/**
 * How keys of well-known services begin. All of them have the form of a variable's name, or nearly
 * so.
 */
const KEY_START =
  /^(?:sk|pk|rk|gsk|hf|gh[pousr]|github_pat|dckr_pat|gl(?:pat|ptt|dt|rt|cbt)|nvapi|pplx|xai|xox[a-z]|tvly|npm|pypi|pul)[-_]|^A(?:KIA|SIA)\w{16}$/;

/**
 * Shortest text that is taken for a key by its looks; a name in words with digits is rarely so
 * long.
 */
const SHORTEST_KEY = 20;

/**
 * Whether a word of the text has digits between its letters as base32 or hexadecimal have: `K8S` and
 * `SERVER8001` are words.
 */
export const isMixed = (text: string): boolean =>
  text.split(/[_.-]/).some((part) => {
    const places = part.match(/\d(?=[A-Za-z])/g)?.length ?? 0;
    return (places >= 1 && part.length >= 16) || (places >= 3 && part.length >= 10);
  });

/** `true` for text that has the form of a variable's name but is most likely the key itself. */
export function looksLikeAKey(text: string): boolean {
  if (KEY_START.test(text) || withoutKeys(text) !== text || isMixed(text)) return true;
  if (text.length < SHORTEST_KEY || !/\d/.test(text)) return false;
  return /[a-z]/.test(text) || !text.includes("_");
}

/** Message about a key that was written in place of a variable's name. */
export const KEY_AS_NAME =
  "This variable name looks like a key itself (not shown). Expected the name of the variable that holds it, such as LOCAL_KEY. If it was a real key, it is now in the file's history: replace the key.";
