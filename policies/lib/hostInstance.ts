import { knownMap, knownMaps } from "@local-serving/vllm/argv/unknown";
import { CLIENTS } from "../../components/clients";
import { INSTANCE_A } from "../../components/planned/fields";
import { type DeclaredResource, knownText } from "./container";
import type { MachineGroup } from "./machines";

/** A coding client of a machine. */
export interface CodingClient {
  readonly machine: DeclaredResource;
  /** For a message: `claude-code on dgx`. */
  readonly who: string;
  /** Its block below the machine: `clients.claudeCode`. */
  readonly block: string;
  readonly via: string | undefined;
  /** Key of the server that it is pointed at. */
  readonly server: string | undefined;
  readonly serverKind: string | undefined;
  /** Each variable that names a model, with the name. */
  readonly tiers: readonly (readonly [variable: string, model: string])[];
  /** Names that its server or bridge answers to. */
  readonly names: readonly string[];
}

/** A coding client that is pointed at instance A. */
export interface HostInstanceClient extends CodingClient {
  /** What is declared of instance A. */
  readonly hostInstance: Readonly<Record<string, unknown>>;
}

/** The coding clients of a machine. */
export function codingClients({ component }: MachineGroup): CodingClient[] {
  if (component === undefined) return [];
  return knownMaps(component.props.clients)
    .filter(({ coding }) => coding === true)
    .map(({ client, via, server, serverKind, tiers, names }) => {
      const name = knownText(client) ?? "a client";
      const key = CLIENTS.find((each) => each.name === name)?.key ?? name;
      const asked = Object.entries(knownMap(tiers)).flatMap(([variable, given]) => {
        const model = knownText(given);
        return model === undefined ? [] : [[variable, model] as const];
      });
      return {
        machine: component,
        who: `${name} on ${component.name}`,
        block: `clients.${key}`,
        via: knownText(via),
        server: knownText(server),
        serverKind: knownText(serverKind),
        tiers: asked,
        names: Array.isArray(names) ? names.flatMap((each) => knownText(each) ?? []) : [],
      };
    });
}

/** The coding clients of a machine that are pointed at its instance A. */
export function hostInstanceClients(group: MachineGroup): HostInstanceClient[] {
  const hostInstance = knownMap(group.component?.props.hostInstance);
  return codingClients(group)
    .filter(({ server }) => server === INSTANCE_A)
    .map((client) => ({ ...client, hostInstance }));
}
