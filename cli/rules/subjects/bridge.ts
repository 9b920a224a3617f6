import { shellWord } from "@local-serving/base/faults/shellWords";
import { EVERY_ADDRESS, isLoopback } from "@local-serving/machines/address";
import { sign } from "../../sees/log/sign";
import {
  machineEdit,
  type Picture,
  type Sighting,
  seen,
  serverOf,
  setting,
  textSetting,
} from "../picture";
import {
  APPLY,
  NOT_OUR_FILE,
  type OfServer,
  type Row,
  toWrite,
  type WeighingRule,
  type Words,
} from "../rule";
import { alreadyDeclared, serverSetting } from "./asPlanned";

/** An answer of the messages path that ends the turn with a call written out as text. */
const CALL_AS_TEXT = sign(
  ["end_turn"],
  /"stop_reason"\s*:\s*"end_turn".{0,8000}<(?:tool_call|function=|invoke|function_calls)|<(?:tool_call|function=|invoke|function_calls).{0,8000}"stop_reason"\s*:\s*"end_turn"/,
);
/** What `serving verify` says of the native path, in any wording. */
const PROBE_FAILED = sign(["native"], /\bnative\b.{0,200}\bend_turn\b/);

const HIT_RATE = sign("Prefix cache hit rate:", /Prefix cache hit rate: ([\d.]+)%/, {
  keep: "largest",
});
/** The same line after ten seconds in which prompts of 1,000 tokens and more came in. */
const LONG_PROMPTS = sign(
  "Avg prompt throughput:",
  /Avg prompt throughput: [1-9]\d{2,}[\d.]* tokens.*Prefix cache hit rate:/,
);
const CLIENT_CALLS = sign(
  ["/v1/messages", "/v1/chat/completions", "/v1/responses"],
  /"POST \/v1\/(?:messages|chat\/completions|responses)\S* HTTP\/[\d.]+" 200/,
);

/**
 * The header with a hash of its own that a client puts before its system prompt, where a log or a
 * request shows it.
 */
const HASHED_HEADER = sign("x-anthropic-billing-header:");

/** What `serving verify` says where a second call reuses next to nothing of the first. */
const PROBE_COLD = sign(
  "of the second call's prompt came from the cache",
  /probe \S+: \d+ % of the second call's prompt came from the cache/,
);

/** The log's own word that there is no prefix cache. */
const CACHE_OFF = sign("'enable_prefix_caching': False");

/**
 * A rate is printed every ten seconds. The first ones are 0 everywhere, short prompts never hit,
 * and a cold prompt of 100,000 tokens takes two minutes: without calls in the log more of them are
 * needed.
 */
const ENOUGH_RATES = { withCalls: 3, alone: 15 };
const ENOUGH_CALLS = 5;
/** Calls in the time of one rate that leave its prompts long: many short ones make the same rate. */
const FEW_CALLS = 4;
const NEAR_ZERO_PERCENT = 1;

/** Where the messages-style client goes through the bridge, and the bridge translates. */
function throughTheBridge(picture: Picture) {
  const edits = [];
  if (setting(picture, "bridge", "messagesPath") === "passThrough")
    edits.push(machineEdit(picture, ["bridge", "messagesPath"], "translate"));
  if (setting(picture, "clients", "claudeCode", "via") !== "bridge" || edits.length === 0)
    edits.push(machineEdit(picture, ["clients", "claudeCode", "via"], "bridge"));
  if (picture.stack === undefined || setting(picture, "bridge") !== undefined) return { edits };
  return {
    edits: [machineEdit(picture, ["bridge", "image"], SOUND_IMAGE), ...edits],
    advice: "The machine has no bridge yet: the change declares one.",
  };
}

/**
 * The client's own switch; for a client that isn't declared yet, its `via` has to be declared too.
 */
function withoutHeader(picture: Picture) {
  const client = ["clients", "claudeCode"];
  const environment = { CLAUDE_CODE_ATTRIBUTION_HEADER: "0" };
  if (picture.stack === undefined || setting(picture, ...client) !== undefined)
    return machineEdit(picture, [...client, "environment", "CLAUDE_CODE_ATTRIBUTION_HEADER"], "0");
  const via = setting(picture, "bridge") === undefined ? "native" : "bridge";
  return machineEdit(picture, client, { via, environment });
}

/** A rate that stayed near zero for long enough to mean something. */
function coldRate(picture: Picture) {
  const hit = seen(picture, HIT_RATE);
  if (hit === undefined || Number(hit.groups[0]) > NEAR_ZERO_PERCENT) return undefined;
  if (seen(picture, HASHED_HEADER) !== undefined) return hit;
  const { hits } = hit.log;
  const rates = hits.get(LONG_PROMPTS)?.count ?? 0;
  const calls = hits.get(CLIENT_CALLS)?.count;
  const enough =
    calls === undefined
      ? rates >= ENOUGH_RATES.alone
      : calls >= ENOUGH_CALLS && rates >= ENOUGH_RATES.withCalls && calls <= FEW_CALLS * rates;
  return enough ? hit : undefined;
}

