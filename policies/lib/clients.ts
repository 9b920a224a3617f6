import { BASE_URL_VARIABLE, TIER_VARIABLES } from "../../components/clients/claudeCode";
import { knownMap, knownMaps, list, text, UNKNOWN } from "../../components/inference-server/argv/unknown";
import { TYPE } from "../../components/planned/type";
import { type DeclaredResource, displayName, variables } from "./container";

const TIERS = new Set<string>(TIER_VARIABLES);

/** A client of a server, as a program declares it. */
export interface ClientFacts {
  /** For a message: `claude-code on dgx`, or a container's name. */
  readonly who: string;
  /** Speaks /v1/messages, which it adds to its base URL itself. */
  readonly messagesStyle: boolean;
  /** Needs structured tool calls. */
  readonly coding: boolean;
  readonly baseUrl: string | undefined;
  /** Variable to the model that it names; "" and a missing one are both unpinned. */
  readonly tiers: ReadonlyMap<string, string>;
  /** Names that are answered to; empty where none is known. */
  readonly names: readonly string[];
  /** The simple server answers it, by what the program says. */
  readonly onSimpleServer: boolean;
}

/** The clients that a resource declares: those of a machine, or a container that runs a messages-style client. */
export function clientsOf(resource: DeclaredResource): ClientFacts[] {
  if (resource.type === TYPE.machine) return machineClients(resource);
  if (resource.type !== TYPE.container) return [];
  const given = variables(resource.props.envs);
  const baseUrl = given.get(BASE_URL_VARIABLE);
  if (typeof baseUrl !== "string") return [];
  return [
    {
      who: displayName(resource),
      messagesStyle: true,
      coding: true,
      baseUrl,
      tiers: texts([...given].filter(([name]) => TIERS.has(name))),
      names: [],
      onSimpleServer: false,
    },
  ];
}

function machineClients(resource: DeclaredResource): ClientFacts[] {
  return knownMaps(resource.props.clients).map((client): ClientFacts => {
    const given = Object.entries(knownMap(client.tiers));
    const names = list(client.names);
    const baseUrl = text(client.baseUrl);
    return {
      who: `${String(text(client.client) ?? "a client")} on ${resource.name}`,
      messagesStyle: given.some(([name]) => TIERS.has(name)),
      coding: client.coding === true,
      baseUrl: typeof baseUrl === "string" ? baseUrl : undefined,
      tiers: texts(given),
      names: names === UNKNOWN ? [] : names.map(String),
      onSimpleServer: text(client.serverKind) === "simple-server",
    };
  });
}

function texts(entries: readonly (readonly [string, unknown])[]): Map<string, string> {
  return new Map(entries.flatMap(([name, value]) => (typeof value === "string" ? [[name, value] as const] : [])));
}

/** Whether one of the names, of which some may end in `*`, answers to a model. */
export function answersTo(names: readonly string[], model: string): boolean {
  return names.some((name) => (name.endsWith("*") ? model.startsWith(name.slice(0, -1)) : name === model));
}
