import { defined } from "@local-serving/base/faults/defined";
import type { Listening } from "@local-serving/machines/address";
import type { MachinePlan } from "../../components/plan";
import { isPooling, keyFault, PLACEHOLDER_KEY } from "../../components/planned";
import { type Api, MESSAGES_VERSION } from "../sees/api";
import type { Host } from "../sees/host";
import type { BridgeTarget, ServerTarget, Target } from "./target";

export type Here = Pick<Target, "machine" | "host" | "unreachable">;

/** Something on the machine that is asked by HTTP, or why it can't be asked from here. */
export type At = (
  listening: Listening,
  headers?: Readonly<Record<string, string>>,
) => Here & { readonly api: Api };

export const messagesClient = ({ clients }: MachinePlan) =>
  clients.find((each) => each.surface === "messages");

/** The bridge of a machine. It is asked for a model whose server runs. */
export function bridgeTargets(
  machine: MachinePlan,
  { env }: Host,
  at: At,
  servers: readonly ServerTarget[],
): BridgeTarget[] {
  const { bridge } = machine;
  if (bridge === null) return [];
  const client = messagesClient(machine);
  const tiers =
    client?.via === "bridge" ? Object.values(client.tiers).filter((name) => name !== "") : [];
  const keyVariable = bridge.key?.variable;
  const key = keyVariable === undefined ? PLACEHOLDER_KEY : (env[keyVariable] ?? "");
  // A bad key is a fault by itself (probe bridge-key), and travels nowhere.
  const bad = keyVariable !== undefined && keyFault(key) !== undefined;
  const place = at(
    bridge,
    bad ? MESSAGES_VERSION : { ...MESSAGES_VERSION, authorization: `Bearer ${key}` },
  );
  const keyless =
    key === "" ? `its key is in the variable ${keyVariable}, which is not set here` : undefined;
  const { server, isStopped, why } = askedBehind(bridge, servers);
  return [
    {
      kind: "bridge",
      name: bridge.container.name,
      ...place,
      unreachable: keyless ?? place.unreachable ?? (server === undefined ? why : undefined),
      model: why === undefined ? (bridge.names[0] ?? "") : (server?.server.servedModelName ?? ""),
      names: bridge.names.filter((name) => !name.endsWith("*")),
      keyVariable,
      tiers: [...new Set(tiers)].filter((name) => !isStopped(name)),
      server,
      ...defined({ stopped: why }),
    },
  ];
}

/**
 * The server behind the bridge that its probes ask: the first, or where that starts on request and
 * doesn't run, the next one that writes text and does. `why` says that the first doesn't run.
 */
function askedBehind(
  { servers: keys, models }: NonNullable<MachinePlan["bridge"]>,
  servers: readonly ServerTarget[],
) {
  const [first, ...others] = keys.map((key) => servers.find(({ server }) => server.key === key));
  const why = first?.stopped;
  const running = others.find(
    (each) =>
      each !== undefined && each.stopped === undefined && !isPooling(each.server.model.kind),
  );
  const away = servers.filter(({ stopped }) => stopped !== undefined);
  const isStopped = (name: string) => {
    const reached = models.find((each) => each.name === name)?.model;
    return away.some(({ server }) => reached === `hosted_vllm/${server.servedModelName}`);
  };
  return { server: why === undefined ? first : running, isStopped, why };
}