const COMPROMISED = sign(["1.82.7", "1.82.8"], /[Ll]ite[Ll][Ll][Mm]\D{0,40}\bv?(1\.82\.[78])\b/);

/** A release that is known to be sound, by the digest of its multi-arch index. */
const SOUND_IMAGE =
  "ghcr.io/berriai/litellm:v1.103.0@sha256:bd089afdcd35b894b14a93f9743cdc8b591f82da1a38dd43a010a7b0c9de5fd7";

/** A server that the bridge doesn't reach: where it looks, and why not, as far as it says so. */
const UPSTREAM_DOWN = sign(
  ["Exception - "],
  /\b(?:[Hh]osted_vllm|OpenAI|[Oo]penai_like|Ollama(?:_chat)?|[Ll]m_studio|[Vv]llm)Exception - .{0,80}?(?:Cannot connect to host \[?([\w.:-]+?)\]?:(\d+)\b(?:.{0,20}\[((?:Temporary|Name|No address)[^\]]*))?|(Connection error|All connection attempts failed))/,
);
/** The address of an entry, in a configuration that the log shows. */
const API_BASE = sign(
  "api_base",
  /\bapi_base['"]?\s*[:=]\s*['"]?https?:\/\/\[?([\w.:-]+?)\]?:(\d+)\b/,
);

/** Whether an address leads to nothing but the container that asks it. */
const isItself = (host: string): boolean => isLoopback(host) || EVERY_ADDRESSES.includes(host);
const EVERY_ADDRESSES = [EVERY_ADDRESS, "::"];

/** What is said of a server that nothing answers for. */
function upstreamDown(hit: Sighting, picture: Picture): Words {
  const shown = hit.groups[0] === "" ? hit.log.hits.get(API_BASE)?.groups : hit.groups;
  const [host = "", port = ""] = shown ?? [];
  const unresolved = hit.groups[2];
  const { containers } = picture;
  if (host === "")
    return {
      cause:
        "The bridge doesn't reach its server, and doesn't say where it looks (Connection error).",
      advice: `Compare \`api_base\` of that model in the bridge's own file with where the server listens. ${FROM_A_CONTAINER} ${leadsOut("PORT")}`,
      command: "docker ps --all; serving status --wait",
    };
  // The bridge keeps its log while a server is replaced.
  if (containers?.some(({ name, health }) => name === host && health === "healthy"))
    return {
      cause: `Nothing answered the bridge at ${host}:${port} while the server was down or starting; it is healthy now.`,
      advice: "Nothing to change.",
      command: "serving verify",
    };
  if (unresolved)
    return {
      cause: `The bridge finds no address of ${host} (${unresolved}): no container of that name is on its network.`,
      advice: `Put both on one Docker network (\`docker network connect\`), where a container's name is its address. ${leadsOut(port)}`,
      command: `docker inspect --format '{{.Name}} {{json .NetworkSettings.Networks}}' $(docker ps -q)`,
    };
  return isItself(host)
    ? ofItself(host, port, setting(picture, "bridge") !== undefined)
    : {
        cause: `Nothing answers the bridge at ${host}:${port}: the server is down or still starting.`,
        advice:
          "No setting to change, unless the server itself has a diagnosis: look at its container first.",
        command: `docker ps --all --filter publish=${port}; serving status --wait`,
      };
}

const FROM_A_CONTAINER =
  "In a container neither localhost nor 0.0.0.0 is the machine: both are that container itself.";
const leadsOut = (port: string) =>
  `An address that leads out of a container is \`http://host.docker.internal:${port}/v1\`, with \`--add-host=host.docker.internal:host-gateway\`.`;

/** An address that a bridge can't reach a server by from its container. */
function ofItself(host: string, port: string, isOurs: boolean): Words {
  const every = EVERY_ADDRESSES.includes(host)
    ? `The bridge asks ${host}:${port}, which is an address to listen on and none to ask, and nothing answers there: in a container that is the container itself.`
    : `The bridge looks for the server on loopback (${host}:${port}), and nothing answers there: in a container that is the container itself.`;
  return {
    cause: every,
    advice: isOurs
      ? NOT_OUR_FILE
      : `Start the server, if it doesn't run. From a container write an address that leads out of it as \`api_base\`, such as \`http://host.docker.internal:${port}/v1\` with \`--add-host=host.docker.internal:host-gateway\`.`,
    command: isOurs
      ? "serving up"
      : `curl -sS http://127.0.0.1:${port}/v1/models; serving status --wait`,
  };
}

/** Probes that ask twice, and look what is found again. */
const REUSE = ["prefix-reuse", "native-messages-path"];

/** The native messages path, and the bridge that stands in for it, and the prefix cache. */
export const bridgeRules: readonly (WeighingRule | Row | OfServer)[] = [
  {
    id: "system-role-refused",
    // vLLM up to 0.22 and templates of the qwen kind, in the words of pydantic, of the template and
    // of the probe.
    when: sign(
      [
        "System message must be at the beginning",
        "system message must be at the beginning",
        "'user' or 'assistant'",
        "unknown variant",
      ],
      /[Ss]ystem message must be at the beginning|unknown variant [`']system|role.{0,160}Input should be 'user' or 'assistant'|Input should be 'user' or 'assistant'.{0,160}system/,
    ),
    say({ picture, server }) {
      const { edits, advice } = throughTheBridge(picture);
      const template = server.settings?.chatTemplate;
      return {
        cause:
          "The server or the model's chat template refuses a system element in the middle of messages[].",
        edits: template === undefined ? edits : [server.set(["chatTemplate"], undefined), ...edits],
        advice,
        command: `${APPLY} && serving verify --only messages-tools,native-messages-path`,
      };
    },
  },
  {
    id: "native-path-fails",
    when: [CALL_AS_TEXT, PROBE_FAILED],
    // Where tools work nowhere, it isn't the path.
    unless: ({ picture: { probes = [] } }) =>
      probes.some(
        ({ name, status }) => ["chat-tools", "messages-tools"].includes(name) && status === "fail",
      ),
    say: ({ picture }) => ({
      cause:
        "On this build the native messages path writes tool calls as text and ends the turn: about 90 % of long agent runs stop after one turn without an error.",
      ...throughTheBridge(picture),
      command: `${APPLY} && serving verify --only native-messages-path`,
    }),
  },
  {
    id: "prefix-cache-cold",
    explain(picture) {
      const probed = seen(picture, PROBE_COLD);
      const hit = coldRate(picture) ?? probed;
      if (hit === undefined) return undefined;
      const server = serverOf(picture, hit.log);
      const command = `${APPLY} && serving verify --only prefix-reuse`;
      if (server.settings?.prefixCaching === false || hit.log.hits.has(CACHE_OFF))
        return {
          cause:
            "Prefix caching is off: the server computes every turn of an agent from the start.",
          evidence: hit.line,
          edits: [server.set(["prefixCaching"], true)],
          advice: "Without it an agent loop is very slow.",
          command,
        };
      // The probe's own prompts hold no hash.
      if (hit === probed) return undefined;
      return {
        cause:
          "No prompt begins like an earlier one: a client puts a hash of its own into each system prompt.",
        evidence: hit.line,
        edits: [withoutHeader(picture)],
        advice:
          "vLLM 0.19.1 and later drop the header on /v1/messages where the system prompt is a list of blocks. A prompt shorter than a block of a hybrid model never hits.",
        command,
      };
    },
  },
  {
    id: "bridge-wrong-key",
    when: sign(["No connected db", "No api key passed in", "Invalid proxy server token passed"]),
    say({ picture, hit }) {
      const variable = textSetting(picture, "bridge", "keyVariable");
      return {
        cause: hit.line.includes("No connected db")
          ? "A client sent another key than the bridge's, so the bridge looks for it in a database, and has none."
          : hit.line.includes("Invalid proxy server token")
            ? "A client sent another key than the bridge's."
            : "A client sent no key to the bridge.",
        advice:
          variable === undefined
            ? "No setting to change: start the client with its launcher, which sends the placeholder that the bridge knows."
            : `No setting to change: export ${variable} with the value that the bridge was started with, then start the client with its launcher.`,
        command: "local-claude",
      };
    },
  },
  {
    id: "bridge-upstream-down",
    when: UPSTREAM_DOWN,
    say: ({ hit, picture }) => upstreamDown(hit, picture),
  },
  {
    id: "bridge-compromised",
    explain(picture) {
      const running = picture.containers?.find(({ image }) =>
        /litellm\S*:v?1\.82\.[78]\b/.test(image),
      );
      const shown = running && `container ${running.name}: image ${running.image}`;
      const evidence = seen(picture, COMPROMISED)?.line ?? shown;
      if (evidence === undefined) return undefined;
      return {
        cause:
          "This LiteLLM is one of two releases that steal credentials: stop it, and change every key it could read.",
        evidence,
        ...(picture.stack !== undefined && setting(picture, "bridge") === undefined
          ? {
              advice:
                "No setting to change: the stack file declares no bridge, so this one was started by hand.",
            }
          : { edits: [machineEdit(picture, ["bridge", "image"], SOUND_IMAGE)] }),
        command: running === undefined ? APPLY : `docker stop ${shellWord(running.name)}`,
      };
    },
  },
  /** A server that keeps no prefix, as its own metrics say. */
  {
    id: "prefix-cache-off",
    find(seen) {
      if (seen.running.prefixCaching !== false) return undefined;
      const setting = `${serverSetting(seen, "prefixCaching")}: true`;
      return {
        cause: "The prefix cache is off: every call of an agent reads its whole prompt again.",
        advice: seen.declared.prefixCaching
          ? alreadyDeclared(seen, "enable-prefix-caching", setting)
          : `${toWrite(setting)}.`,
        probes: seen.failed.filter((name) => REUSE.includes(name)),
      };
    },
  },
];
