import serviceKeys from "./serviceKeys.json";

/**
 * What a secret looks like: the one table by which files are refused and output is redacted, here
 * and in the wrapper of llama-swap, so that none knows more than another. Each form goes through a
 * text of any content once: where a form's beginning could stand many times in a text that it then
 * reads to its end, it reads on without that end (`none`), so that it begins no more there.
 *
 * Python reads these patterns too (`components/services/on-demand/wrapperText.ts`): what they look back at has
 * a length.
 */

/** How a secret may look. */
export interface SecretForm {
  /**
   * Every match has one of these in it, in lower case. A text without them isn't searched: most have
   * none, and a search takes long. The empty word is in every text.
   */
  readonly words: readonly string[];
  /** The same for what no word tells: a part of the pattern that few texts have, and is found soon. */
  readonly sign?: RegExp;
  readonly pattern: RegExp;
}

/**
 * Where a word begins: a colour's code (`ESC[31m`) may stand right before it. Of all patterns only
 * this one looks back at what has no length.
 */
export const START = "(?:(?<![A-Za-z\\d])|(?<=\\[[\\d;]{0,20}m))";

const literal = (text: string): string => text.replace(/[.~]/g, "\\$&");
const anyOf = (texts: readonly string[]): string => [...texts].sort().map(literal).join("|");

/**
 * Keys of services by their own form: what they begin with, and what then follows. Most want a digit,
 * a capital or great length: `hf_transfer` is none. Which services there are is taken from the rules
 * of gitleaks (gitleaks/gitleaks, MIT), read in November 2026, and from the services' own pages.
 */
const SERVICE_KEYS: SecretForm = {
  words: [""],
  // All beginnings are asked at once, before each is followed: that is faster than any search for
  // words.
  pattern: new RegExp(
    `${START}(?=${anyOf(serviceKeys.flatMap(({ starts }) => starts))})(?<value>${serviceKeys
      .map(({ starts, rest }) => `(?:${anyOf(starts)})${rest}`)
      .join("|")})`,
    "g",
  ),
};

/** Where an address has a user with a colon behind, and where that colon isn't a port's. */
const USER_BEGINS = ":\\/\\/[^\\s/?#@:[]{0,99}:";
const NO_PORT = `(?!\\d+(?:[/?#\\s"']|(?![\\s\\S])))`;

/** A host behind a password; an image's digest stands behind `@` too. */
const AT_HOST = "@(?!sha\\d+:)[\\w[]";

