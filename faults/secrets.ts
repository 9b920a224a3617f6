import { jsonIn } from "./json";

/**
 * What a secret looks like: the one table by which files are refused and by which output is
 * redacted, so that neither knows more than the other. Each form goes through a text of any content
 * once: where a form's beginning could stand many times in a text that it then reads to its end, it
 * reads on without that end (`none`), so that it begins no more there.
 */

/** Text that replaces a secret. */
export const REDACTED = "<redacted>";

/** How a secret may look. */
export interface SecretForm {
  /**
   * Every match has one of these in it, in lower case. A text without them isn't searched: most have
   * none, and a search takes long.
   */
  readonly words: readonly string[];
  readonly pattern: RegExp;
}

/**
 * Keys of well-known services by their own form, each behind its words. Most want a digit, a capital
 * or great length: `hf_transfer` is none.
 */
const KEYS: readonly (readonly [words: string, form: string])[] = [
  ["hf_", "hf_(?=[a-z]{0,64}[A-Z\\d]|[a-z]{14})[A-Za-z\\d]{8,}"],
  [
    "sk- pk- rk- pplx- xai- tvly- nvapi-",
    "(?:sk|pk|rk|gsk|pplx|xai|tvly|nvapi)-(?!local|placeholder)(?=[\\w-]{0,64}[A-Z\\d]|[\\w-]{16})[\\w-]{8,}",
  ],
  ["k_live_ k_test_", "(?:sk|pk|rk)_(?:live|test)_\\w{8,}"],
  ["ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ dckr_pat_", "(?:gh[pousr]|github_pat|dckr_pat)_\\w{16,}"],
  ["glpat- glptt- gldt- glrt- glcbt-", "gl(?:pat|ptt|dt|rt|cbt)-[\\w-]{8,}"],
  ["akia asia", "(?:AKIA|ASIA)[\\dA-Z]{16}(?![\\dA-Za-z])"],
  ["aiza ya29.", "(?:AIza|ya29\\.)[\\w-]{20,}"],
  ["xox", "xox[a-z]-[A-Za-z\\d-]{8,}"],
  ["npm_", "npm_[A-Za-z\\d]{30,}"],
  ["pypi-", "pypi-[\\w-]{30,}"],
  ["pul-", "pul-[\\da-f]{40}"],
  ["age-secret-key-", "AGE-SECRET-KEY-[\\dA-Z-]{8,}"],
  // A private key in base64, as a kubeconfig has it; certificates and public keys begin in the same
  // way.
  ["ls0tls1crudjti", "LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[A-Za-z\\d+/]{8,}={0,2}"],
  [
    "private",
    "-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:[\\s\\S]*?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|[\\s\\S]*)",
  ],
];

/** Where a word begins: a colour's code (`ESC[31m`) may stand right before it. */
const START = "(?:(?<![A-Za-z\\d])|(?<=\\[[\\d;]{0,20}m))";

