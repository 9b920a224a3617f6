/** What was to come over the network. */
export interface Wanted {
  readonly kind: "image" | "model";
  /** As a person knows it: the image's reference, the model's id. */
  readonly name: string;
  readonly revision?: string | undefined;
  /** Variable that holds the token of the hub, where the stack file names one. */
  readonly tokenVariable?: string;
}

/** Why it didn't come, and what to do then. */
type Saying = readonly [cause: string, next: string];

interface Row {
  /** How docker, a registry, the hub and its tool say it. */
  readonly sign: RegExp;
  readonly image: (of: Wanted) => Saying;
  readonly model: (of: Wanted) => Saying;
}

const FREE = "Free some (`serving fetch --check` says how much is needed)";
const account = ({ tokenVariable }: Wanted) =>
  tokenVariable === undefined
    ? "set `huggingFaceTokenVariable` to the name of a variable that holds a token"
    : `set ${tokenVariable} to a token`;
const whose = ({ tokenVariable }: Wanted) =>
  tokenVariable === undefined ? "no token is declared" : `the token in ${tokenVariable} is not accepted`;
const registryOf = ({ name }: Wanted) => /^([^/]*[.:][^/]*)\//.exec(name)?.[1] ?? "";

/** The causes by their signs; the first that fits counts. */
const CAUSES: readonly Row[] = [
  {
    sign: /no space left|disk quota exceeded/i,
    image: () => ["the disk is full", FREE],
    model: () => ["the disk is full", FREE],
  },
  {
    sign: /permission denied|errno 13/i,
    image: () => ["Docker lets this user do nothing", "Join the group `docker` and log in again"],
    model: () => [
      "its folder in the model cache belongs to another user",
      'Make it yours: `sudo chown -R "$(id -u):$(id -g)"` and the path of the cache',
    ],
  },
  {
    sign: /toomanyrequests|too many requests|\b429\b|rate limit/i,
    image: (of) => [
      "the registry lets this address pull no more for now (rate limit)",
      `Wait, or log in with \`${`docker login ${registryOf(of)}`.trim()}\``,
    ],
    model: (of) => ["the hub answers no more for now (rate limit)", `Wait some minutes, or ${account(of)}`],
  },
  {
    sign: /revision not found|invalid rev id|RevisionNotFound/i,
    image: () => ["the registry has no such image", "Correct `image`"],
    model: ({ name, revision }) => [
      `the hub has no revision ${revision ?? "main"} of it`,
      `Correct \`model.revision\`: the commits are at https://huggingface.co/${name}/commits/main`,
    ],
  },
  {
    sign: /gated|requires approval|not in the authorized list|\b403\b/i,
    image: (of) => ["the registry wants a login that may read it", loginTo(of)],
    model: (of) => [
      "the model is gated, and the hub gives no access",
      `Ask for access at https://huggingface.co/${of.name}, and ${account(of)} of that account`,
    ],
  },
  {
    sign: /manifest.*(unknown|not found)|no such manifest|not found: manifest|name unknown|no image for this machine/is,
    image: () => [
      "the registry has no such tag or digest for this machine",
      "Correct `image`: `serving pin IMAGE:TAG --write` writes the digest of a tag that exists",
    ],
    model: (of) => ["the hub has no such model", `Correct \`model.id\`, or ${account(of)} if it is private`],
  },
  {
    sign: /unauthorized|access.*denied|denied:|authentication required|no basic auth|invalid (user |username)|\b401\b|repository .*not found|\b404\b/i,
    image: (of) => ["the registry has no such repository, or wants a login", loginTo(of)],
    model: (of) => [
      `the hub knows no such model, or shows it only to its own people (${whose(of)})`,
      `Correct \`model.id\`, or ${account(of)} that may read it`,
    ],
  },
  {
    sign: /dial tcp|no such host|timeout|timed out|network is unreachable|connection (refused|reset|error|aborted)|can't be reached|nothing listens|no whole answer|was closed|name resolution|name or service|\beof\b|local entry not found|offline|disconnected|incomplete.*read|cannot find the requested files/i,
    image: () => ["the registry can't be reached", "See to the network (and Docker's own proxy)"],
    model: () => ["the hub can't be reached", "See to the network (HTTPS_PROXY, HF_ENDPOINT)"],
  },
];

function loginTo(of: Wanted): string {
  return `Log in with \`${`docker login ${registryOf(of)}`.trim()}\`, or correct \`image\``;
}

/** One sentence: what didn't come, why, what to do, and what to run then. */
export function explained(of: Wanted, words: string, again = "`serving fetch`: it goes on where it ended") {
  const row = CAUSES.find(({ sign }) => sign.test(words));
  const lines = words.trim().split("\n");
  const [cause, next] = row?.[of.kind](of) ?? [lines.at(-1) || "nothing says why", "See to that"];
  return `The ${of.kind} ${of.name} could not be fetched: ${cause}. ${next}, then run ${again}.`;
}

/** Whether these words say that there is no way to the registry or the hub, which says nothing of what was asked for. */
export function isUnreachable(words: string): boolean {
  return CAUSES.find(({ sign }) => sign.test(words)) === CAUSES.at(-1);
}
