import { isPlaceholder, isSecretName } from "../../components/settings/secretValue";

const REDACTED = "<redacted>";

/** Forms by which tokens of known services are recognized, whatever comes before them. */
const TOKEN_FORMS = [
  /\bhf_[A-Za-z0-9]{8,}/g,
  /\bsk-(?!local|placeholder)[A-Za-z0-9_-]{8,}/g,
  /\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,})/g,
  /\bnvapi-[A-Za-z0-9_-]{8,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{20,}/g,
  /\bxox[abprs]-[A-Za-z0-9-]{8,}/g,
  /\bpul-[0-9a-f]{40}\b/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g,
];

/** `Bearer x`, `Basic x`: the scheme stays. */
const AUTHORIZATION = /\b(bearer|basic)\s+(?!auth)([A-Za-z0-9+/=_.~-]{4,})/gi;

const USER_IN_URL = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s/@]+@/gi;

/** `name=['value', 'value']`: a server may have several keys. */
const LIST = /([A-Za-z][\w.-]*)(["']?\s*[=:]\s*)\[[^\]\n]+\]/g;

/** A cookie's header with everything after it. */
const COOKIE = /\b((?:set-)?cookie["']?\s*[:=]\s*)[^\n]+/gi;

/** `NAME=value`, `"name": "value"`, `--name value`. */
const ASSIGNMENT = /([A-Za-z][\w.-]*)(["']?\s*[=:]\s*\[?["']?)([^\s"',;&|<>{}()[\]]+)/g;
const OPTION = /(--[A-Za-z][\w-]*)(\s+["']?)([^\s"',-][^\s"',]*)/g;

/** Everything that a terminal would take as a command, and anything else that isn't text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away
const CONTROL = /\u001b\[[0-9;?]*[ -/]*[@-~]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffd\ufeff]/g;

/** The text without secrets and without control characters. Tabs become blanks; newlines stay. */
export function redact(text: string): string {
  let safe = text.replace(CONTROL, "").replaceAll("\t", " ");
  for (const form of TOKEN_FORMS) safe = safe.replace(form, REDACTED);
  return safe
    .replace(USER_IN_URL, `$1${REDACTED}@`)
    .replace(AUTHORIZATION, `$1 ${REDACTED}`)
    .replace(COOKIE, `$1${REDACTED}`)
    .replace(LIST, (whole, name: string, between: string) =>
      isSecret(name) ? `${name}${between}[${REDACTED}]` : whole,
    )
    .replace(ASSIGNMENT, (whole, name: string, between: string, value: string) =>
      isSecret(name) && !isPlaceholder(value) ? `${name}${between}${REDACTED}` : whole,
    )
    .replace(OPTION, (whole, name: string, between: string, value: string) =>
      isSecret(name) && !isPlaceholder(value) ? `${name}${between}${REDACTED}` : whole,
    );
}

function isSecret(name: string): boolean {
  return isSecretName(name) || /^(proxy-)?authorization$/i.test(name);
}
