import { knownMap, knownMaps, list, text, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { MESSAGES_CLIENT } from "../../components/clients";
import { TYPE } from "../../components/planned";
import { nameOf } from "../lib/block";
import { type DeclaredResource, knownText, variables } from "../lib/container";
import { type HostInstanceClient, hostInstanceClients } from "../lib/hostInstance";
import { advice, type Finding, type Rule, violation } from "./rule";

/**
 * A messages-style client adds /v1/messages itself: with /v1 in its base URL every call is a 404
 * that blames the model.
 */
export const clientBaseUrl: Rule = {
  name: "client-base-url",
  description: "A messages-style client's base URL is a bare origin, without /v1.",
  level: "mandatory",
  judgeResource(resource) {
    return clientsOf(resource).flatMap(({ who, messagesStyle, baseUrl }) => {
      if (!messagesStyle || baseUrl === undefined) return [];
      const path = urlOf(baseUrl)?.pathname;
      if (path === "" || path === "/") return [];
      const why =
        path === undefined
          ? "is not a URL. Give scheme, host and port, such as `http://127.0.0.1:8787`."
          : `has the path \`${path}\`. The client adds /v1/messages itself, so it would call \`${path.replace(/\/$/, "")}/v1/messages\`, and the 404 looks like a fault of the model. Remove the path.`;
      return `The base URL of ${who} ${why} It is \`${baseUrl}\`.`;
    });
  },
};

/**
 * A tier that is not pinned asks for a hosted model by its real name; the 404 then looks like a
 * network failure.
 */
export const clientTiers: Rule = {
  name: "client-tiers",
  description: "Every model variable of a messages-style client names a model that is served.",
  level: "mandatory",
  judgeResource(resource) {
    return clientsOf(resource).flatMap(({ who, messagesStyle, tiers, names }) => {
      const expected = messagesStyle ? MESSAGES_CLIENT.modelVariables : [...tiers.keys()];
      const unpinned = expected.filter((name) => (tiers.get(name) ?? "") === "").join(", ");
      const unknown = [...tiers]
        .filter(([, model]) => model !== "" && names.length > 0 && !answersTo(names, model))
        .map(
          ([name, model]) =>
            `${who} asks for \`${model}\`, which is not served. Served: ${names.join(", ")}. It is the value of ${name}.`,
        );
      if (unpinned === "") return unknown;
      const missing = `${who} pins no model in ${unpinned}. An unset variable asks for a hosted model, and the 404 looks like a network failure. Set each to the served model name.`;
      return [missing, ...unknown];
    });
  },
};

/** Ollama's port. */
const SIMPLE_SERVER_PORT = "11434";

/** What an agent meets at the simple server, though its model makes tool calls. */
const AGENT_THERE =
  "The test prompts were short. We guess that small quantized models fail more often with an agent's long prompts. Ollama's documentation asks for `contextLength: 64000` or more for coding tools. By default, Ollama answers one request per model at a time. It keeps the prompts of other conversations in at most 8 GiB, which `ollama ps` doesn't count (ollama/ollama#18264): with qwen3.8:27b, two prompts of 66,000 tokens were kept, but with three none was (ollama/ollama#18072).";

/**
 * Without structured tool calls a coding client can do nothing but talk. Whether they come depends
 * on the simple server's model, so it is refused until they were seen.
 */
export const clientServer: Rule = {
  name: "client-server",
  description:
    "Coding clients use an inference server that accepts their key, or a model of the simple server that has made tool calls.",
  level: "mandatory",
  advises: true,
  judgeResource(resource) {
    return clientsOf(resource).flatMap((client) => {
      const { who, coding, onSimpleServer, asked } = client;
      if (!coding || !onSimpleServer) return [];
      const unproven = asked.filter(({ seen }) => seen === undefined);
      if (asked.length === 0 || unproven.length > 0)
        return violation(
          resource,
          `${who} would use Ollama, whose tool calls are unproven. ${whyUnproven(resource, unproven)}`,
        );
      const days = asked.map(({ model, seen }) => `\`${model}\` (${seen})`).join(", ");
      return advice(
        resource,
        `${who} uses Ollama, whose tool calls were seen. That was ${days}. ${AGENT_THERE}`,
      );
    });
  },
  judgeMachine: (group) => hostInstanceClients(group).flatMap(judgeKey),
};

/** The bridge sends a placeholder to every server: one that isn't ours may ask for a key. */
function judgeKey({ machine, who, block, via, hostInstance }: HostInstanceClient): Finding | [] {
  const key = knownText(hostInstance.keyVariable) ?? "none";
  if (via !== "bridge" || key === "none") return [];
  const message = `${who} asks A by the bridge, which doesn't have A's key. Write \`${block}.via: native\` (\`instanceA.keyVariable: ${key}\`), or point the client at another server (\`${block}.server\`).`;
  return violation(machine, message, { setting: `${block}.via`, value: "native" });
}

/** Why a coding client may not use the simple server, and what to do about it. */
function whyUnproven({ type }: DeclaredResource, unproven: ClientFacts["asked"]): string {
  if (type === TYPE.container)
    return "Recorded tool calls of Ollama's models only count for clients in the stack file. Declare it below `clients`, or point it at an inference server.";
  const names = unproven.map(({ model }) => `\`${model}\``).join(", ");
  const whose = names === "" ? "them" : `those of ${names}`;
  return `Test ${whose} with \`serving verify --record\`, which writes \`simpleServer.toolCalls\`, or point the client at an inference server.`;
}

const isSimplePort = (baseUrl: string | undefined): boolean =>
  urlOf(baseUrl ?? "")?.port === SIMPLE_SERVER_PORT;

const urlOf = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined);