/** Secrets that are known by themselves or by what surrounds them, whatever they are called. */
export const BY_VALUE: readonly SecretForm[] = [
  SERVICE_KEYS,
  // A private key, as far as it is there: a log may begin or end in the middle of one.
  {
    words: ["private"],
    pattern:
      /(?<value>-{4,5} ?BEGIN [A-Z\d ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}(?:[\s\S]*?-{4,5} ?END [A-Z\d ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|[\s\S]*))/g,
  },
  {
    words: ["private"],
    pattern:
      /(?<![A-Za-z\d+/=])(?<value>(?:[A-Za-z\d+/]{16,76}\s{1,4})+(?:(?:[A-Za-z\d+/]{1,76}={0,2}\s{1,4})?-{4,5} ?END [A-Z\d ]{0,40}PRIVATE KEY|(?<none>)))/g,
  },
  {
    words: ["private-lines"],
    pattern: /(?<before>\bPrivate-Lines: ?\d{1,4}\s)(?<value>[\s\S]*?)(?=Private-MAC|(?![\s\S]))/g,
  },
  // A JSON Web Token.
  {
    words: ["eyj"],
    pattern: new RegExp(
      `${START}(?<value>eyJ[\\w-]{8,}(?:\\.[\\w-]+(?:\\.[\\w-]*){1,3}|(?<none>)))`,
      "g",
    ),
  },
  // Keys whose mark is behind their beginning: Azure, Terraform, MaxMind, a Telegram bot.
  {
    words: ["q~", "jqqj9", ".atlasv1.", "_mmk", ":a"],
    pattern: new RegExp(
      `${START}(?<value>[\\w~.]{3}\\dQ~[\\w~.-]{31,34}|[A-Za-z\\d]{40,60}JQQJ9[A-Za-z\\d]{20,40}|[A-Za-z\\d]{14}\\.atlasv1\\.[\\w=-]{40,}|[A-Za-z\\d]{6}_[A-Za-z\\d]{29}_mmk|\\d{5,16}:A[\\w-]{32,36}(?![\\w-]))`,
      "g",
    ),
  },
  // A password's hash, as htpasswd, /etc/shadow and frameworks have it; a compose file doubles `$`.
  {
    words: [
      "$2",
      "$1$",
      "$5$",
      "$6$",
      "$7$",
      "$y$",
      "$apr1$",
      "$argon2",
      "$scrypt",
      "pbkdf2",
      "sha}",
      "scrypt:",
    ],
    pattern:
      /(?<value>\${1,2}2[abxy]\${1,2}\d\d\${1,2}[./A-Za-z\d]{22,}|\${1,2}(?:[1567]|y|gy|apr1)\${1,2}(?:[\w=./,]{0,64}\${1,2}){1,3}[./\w]{16,}|\$(?:argon2(?:id|i|d)|scrypt|pbkdf2[\w-]{0,16})\${1,2}[\w=,.+/-]{1,99}(?:\${1,2}[\w=,.+/-]{1,999}){1,4}|\bpbkdf2_sha\d{1,3}\$\d{1,9}\$[^\s$"']{1,99}\$[\w+/=]{16,}|\b(?:scrypt:\d{1,9}:\d{1,3}:\d{1,3}|pbkdf2:sha\d{1,3}:\d{1,9})\$[^\s$"']{1,99}\$[\da-f]{16,}|\{S{0,2}SHA(?:256|384|512)?\}[A-Za-z\d+/]{20,}={0,2})/g,
  },
  // `scheme://user:password@host`; the password may hold blanks and `@`, and a port is none.
  {
    words: ["@"],
    sign: new RegExp(`${USER_BEGINS}${NO_PORT}`),
    pattern: new RegExp(
      `(?<before>(?<![a-z\\d])[a-z][a-z\\d+.-]{0,30}${USER_BEGINS})${NO_PORT}(?<value>[^@\\n"'<>]*(?:@[^@\\s/?#"'<>]*(?=@))*)(?:(?=@)|(?<none>))`,
      "gi",
    ),
  },
  // `user:password@host`.
  {
    words: ["@"],
    sign: new RegExp(AT_HOST, "i"),
    pattern: new RegExp(
      `(?<before>(?<![\\w./:@+-])(?!mailto:)[\\w.-]{1,99}:)(?<value>[^\\s/\\\\@:"'\`<>()]{1,999})(?=${AT_HOST})`,
      "gi",
    ),
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
  // The address of a hook is all that it takes to post there.
  {
    words: ["hooks.slack", "discord", "webhook.office.com", "api.telegram.org"],
    pattern:
      /(?<before>\b(?:hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/|discord(?:app)?\.com\/api\/webhooks\/|webhook\.office\.com\/webhookb2\/|api\.telegram\.org\/(?:file\/)?bot))(?<value>[\w/@:-]{8,})/gi,
  },
  // Whoever has a signed address needs no other key. One may be a value of another address. The
  // pattern is written so that it isn't one itself.
  {
    words: ["sig", "credential", "security-token"],
    pattern:
      /(?<before>(?:(?:[?&;]|%3f|%26)(?:[\w-]{0,40}signature|sig|[\w-]{0,40}credential|[\w-]{0,40}security-token)(?:=|%3d)|,[ ]{0,1}signature=(?=[\da-f]{32})))(?<value>(?:(?!%26)[^&\s"'#<>])+)/gi,
  },
  // A key in an address, by its name.
  {
    words: ["token", "secret", "passw", "pwd", "key"],
    pattern:
      /(?<before>[?&](?<name>[\w.-]{0,60}(?:token|secret|passw(?:or)?d|pwd|key))=)(?<value>[^&\s"'#<>`]+)/gi,
  },
  // A login of `.netrc` and one of `.pgpass`.
  {
    words: ["passw"],
    pattern:
      /(?<before>\bmachine\s{1,99}\S{1,255}\s{1,99}(?:(?:login|account)\s{1,99}\S{1,255}\s{1,99}){0,2}passw(?:or)?d\s{1,99})(?<value>(?!(?:is|for|of|was|must|and|or)\b)[^\s"']{1,999})/g,
  },
  {
    words: ["passw"],
    pattern:
      /(?<before>(?:\blogin[ \t]{1,99}\S{1,255}[ \t]{1,99}|^)passw(?:or)?d[ \t]{1,99}(?=\S{0,99}[\d!#$%^&*+=])|^[ \t]{1,99}passw(?:or)?d[ \t]{1,99}(?=\S{1,999}(?:\n|(?![\s\S]))))(?<value>[^\s"'=:][^\s"'\\]{0,999})(?=[\s"'\\]|(?![\s\S]))/gm,
  },
  {
    words: [":"],
    pattern:
      /(?<before>:(?:(?<=[\w.-]:)|(?<=\*:)(?<!\S\*:))(?:\d{3,5}|\*):(?![\da-f]{0,4}:[\da-f]{0,4}:)[^\s:/"'`]{1,63}:(?!(?:debug|info|warn|warning|error|critical|fatal):)[^\s:/"'`]{1,63}:)(?<value>[^\s"'`:][^\s"'`]{0,999})/gi,
  },
  // What a command is given to log in.
  {
    words: ["curl", "wget", "--proxy-user"],
    pattern:
      /(?<before>(?:\b(?:curl|wget)\b(?:(?!curl|wget)[^\n]){0,400}?\s(?:-u|--user)(?:[ =]["']?|["']?)|--proxy-user[ =]["']?)[^\s:"']{0,99}:)(?<value>[^\s"']+)/g,
  },
  {
    words: ["sshpass", "docker login"],
    pattern:
      /(?<before>\b(?:sshpass|docker login\b(?:(?!login)[^\n]){0,200}?)\s-p\s?["']?)(?<value>[^\s"']+)/g,
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
const PROSE =
  "(?!(?:(?<=\\bkey: )|(?<=\\btoken: )|(?<=\\bsecret: )|(?<=\\bsecrets: ))[a-z]+ [a-z])";

/**
 * Values whose name tells that they are secret. What a template (`{% set token = ... %}`) assigns
 * is its own.
 */
export const BY_NAME: readonly SecretForm[] = [
  {
    words: ["cookie"],
    pattern:
      /(?<before>\b(?:set-)?cookies?\\*["']?(?:\s*[:=]|(?<=--cookie)\s)\s*)(?<value>[^\n]+)/gi,
  },
  {
    words: ["authorization"],
    pattern:
      /(?<before>\b(?:proxy-)?authorization\\*["']?\s*[:=]\s*\\*["']?(?:[a-z]+\s+)?)(?<value>(?<=digest\s)[^\n]+|[^\s"',;]+)/gi,
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
  // Tokens are most often pieces of text: here one of them has letters and digits as keys have.
  {
    words: ["tokens=", "tokens =", "tokens:", 'tokens"', "tokens'", "tokens\\"],
    pattern:
      /(?<before>(?<![\w.-])(?!(?:stop|start|end|special|added|bad|allowed|prompt|output|input|image|draft|eos|bos|pad|next|new|text|sampled)[_-])(?:[a-z]{1,20}[_-])?tokens\\{0,9}["']?\s?[=:]\s?\[)(?=(?:[^[\]\n<>|\u0120\u2581]{0,999}?[\s"',\\])?(?=[\w.~+/=-]{0,64}\d)(?=[\w.~+/=-]{0,64}[a-z])[\w.~+/=-]{6,}(?:[\s"',\]\\]|(?![\s\S])))(?<value>[^\]\n]+)/gi,
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
  // `<password>...</password>`.
  {
    words: ["</"],
    pattern:
      /(?<before><(?<name>[\w.-]{0,60}(?:passw(?:or)?d|passphrase|secret|token|api_?key)[\w.-]{0,60})>)(?<value>[^<>\n]+)(?=<\/)/gi,
  },
];

/** What every name of a secret has in it. Most names have nothing of it, which is told at once. */
export const IN_SECRET_NAMES = /secret|pass|token|key|credential|pwd|auth|pat/i;

/** How names are told from each other, in lower case with underscores. */
export const NAMES = {
  secret:
    /secret|passw|passphrase|passcode|_pass$|credential|token$|(?:^|_)(?:pwd|requirepass|masterauth|pat|authorization|(?:(?:api|auth|access|account|private|master|signing|encryption)_?)?key|key_data)$|(?:api_?key|(?:hf|hub|access|auth|api|bearer|refresh|session)_?token)s?(?:_|$)/,
  /** Tokens of a tokenizer. */
  textToken:
    /(?:^|_)(?:bos|eos|pad|unk|sep|cls|mask|stop|start|end|think|image|img|video|audio|special|added|next|first|last|per|each|output|prompt|draft|from)_token$/,
  /** A last word that makes a name one of a reference to a secret, or of no secret at all. */
  reference:
    /^(?:file|path|dir|name|env|variable|header|type|id|url|length|limit|count|size|ttl|expiry|mode|required|enabled)s?$/,
  /** The working directory. */
  folder: /^(?:OLD)?PWD$/,
  /** A map has keys, and programs speak of theirs: those have no digit. */
  common: /^-*key$/i,
  /** The names whose value is a secret even where it is a number. */
  strict: /passw|pwd|secret/i,
  /** What docker and npm call a login. */
  login: /^_?auth$/i,
} as const;

/** How values are told from each other. */
export const VALUES = {
  /** A count or a time: `token: 4096`, `per token: 12.5ms`. */
  figure: /^-?\d{1,5}(?:\.\d+)?[a-z%/]{0,3}$/i,
  /** A user's name and password. */
  login: /^[!-9;-~]+:[ -~]+$/,
  /** A shell's variable, with what stands for it where it is empty. */
  fallback: /^\$\{\w+:?[-=]([\s\S]*)\}$/,
  standIn:
    /^(?:|<[^<>]*>|\$(?:\w*|[@*]|\{\w+\}|\([\s\S]*\))|\{+[\w:]+\}+|%s[\s\S]*|os\.environ\/\w+|[*x.]+)$/i,
  /** The name of a header of one's own is none of its values: a router's `--session-key`. */
  placeholder: /(^|-)placeholder(-|$)|^x(-[a-z]+)+$/,
} as const;

/** Words that stand where a program insists on a value. */
export const PLACEHOLDERS: readonly string[] =
  "placeholder dummy none null undefined empty local unused ignored no-key nokey no-key-required not-needed not-used not-required changeme change-me bearer basic true false 0 1".split(
    " ",
  );

/** Defaults within defaults (`${A:-${B:-x}}`) that are looked into. */
export const MOST_FALLBACKS = 3;