/** Secrets that are known by themselves or by what surrounds them, whatever they are called. */
export const BY_VALUE: readonly SecretForm[] = [
  {
    words: KEYS.flatMap(([words]) => words.split(" ")),
    pattern: new RegExp(`${START}(?<value>${KEYS.map(([, form]) => form).join("|")})`, "g"),
  },
  // A JSON Web Token.
  {
    words: ["eyj"],
    pattern: new RegExp(`${START}(?<value>eyJ[\\w-]{8,}(?:\\.[\\w-]+\\.[\\w-]*|(?<none>)))`, "g"),
  },
  // `scheme://user:password@host`; the password may hold blanks, and a port is none.
  {
    words: ["@"],
    pattern:
      /(?<before>(?<![a-z\d])[a-z][a-z\d+.-]{0,30}:\/\/[^\s/?#@:[]{0,99}:)(?!\d+(?:[/?#\s"']|$))(?<value>[^@\n"'<>]*)(?:(?=@)|(?<none>))/gi,
  },
  // `user:password@host`; an image's digest stands behind `@` too.
  {
    words: ["@"],
    pattern:
      /(?<before>(?<![\w./:@+-])(?!mailto:)[\w.-]{1,99}:)(?<value>[^\s/\\@:"'`<>()]{1,999})(?=@(?!sha\d+:)[\w[])/gi,
  },
  // A user without a password in a web address is a token: `https://TOKEN@host`.
  { words: ["@"], pattern: /(?<before>\bhttps?:\/\/)(?<value>[^/?#\s@:"'<>]{1,999})(?=@)/gi },
  {
    words: ["bearer"],
    pattern:
      /(?<before>\bbearer[\s=]+["'\\]*)(?!(?:token|auth\w*|scheme|realm|header|keys?|format|is|or|and|not|in|of)\b)(?<value>\w[\w+/=.~-]{2,})/gi,
  },
  {
    words: ["basic"],
    pattern: /(?<before>\b[Bb]asic\s+)(?=[\w+/]*[A-Z])(?=[\w+/]*[\d=])(?<value>[\w+/=]{6,})/g,
  },
  // The address of a Slack or Discord hook is all that it takes to post there.
  {
    words: ["hooks.slack", "discord"],
    pattern:
      /(?<before>\b(?:hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)|discord(?:app)?\.com\/api\/webhooks)\/)(?<value>[\w/-]{8,})/gi,
  },
  // Whoever has a signed address needs no other key.
  {
    words: ["sig", "credential"],
    pattern: /(?<before>[?&;](?:[\w-]*signature|sig|[\w-]*credential)=)(?<value>[^&\s"'#<>]+)/gi,
  },
];

/** The words of every form that goes by a name: `IN_NAME` has them in the spellings that count. */
const NAME_WORDS = ["secret", "pass", "token", "key", "credential", "pwd", "pat"];

/**
 * What the name of a secret has in it: any other is skipped at once, since behind it another may
 * stand (`A=B_TOKEN=x`).
 */
const IN_NAME =
  "(?:[sS]ecret|[pP]ass|[tT]oken|[kK]ey|SECRET|PASS|TOKEN|KEY|[cC]redential|CREDENTIAL|[pP]wd|PWD|[pP]at|PAT)";

/** A whole word that may be a name, and one that is a flag's. */
const NAME = `(?<![\\w.-])(?=[\\w.-]*?${IN_NAME})(?<name>[\\w.-]+)`;
const FLAG = `(?<![\\w-])(?=-(?:[\\w-]|\\.\\w)*?${IN_NAME})(?<name>-(?:[\\w-]|\\.\\w)+)`;

/**
 * A shell's variable with what stands for it where it is empty, which may be such a variable again:
 * three of them at most.
 */
const expansion = (inner: string) => `\\$\\{(?:[^{}\\n]${inner})*\\}`;
const EXPANSION = expansion(`|${expansion(`|${expansion("")}`)}`);

/** A value in quotes, a shell's `${NAME}`, or a word. */
const VALUE = `(?<value>(?<=")[^"\\n]+|(?<=')[^'\\n]+|(?<=\`)[^\`\\n]+|${EXPANSION}|[^\\s"'\`,;&|<>{}()[\\]\\\\]+)`;

/** `It checks no key: close the port.` is a sentence. */
const PROSE = "(?!(?<=\\b(?:key|token|secrets?): )[a-z]+ [a-z])";

/**
 * Values whose name tells that they are secret. What a template (`{% set token = ... %}`) assigns
 * is its own.
 */
export const BY_NAME: readonly SecretForm[] = [
  { words: ["cookie"], pattern: /(?<before>\b(?:set-)?cookie["']?\s*[:=]\s*)(?<value>[^\n]+)/gi },
  {
    words: ["authorization"],
    pattern:
      /(?<before>\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:[a-z]+\s+)?)(?<value>[^\s"',;]+)/gi,
  },
  // What docker and npm keep of a login: its user and password in base64.
  {
    words: ["auth"],
    pattern:
      /(?<before>(?<![\w.-])(?<name>_?auth)\\*["'`]?\s*[=:]\s*\\*["'`]?)(?<value>[A-Za-z\d+/]{6,}={0,2})/gi,
  },
  // A server may have several keys: `api_key=['one', 'two']`.
  {
    words: NAME_WORDS,
    pattern: new RegExp(
      `(?<before>${NAME}\\\\*["']?[^\\S\\n]*[=:][^\\S\\n]*\\[)(?<value>[^\\]\\n]+)`,
      "g",
    ),
  },
  {
    words: NAME_WORDS,
    pattern: new RegExp(
      `\\{[{%](?:(?!\\{[{%])[\\s\\S]){0,2000}?[%}]\\}|(?<before>${NAME}\\\\*["'\`]?[^\\S\\n]*(?:=>|:=|[=:](?![=:?+-]))[^\\S\\n]*\\\\*["'\`]?)${PROSE}${VALUE}`,
      "g",
    ),
  },
  {
    words: NAME_WORDS,
    pattern: new RegExp(`(?<before>${FLAG}["']?[\\s,]+\\\\*["']?)(?!-)${VALUE}`, "g"),
  },
];

/**
 * The text without what its own form tells to be a secret: for what we say, which may quote
 * anything.
 */
export const withoutKeys = (text: string): string => replaced(text, BY_VALUE);

/**
 * The text without secrets, by their form and by their names: for what others say, such as a log.
 */
export const redactSecrets = (text: string): string => replaced(replaced(text, BY_VALUE), BY_NAME);

/** What was found of texts: servers have the same script and words, and every rule asks again. */
const judged = { short: new Map<string, boolean>(), long: new Map<string, boolean>() };
const LONG = 2000;
const MOST_JUDGED = { short: 4000, long: 20 };

/** `true` for text that carries a secret. */
export function holdsSecret(text: string): boolean {
  const length = text.length < LONG ? "short" : "long";
  const known = judged[length];
  let holds = known.get(text);
  if (holds === undefined) {
    holds = redactSecrets(text) !== text;
    if (known.size === MOST_JUDGED[length]) known.clear();
    known.set(text, holds);
  }
  return holds;
}

/** The text without what these forms tell to be a secret. */
export function replaced(text: string, forms: readonly SecretForm[]): string {
  const lower = text.toLowerCase();
  return forms.reduce(
    (rest, { words, pattern }) =>
      words.some((word) => lower.includes(word)) ? rest.replace(pattern, withoutSecret) : rest,
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

/** Paths of every text in a document that is a secret or holds one, and of every key that does. */
export function secretPaths(
  value: unknown,
  path: readonly PropertyKey[] = [],
): (readonly PropertyKey[])[] {
  if (path.length > DEEPEST_NESTING) return [];
  if (Array.isArray(value))
    return value.flatMap((item, index): (readonly PropertyKey[])[] => {
      const inside = secretPaths(item, [...path, index]);
      // `[--hf-token, hf_...]`: what a value is may stand in the item before it.
      const [before, word]: unknown[] = [value[index - 1], item];
      if (inside.length > 0 || typeof before !== "string" || typeof word !== "string")
        return inside;
      return !holdsSecret(before) && holdsSecret(`${before} ${word}`) ? [[...path, index]] : [];
    });
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([key, inner]) => {
      const at = [...path, key];
      const named = ["string", "number"].includes(typeof inner) && isSecret(key, String(inner));
      return named || holdsSecret(key) ? [at] : secretPaths(inner, at);
    });
  // A text may be a document itself, in which escapes hide a name.
  return typeof value === "string" &&
    (holdsSecret(value) ||
      secretPaths(/^\s*[[{]/.test(value) ? jsonIn(value) : undefined).length > 0)
    ? [path]
    : [];
}

/** Names of secrets, in lower case with underscores. */
const SECRET_NAME =
  /secret|passw|passphrase|credential|token$|(?:^|_)(?:pwd|pat|authorization|(?:api_?)?key|key_data)$|(?:api_?key|(?:hf|hub|access|auth|api|bearer|refresh|session)_?token)s?(?:_|$)/;

/** Tokens of a tokenizer. */
const TEXT_TOKEN =
  /(?:^|_)(?:bos|eos|pad|unk|sep|cls|mask|stop|start|end|think|image|img|video|audio|special|added|next|first|last|per|each|output|prompt|draft|from)_token$/;

/** A last word that makes a name one of a reference to a secret, or of no secret at all. */
const REFERENCE =
  /^(?:file|path|dir|name|env|variable|header|type|id|url|length|limit|count|size|ttl|expiry|mode|required|enabled)s?$/;

/**
 * `true` for `HF_TOKEN`, `clientSecret` and `--api-key`; not for `HF_TOKEN_PATH`, `MAX_TOKENS` or
 * `SSH_PUBLIC_KEY`.
 */
export function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => /[a-z]/.test(word));
  // `PWD` alone is the working directory.
  if (
    REFERENCE.test(words.at(-1) ?? "") ||
    words.includes("public") ||
    words[0] === "env" ||
    /^(?:OLD)?PWD$/.test(name)
  )
    return false;
  const plain = words.join("_");
  return SECRET_NAME.test(plain) && !TEXT_TOKEN.test(plain);
}

/** A user's name and password. */
const LOGIN = /^[!-9;-~]+:[ -~]+$/;

/** A count or a time: `token: 4096`, `per token: 12.5ms`. */
const FIGURE = /^-?\d{1,5}(?:\.\d+)?[a-z%/]{0,3}$/i;

function isSecret(name: string, value: string): boolean {
  if (/^_?auth$/i.test(name)) return LOGIN.test(Buffer.from(value, "base64").toString("latin1"));
  if (!isSecretName(name) || isPlaceholder(value)) return false;
  // A map has keys, and programs speak of theirs.
  if (/^-*key$/i.test(name) && !/\d/.test(value)) return false;
  return !FIGURE.test(value) || /passw|pwd|secret/i.test(name);
}

const PLACEHOLDERS = new Set(
  "placeholder dummy none null undefined empty local unused ignored no-key nokey no-key-required not-needed not-used not-required changeme change-me bearer basic true false 0 1".split(
    " ",
  ),
);

/** Defaults within defaults (`${A:-${B:-x}}`) that are looked into. */
const MOST_FALLBACKS = 3;

/**
 * `true` for what stands where a program insists on a value: empty, `<API_KEY>`, `${VAR}`,
 * `placeholder`, `EMPTY`, `***`.
 */
export function isPlaceholder(value: string): boolean {
  let text = value.trim();
  for (let deep = 0; deep < MOST_FALLBACKS; deep++)
    text = /^\$\{\w+:?[-=](.*)\}$/s.exec(text)?.[1]?.trim() ?? text;
  if (
    /^(?:|<[^<>]*>|\$(?:\w*|[@*]|\{\w+\}|\(.*\))|\{+[\w:]+\}+|%s.*|os\.environ\/\w+|[*x.]+)$/is.test(
      text,
    )
  )
    return true;
  const word = text.toLowerCase().replace(/_/g, "-").replace(/^sk-/, "");
  return PLACEHOLDERS.has(word) || /(^|-)placeholder(-|$)/.test(word);
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
 * Whether digits stand between letters as in base32 or hexadecimal: `K8S` and `SERVER8001` are
 * words.
 */
function isMixed(part: string): boolean {
  const places = part.match(/\d(?=[A-Za-z])/g)?.length ?? 0;
  return (places >= 1 && part.length >= 16) || (places >= 3 && part.length >= 10);
}

/** `true` for text that has the form of a variable's name but is most likely the key itself. */
export function looksLikeAKey(text: string): boolean {
  if (KEY_START.test(text) || withoutKeys(text) !== text || text.split("_").some(isMixed))
    return true;
  if (text.length < SHORTEST_KEY || !/\d/.test(text)) return false;
  return /[a-z]/.test(text) || !text.includes("_");
}

/** Message about a key that was written in place of a variable's name. */
export const KEY_AS_NAME =
  "This variable name looks like a key itself (not shown). Expected the name of the variable that holds it, such as LOCAL_KEY. If it was a real key, it is now in the file's history: replace the key.";