const TIERS = new Set<string>(MESSAGES_CLIENT.modelVariables);

/** A client of a server, as a program declares it. */
type ClientFacts = ReturnType<typeof machineClients>[number];

/**
 * The clients that a resource declares: those of a machine, or a container that runs a
 * messages-style client.
 */
function clientsOf(resource: DeclaredResource): ClientFacts[] {
  if (resource.type === TYPE.machine) return machineClients(resource);
  if (resource.type !== TYPE.container) return [];
  const given = variables(resource.props.envs);
  const baseUrl = knownText(given.get(MESSAGES_CLIENT.baseUrlVariable));
  if (baseUrl === undefined) return [];
  // Its other variables come along; only the tiers are asked for.
  const style = { messagesStyle: true, coding: true, onSimpleServer: isSimplePort(baseUrl) };
  const tiers = texts([...given]);
  return [{ who: nameOf(resource), ...style, baseUrl, tiers, names: [], asked: [] }];
}

function machineClients(resource: DeclaredResource) {
  const seen = texts(Object.entries(knownMap(knownMap(resource.props.simpleServer).toolCalls)));
  return knownMaps(resource.props.clients).map((client) => {
    const given = Object.entries(knownMap(client.tiers));
    const tiers = texts(given);
    const names = list(client.names);
    const baseUrl = knownText(client.baseUrl);
    const kind = knownText(client.serverKind);
    return {
      /** For a message: `claude-code on dgx`, or a container's name. */
      who: `${String(text(client.client) ?? "a client")} on ${resource.name}`,
      /** Speaks /v1/messages, which it adds to its base URL itself. */
      messagesStyle: given.some(([name]) => TIERS.has(name)),
      /** Needs structured tool calls. */
      coding: client.coding === true,
      baseUrl,
      /** Variable to the model that it names; "" and a missing one are both unpinned. */
      tiers,
      /** Names that are answered to; empty where none is known. */
      names: names === UNKNOWN ? [] : names.map(String),
      /** The simple server answers it: by what the program says, else by its port. */
      onSimpleServer: kind === undefined ? isSimplePort(baseUrl) : kind === "simple-server",
      /** Each model that it asks for, with what its machine's `simpleServer.toolCalls` says of it. */
      asked: [...new Set(tiers.values())]
        .filter((model) => model !== "")
        .map((model) => ({ model, seen: seen.get(model) })),
    };
  });
}

function texts(entries: readonly (readonly [string, unknown])[]): Map<string, string> {
  return new Map(
    entries.flatMap(([name, value]) => (typeof value === "string" ? [[name, value] as const] : [])),
  );
}

/** Whether one of the names, of which some may end in `*`, answers to a model. */
function answersTo(names: readonly string[], model: string): boolean {
  return names.some((name) =>
    name.endsWith("*") ? model.startsWith(name.slice(0, -1)) : name === model,
  );
}
