import type { BridgePlan } from "../bridge/plannedBridge";
import type { ChatUiPlan } from "../chat-ui/plannedChatUi";
import type { ClientPlan } from "../clients/plannedClients";
import type { Warning } from "../planned/facts";
import { isLoopback, type Upstream } from "../planned/reach";
import type { MachineSettings } from "../settings/machine";

/** Prompt that an agent sends with every call, at its largest: instructions and tools (30,000 to 40,000 tokens). */
const ENVELOPE_TOKENS = 40_000;

/** What an operator should know of a machine's services and clients before they run. */
export function serviceWarnings(
  name: string,
  machine: MachineSettings,
  servers: readonly Upstream[],
  planned: {
    readonly bridge: BridgePlan | null;
    readonly chatUi: ChatUiPlan | null;
    readonly clients: readonly ClientPlan[];
  },
): Warning[] {
  const warnings: Warning[] = [];
  const warn = (code: string, message: string) => warnings.push({ machine: name, code, message });
  const { bridge, chatUi, clients } = planned;

  for (const service of [bridge, chatUi]) {
    for (const server of servers) {
      if (service === null || !service.servers.includes(server.key)) continue;
      if (server.container === undefined && isLoopback(server.address))
        warn(
          "loopback-only",
          `${service.container.name} can't reach ${server.key}: it listens on ${server.address} only. Let it listen on 0.0.0.0, and keep port ${server.port} closed to the network.`,
        );
    }
  }
  if (chatUi !== null && !isLoopback(chatUi.address))
    warn(
      "first-sign-up",
      `${chatUi.container.name} can be reached from the network, and the first who signs up is its administrator: sign up as soon as it runs.`,
    );
  for (const client of clients) {
    const server = servers.find((each) => each.key === client.server);
    const output = client.maxOutputTokens;
    if (server?.maxModelLen !== undefined && output !== undefined) {
      const left = server.maxModelLen - output;
      if (left < ENVELOPE_TOKENS)
        warn(
          "client-window",
          `${client.client}: of ${server.maxModelLen} tokens, ${output} of output leave ${left} for the prompt, and an agent's own instructions take 30,000 to 40,000. Lower \`maxOutputTokens\` or raise \`maxModelLen\`.`,
        );
    }
    const reached = client.via === "bridge" ? bridge?.address : server?.address;
    const { host } = machine.clients;
    if (host !== undefined && !isLoopback(host) && reached !== undefined && isLoopback(reached))
      warn(
        "client-host",
        `${client.client} can't reach its server at ${host}: ${client.via === "bridge" ? "the bridge" : "it"} is published on ${reached} only. Let the client go through the bridge (\`via: bridge\`) and publish that, with a key (\`bridge.listen: 0.0.0.0\`, \`bridge.keyVariable\`), or remove \`clients.host\`.`,
      );
  }
  return warnings;
}
