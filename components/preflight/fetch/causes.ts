import { lastWords } from "@local-serving/base/faults/lastWords";

/** What was to come over the network. */
export interface FetchTarget {
  readonly kind: "image" | "model" | "program";
  /** As a person knows it: the image's reference, the model's id, the program with its version. */
  readonly name: string;
  readonly revision?: string | undefined;
  /** Variable that holds the token of the hub, where the stack file names one. */
  readonly tokenVariable?: string;
  /** Read by this program itself, which uses no proxy, and not by the hub's own tool. */
  readonly readHere?: true;
}

/** Why it didn't come, and what to do then. */
type Saying = readonly [cause: string, next: string];

const FULL: Saying = [
  "the disk is full",
  "Free some (`serving fetch --check` says how much is needed)",
];
const LOGIN: Saying = [
  "the registry has no such repository, or requires a login",
  "Log in with `{login}`, or correct `image`",
];
const NO_ROUTE =
  /dial tcp|no such host|timeout|timed out|network is unreachable|connection (refused|reset|error|aborted)|can't be reached|nothing listens|no whole answer|was closed|peer closed|closed connection|name resolution|name or service|\beof\b|offline|disconnected/i;

/** What huggingface_hub says where nothing came, whatever the reason was. */
const NOT_HERE = /local ?entry ?not ?found|cannot find the (requested files|appropriate snapshot)/i;

/** A server error of the registry or the hub, by its status or its name. */
const TROUBLE =
  /^\s*50[0234]\b|\b50[0234] (server|internal|bad|service|gateway)|internal server error|bad gateway|service unavailable/i;

/** A certificate that isn't trusted, or a server that speaks no TLS. */
const NO_TLS = /x509|certificate|\btls: |server gave http response to https/i;

const UNREACHED: readonly [image: Saying, model: Saying] = [
  ["the registry can't be reached", "Check the network (and Docker's own proxy)"],
  ["the hub can't be reached", "Check the network ({variables})"],
];

const RATE_LIMIT = /toomanyrequests|too many requests|\b429\b|rate limit/i;

/** Signs that don't say that it will never come. */
const UNCERTAIN: readonly RegExp[] = [NO_ROUTE, NO_TLS, NOT_HERE, TROUBLE, RATE_LIMIT];

/**
 * Causes by the words of docker, a registry, the hub or its tool, for an image and for a model. The
 * first that matches counts.
 */
const CAUSES: readonly (readonly [sign: RegExp, image: Saying, model: Saying])[] = [
  [/no space left|disk quota exceeded/i, FULL, FULL],
  [
    /permission denied|errno 13/i,
    ["this user may not use Docker", "Join the group `docker` and log in again"],
    [
      "its folder in the model cache belongs to another user",
      'Run `sudo chown -R "$(id -u):$(id -g)" PATH` with the path of the cache',
    ],
  ],
  [
    RATE_LIMIT,
    [
      "the registry refuses further pulls from this address for now (rate limit)",
      "Wait, or log in with `{login}`",
    ],
    ["the hub refuses further requests for now (rate limit)", "Wait {wait}, or {account}"],
  ],
  [
    /revision ?not ?found|invalid rev id/i,
    LOGIN,
    [
      "the hub has no revision {revision} of this model",
      "Correct `model.revision`: the commits are at https://huggingface.co/{name}/commits/main",
    ],
  ],
  [
    /(?<!private or )gated|requires approval|not in the authorized list|\b403\b/i,
    LOGIN,
    [
      "the model is gated, and the hub refuses access",
      "Ask for access at https://huggingface.co/{name}, and {account} of the account with access",
    ],
  ],
  [
    /manifest.*(unknown|not found)|no such manifest|name unknown|no image for this machine/is,
    [
      "the registry has no such tag or digest for this machine",
      "Correct `image`: `serving pin IMAGE:TAG --write` writes the digest of a tag that exists",
    ],
    ["the hub has no such model", "Correct `model.id`"],
  ],
  [
    /(?<!local ?)entry ?not ?found/i,
    LOGIN,
    [
      "the hub has no such file in revision {revision} of this model",
      "Look at https://huggingface.co/{name}/tree/{revision}",
    ],
  ],
  [
    /unauthorized|access.*denied|denied:|authentication required|no basic auth|invalid (user |username)|\b401\b|repository .*not found|\b404\b/i,
    LOGIN,
    [
      "the hub has no such model, or it is private ({whose})",
      "Correct `model.id`, or {account} that may read the model",
    ],
  ],
  [
    TROUBLE,
    ["the registry, or Docker itself, answers with a server error", "Wait some minutes"],
    ["the hub answers with a server error", "Wait some minutes"],
  ],
  [
    NO_TLS,
    [
      "Docker doesn't trust the registry's certificate, or the registry has none",
      "Look at the proxy in between, and at the certificates below /etc/docker/certs.d",
    ],
    ["the hub's certificate isn't trusted", "Look at the proxy in between ({variables})"],
  ],
  [NO_ROUTE, ...UNREACHED],
  [NOT_HERE, ...UNREACHED],
  [
    // What is left of Docker's words where they came as a part of its answer: the provider drops
    // them.
    /^(\* )?provider=docker@\S+$/,
    ["the Docker provider doesn't say why", "`serving fetch` names the cause"],
    ["the reason is not known", "Check the network and the model's id"],
  ],
];

