import type { LogReading } from "../../sees/log/scanLog";
import { STARTED_MODEL, STARTED_WITH, startSign } from "../../sees/log/sign";
import { seen } from "../picture";
import { APPLY, type Row, type Told } from "../rule";
import { argumentsOf } from "./pointed";

/** What a server ends of that got no file from the hub. */
const NOTHING_CAME =
  /\b(?:401|403|407|429|451|5\d\d)\b|couldn't connect|LocalEntryNotFound|[Cc]annot find the requested files|[Pp]roxy|SOCKS|Can't load|Hugging Face Hub|huggingface\.co/;

/** A server that ended of something else: it had asked the hub again, and got an answer. */
const endedOtherwise = ({ hit: { log } }: Told): boolean =>
  log.raised?.isEnd === true &&
  ![log.raised.said, log.raised.first ?? "", ...(log.raised.before ?? [])].some((each) =>
    NOTHING_CAME.test(each),
  );

/** Arguments that may name further models of the hub. */
const NAMES_A_MODEL = /^--(?:tokenizer|hf-config-path|generation-config)$/;
const HUB_ID = /^[^/]+\/[^/]+$/;

/** Arguments of a server that name another model than its own. */
const furtherModels = (log: LogReading): readonly string[] =>
  argumentsOf(log).flatMap(({ names, value, shown }) =>
    names.some((name) => NAMES_A_MODEL.test(name)) && HUB_ID.test(value) ? shown : [],
  );

/** What huggingface_hub logs of a request that got no answer. */
const THROWN = startSign("thrown while requesting", /'([^']{3,200})' thrown while requesting/);

const BUSY = startSign(["429 Client Error", "HTTP Error 429", "Rate limited. Waiting"]);
const OUT_OF_SERVICE = startSign("HTTP Error 5", /HTTP Error (5\d\d) thrown while requesting/);

