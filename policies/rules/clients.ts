import { MESSAGES_CLIENT } from "../../components/clients";
import { TYPE } from "../../components/planned";
import { knownMap, knownMaps, list, text, UNKNOWN } from "../../vllm/argv/unknown";
import { type DeclaredResource, displayName, knownText, variables } from "../lib/container";
import type { Rule } from "./rule";

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
          ? "which is not a URL. Give scheme, host and port, such as `http://127.0.0.1:8787`."
          : `which has the path \`${path}\`. It adds /v1/messages itself, so it would call \`${path.replace(/\/$/, "")}/v1/messages\`, and the 404 looks like a fault of the model. Remove the path.`;
      return `${who} has the base URL \`${baseUrl}\`, ${why}`;
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
      const missing = `${who} pins no model in ${unpinned}. What is not pinned asks for a hosted model's own name, and the 404 looks like a network failure. Set each to the served name.`;
      const unknown = [...tiers]
        .filter(([, model]) => model !== "" && names.length > 0 && !answersTo(names, model))
        .map(
          ([name, model]) =>
            `${who} asks for \`${model}\` (${name}), which is not served. Served: ${names.join(", ")}.`,
        );
      return unpinned === "" ? unknown : [missing, ...unknown];
    });
  },
};

/** Ollama's port. */
const SIMPLE_SERVER_PORT = "11434";

/**
 * The simple server makes no structured tool calls, without which a coding client can do nothing
 * but talk.
 */
export const clientServer: Rule = {
  name: "client-server",
  description: "Coding clients use an inference server, not the simple server.",
  level: "mandatory",
  judgeResource(resource) {
    return clientsOf(resource).flatMap(({ who, coding, baseUrl, onSimpleServer }) => {
      if (!coding || !(onSimpleServer || urlOf(baseUrl ?? "")?.port === SIMPLE_SERVER_PORT))
        return [];
      return `${who} is a coding client and would use the simple server (${baseUrl ?? "Ollama"}), which makes no structured tool calls. Point it at an inference server.`;
    });
  },
};

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
  const style = { messagesStyle: true, coding: true, onSimpleServer: false };
  return [{ who: displayName(resource), ...style, baseUrl, tiers: texts([...given]), names: [] }];
}

function machineClients(resource: DeclaredResource) {
  return knownMaps(resource.props.clients).map((client) => {
    const given = Object.entries(knownMap(client.tiers));
    const names = list(client.names);
    return {
      /** For a message: `claude-code on dgx`, or a container's name. */
      who: `${String(text(client.client) ?? "a client")} on ${resource.name}`,
      /** Speaks /v1/messages, which it adds to its base URL itself. */
      messagesStyle: given.some(([name]) => TIERS.has(name)),
      /** Needs structured tool calls. */
      coding: client.coding === true,
      baseUrl: knownText(client.baseUrl),
      /** Variable to the model that it names; "" and a missing one are both unpinned. */
      tiers: texts(given),
      /** Names that are answered to; empty where none is known. */
      names: names === UNKNOWN ? [] : names.map(String),
      /** The simple server answers it, by what the program says. */
      onSimpleServer: knownText(client.serverKind) === "simple-server",
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
