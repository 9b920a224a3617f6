import { CLIENTS } from "../../components/clients";
import { INSTANCE_A } from "../../components/fields";
import { knownMap, knownMaps } from "../../vllm/argv/unknown";
import { type DeclaredResource, knownText } from "./container";
import type { MachineGroup } from "./machines";

/** A coding client that is pointed at instance A. */
export interface HostInstanceClient {
  readonly machine: DeclaredResource;
  /** For a message: `claude-code on dgx`. */
  readonly who: string;
  /** Its block below the machine: `clients.claudeCode`. */
  readonly block: string;
  readonly via: string | undefined;
  /** Names that it asks for. */
  readonly models: readonly string[];
  /** What is declared of instance A. */
  readonly hostInstance: Readonly<Record<string, unknown>>;
}

/** The coding clients of a machine that are pointed at its instance A. */
export function hostInstanceClients({ component }: MachineGroup): HostInstanceClient[] {
  if (component === undefined) return [];
  const { clients, hostInstance } = component.props;
  return knownMaps(clients)
    .filter(({ coding, server }) => coding === true && server === INSTANCE_A)
    .map(({ client, via, tiers }) => {
      const name = knownText(client) ?? "a client";
      const key = CLIENTS.find((each) => each.name === name)?.key ?? name;
      const models = Object.values(knownMap(tiers)).flatMap((model) => knownText(model) ?? []);
      return {
        machine: component,
        who: `${name} on ${component.name}`,
        block: `clients.${key}`,
        via: knownText(via),
        models: [...new Set(models)],
        hostInstance: knownMap(hostInstance),
      };
    });
}