/** Why a proxy between the server and the hub doesn't let it through. */
const PROXY = startSign(
  ["407", "SOCKS", "socks", "proxy", "Proxy"],
  /ProxyError\W{1,4}((?!407)[45]\d\d\b[ \w]{0,40})|\b(407) ?(?:Proxy Authentication|Client Error|')|(Using SOCKS proxy|SOCKS support|'?socksio'?)|((?:Unknown scheme for|[Ii]nvalid(?! proxy server)|Malformed) [Pp]roxy(?: URL)?|InvalidProxyURL|Unable to determine SOCKS version|Unknown proxy scheme)/,
);
/** Addresses of the hub, or paths that it alone has. */
const HUB = "(?:huggingface\\.co|\\bhf\\.co|\\/api\\/(?:models|whoami)|\\/resolve\\/)";
/** What the hub says of a token that it doesn't take; any other 401 is somebody else's. */
const UNAUTHORIZED = startSign(
  ["401", "Invalid user token", "Invalid credentials", "s invalid", "seems invalid", "expired"],
  new RegExp(
    `\\b401 Client Error(?!.{0,200}Repository Not Found)(?=.{0,200}${HUB})|'401 Unauthorized'(?=.{0,200}${HUB})|${HUB}.{0,200}\\b401 Unauthorized|Invalid user token|Invalid credentials in Authorization|(?:HF_TOKEN|[Uu]ser [Aa]ccess [Tt]oken).{0,80} (?:is|seems) (?:invalid|expired)`,
  ),
);
const NO_REPOSITORY = startSign(["Repository Not Found", "RepositoryNotFoundError"]);
const GATED = startSign(["GatedRepoError", "gated repo"]);
/** Somebody else answers in the hub's place. */
const FILTERED = startSign(
  ["403", "451", "does not seem to be"],
  new RegExp(
    `\\b(403|451) Client Error(?=.{0,200}${HUB})|'(403|451) \\w[\\w ]*'(?=.{0,200}${HUB})|${HUB}.{0,200}\\b(403) Forbidden|does not seem to be (?:served by a Hugging Face Hub endpoint|on huggingface\\.co)`,
  ),
);

/** Whether the hub's own words, or a proxy's, say more. */
const isTold = ({ picture }: Told): boolean =>
  seen(picture, NO_REPOSITORY, GATED, PROXY) !== undefined;

/** The revision that a server was started with, in words. */
function revisionText(log: LogReading): string {
  const given = argumentsOf(log).find(({ names }) => names.includes("--revision"));
  return given === undefined || given.value === "None"
    ? ""
    : `, in its revision \`${given.value}\``;
}

/** The proxy's trouble, by which group of its sign caught something. */
const PROXY_TEXTS = [
  "The proxy between the server and the hub doesn't let it through",
  "The proxy between the server and the hub wants a name and a password (407 Proxy Authentication Required)",
  "The server is told to use a SOCKS proxy, and its Python lacks the package for that (`socksio`, PySocks)",
  "The address of the proxy that the server is told to use is none",
];

/** The model that vLLM says it loads. */
function defaultOf({ hits }: LogReading): string {
  const name = hits.get(STARTED_MODEL)?.groups.find((group) => group !== "");
  return name === undefined ? "" : ` (${name})`;
}

/** The hub that models are fetched from. */
export const hub: readonly Row[] = [
  {
    id: "hub-proxy",
    when: PROXY,
    unless: endedOtherwise,
    say: ({ hit: { groups } }) => ({
      cause: `${PROXY_TEXTS[groups.findIndex((group) => group !== "")] ?? ""}${groups[0] ? ` (${groups[0]})` : ""}.`,
      advice: `No setting to change but \`environment\` (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY): ${groups[0] ? "see whether the proxy that they name is the right one, and is well" : groups[1] ? "name a proxy that takes the server as it is, or write `http://NAME:<password>@HOST:PORT`" : "write `http://HOST:PORT`"}. Or load the model into the cache where the hub can be reached; later starts need no hub.`,
      command: "serving fetch",
    }),
  },
  {
    id: "hub-token-refused",
    when: UNAUTHORIZED,
    unless: (told) => endedOtherwise(told) || isTold(told),
    say: ({ server: { settings } }) => {
      const variable = settings?.huggingFaceTokenVariable ?? "HF_TOKEN";
      return {
        cause: `The hub refuses the token that it gets (401 Unauthorized): ${variable} is wrong, or has expired.`,
        advice:
          "No setting to change: make a new token on the hub and set it in the shell that runs `up`. A public model needs none.",
        command: `hf auth whoami; test -n "$${variable}" && ${APPLY}`,
      };
    },
  },
  {
    id: "hub-filtered",
    when: FILTERED,
    unless: (told) => endedOtherwise(told) || isTold(told),
    say: ({ hit }) => {
      const status = hit.groups.find((group) => group !== "");
      return {
        cause:
          status === undefined
            ? "Something else answers in the hub's place: a login page of the network, a proxy, or an HF_ENDPOINT that is no hub."
            : `The hub's address is refused with ${status}: a filter or a proxy of the network doesn't let the server through, or its token may not read that model.`,
        advice:
          "No setting to change, unless `environment` has HF_ENDPOINT: load the model into the cache from a network that reaches the hub. Later starts need no hub.",
        command: "serving fetch",
      };
    },
  },
  {
    id: "hub-busy",
    when: BUSY,
    unless: endedOtherwise,
    say({ server }) {
      const cause =
        "The hub answers no more requests for now (429 Too Many Requests): its rate limit is used up.";
      if (server.settings?.huggingFaceTokenVariable !== undefined)
        return {
          cause,
          advice: "No setting to change: wait, or load the model into the cache once.",
          command: "serving fetch",
        };
      return {
        cause,
        edits: [server.set(["huggingFaceTokenVariable"], "HF_TOKEN")],
        advice:
          "A token raises the limit. Or wait, and load the model into the cache once (`serving fetch`). The stack file holds the variable's name, never the token.",
        command: `test -n "$HF_TOKEN" && ${APPLY}`,
      };
    },
  },
  {
    id: "model-not-in-cache",
    when: startSign(
      ["huggingface.co", "LocalEntryNotFoundError", "OfflineModeIsEnabled"],
      /couldn't connect to 'https:\/\/huggingface\.co'|LocalEntryNotFoundError|OfflineModeIsEnabled/,
    ),
    unless: ({ picture }) =>
      seen(picture, BUSY, OUT_OF_SERVICE, PROXY, UNAUTHORIZED, FILTERED) !== undefined,
    say({ hit: { log }, server, picture }) {
      const others = furtherModels(log);
      const thrown = seen(picture, THROWN)?.groups[0];
      const given = log.hits.get(STARTED_WITH)?.groups[0];
      if (given !== undefined && !/'model(?:_tag)?': /.test(given))
        return {
          cause: `No model was named, so vLLM takes its default${defaultOf(log)}, which isn't in the cache, and the hub can't be reached to fetch it.`,
          advice:
            "Name the model: `vllm serve MODEL`, first of all words. In a script a line that goes on ends with a backslash and nothing after it.",
          command: "serving fit command.sh",
        };
      const further =
        others.length === 0 ? "" : ` Besides its model it was started with ${others.join(", ")}.`;
      return {
        cause: `A model isn't in the cache${revisionText(log)}, and the hub can't be reached to fetch it: there is no network, a proxy doesn't answer, or HF_HUB_OFFLINE is set${thrown === undefined ? "" : ` (${thrown})`}.${further}`,
        advice:
          "No setting to change, unless `modelCache` names the wrong directory, or a proxy's variable the wrong address: fill the cache while there is a network.",
        command: `hf download ${server.settings?.model.id ?? "<model>"}`,
      };
    },
  },
  {
    id: "hub-out-of-service",
    when: OUT_OF_SERVICE,
    unless: endedOtherwise,
    say: ({ hit: { groups } }) => ({
      cause: `The hub, or a proxy in front of it, is out of service (status ${groups[0]}), and the cache lacks a file of the model.`,
      advice:
        "No setting to change: wait, and load the model into the cache once. Later starts need no hub.",
      command: "serving fetch",
    }),
  },
];