/** What to run again, by which command brought it. */
export const AGAIN = {
  fetch: "`serving fetch`, which continues where it stopped",
  up: "`serving up` again, which continues where it stopped",
};

/** Says in one sentence what didn't come, why, what to do, and what to run then. */
export function explained(of: FetchTarget, words: string, again = AGAIN.fetch) {
  // What brings it is ours, and says itself why it fails.
  if (of.kind === "program") return lastWords(words);
  const [cause, next] = sayingOf(of, words);
  return `The ${of.kind} ${of.name} could not be fetched: ${cause}. ${next}, then run ${again}.`;
}

/** The same of an image that Docker pulled, with its own last words where others stand for them. */
export function pullExplained(of: FetchTarget, words: string, again?: string): string {
  const [said, told] = [lastWords(words), explained(of, words, again)];
  return said === "" || told.includes(said) ? told : `${told}\n  Docker said: ${said}`;
}

/** Why something doesn't come, in a clause with the words that say it. */
export function whyNot(of: FetchTarget, words: string): string {
  const said = lastWords(words);
  if (of.kind === "program") return said;
  const [cause] = sayingOf(of, words);
  return said === "" || said.includes(cause) ? cause : `${cause}: ${said}`;
}

/** Cause and advice for this image or model. */
function sayingOf(of: FetchTarget, words: string): Saying {
  const { kind, name, revision = "main", tokenVariable: token } = of;
  const known: Readonly<Record<string, string>> = {
    name,
    revision,
    login: `docker login ${/^([^/]*[.:][^/]*)\//.exec(name)?.[1] ?? ""}`.trim(),
    account: token
      ? `set ${token} to a token`
      : "set `huggingFaceTokenVariable` to the name of a variable that holds a token",
    variables: of.readHere ? "HF_ENDPOINT" : "HTTPS_PROXY, HF_ENDPOINT",
    wait: waitIn(words),
    whose: token ? `the token in ${token} is not accepted` : "no token is declared",
  };
  const [, image, model] = rowOf(words) ?? [];
  const unknown: Saying = [lastWords(words) || "nothing says why", "See to that"];
  const filled = (text: string) =>
    text.replace(/\{(\w+)\}/g, (whole, key: string) => known[key] ?? whole);
  const [cause, next] = (kind === "image" ? image : model) ?? unknown;
  return [filled(cause), filled(next)];
}

/** How long the hub asks to wait, where it says that. */
function waitIn(words: string): string {
  const seconds = Number(/retry after (\d+) s/i.exec(words)?.[1] ?? 0);
  return seconds === 0 ? "some minutes" : `${seconds} s`;
}

/**
 * Whether these words say that it will never come. A missing network doesn't tell, nor does a server
 * that has trouble.
 */
export function isCertain(words: string): boolean {
  const [sign] = rowOf(words) ?? [];
  return sign !== undefined && !UNCERTAIN.includes(sign);
}

/**
 * Returns the cause in the last line that names one. A traceback above it is full of figures and
 * names; of two exceptions, the second of which only says that nothing came, the first tells why.
 */
function rowOf(words: string) {
  const rows = words
    .split("\n")
    .map((line) => CAUSES.find(([sign]) => sign.test(line)))
    .filter((row) => row !== undefined);
  return rows.findLast(([sign]) => sign !== NOT_HERE) ?? rows.at(-1);
}
