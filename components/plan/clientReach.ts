import {
  EVERY_ADDRESS,
  hostOnNetwork,
  isClosed,
  isLoopback,
} from "@local-serving/machines/address";
import { CLIENTS, type ClientPlan, MESSAGES_CLIENT } from "../clients";
import type { Upstream } from "../planned";
import type { MachineFault, MachineSettings } from "../settings";

/** Finds what keeps clients on other computers from their servers, each with what to write. */
export function clientReachFaults(
  { bridge, ...machine }: MachineSettings,
  clients: readonly ClientPlan[],
  servers: readonly Upstream[],
): MachineFault[] {
  const faults: MachineFault[] = [];
  const fault = (path: string, code: string, message: string) =>
    faults.push({ path: path.split("."), code, message });
  const asked = clients.map(({ client, via, server }) => {
    const upstream = servers.find(({ key }) => key === server) ?? {
      address: EVERY_ADDRESS,
      port: 0,
    };
    const own = upstream.address;
    const onNetwork = bridge?.listen ?? EVERY_ADDRESS;
    if (via === "bridge") return onNetwork;
    if (!isClosed(upstream)) return own;
    const setting = `clients.${CLIENTS.find(({ name }) => name === client)?.key}.via`;
    const behind = bridge?.servers?.includes(server) ?? bridge !== undefined;
    const put = behind
      ? ""
      : `, with \`${server}\` behind a \`bridge\` on the network (guide: on the local network)`;
    const message = `${client} talks to \`${server}\` directly, which listens only on ${own}: no other computer can reach it. Write \`${setting}: bridge\`${put}.`;
    fault(setting, "impossible_value", message);
    return onNetwork;
  });
  const ownUrl = machine.clients.claudeCode?.environment[MESSAGES_CLIENT.baseUrlVariable] ?? "";
  const setting = `clients.claudeCode.environment.${MESSAGES_CLIENT.baseUrlVariable}`;
  if (URL.canParse(ownUrl) && isLoopback(new URL(ownUrl).hostname))
    fault(
      setting,
      "impossible_value",
      `At ${ownUrl}, other computers would ask themselves. Delete \`${setting}\`: the right address is filled in.`,
    );
  if (bridge !== undefined && asked.includes(bridge.listen) && isLoopback(bridge.listen)) {
    const key =
      "`bridge.keyVariable: LOCAL_SERVING_BRIDGE_KEY`, the NAME of the variable of your shell with its key";
    const message = `The bridge listens only on ${bridge.listen}: no other computer can reach it. Write \`bridge.listen: ${EVERY_ADDRESS}\`${bridge.keyVariable === undefined ? `, and ${key}` : ""}.`;
    fault("bridge.listen", "impossible_value", message);
  }
  const unnamed = asked.some((address) => address === EVERY_ADDRESS || isLoopback(address));
  const message =
    "Other computers need a name or address to reach the machine. Write one, such as `clients.host: dgx.local`.";
  if (unnamed && hostOnNetwork(machine, machine.clients.host) === undefined)
    fault("clients.host", "missing_key", message);
  return faults;
}
