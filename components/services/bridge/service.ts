import { isLoopback } from "@local-serving/machines/address";
import { isPooling } from "../../planned";
import { pinnedImage } from "../../supply";
import { type DeclaredServer, type ServiceFault, service } from "../kind";
import { type BridgeBlocks, plannedBridge } from "./plannedBridge";
import { onOtherMachine, bridgeSettings as settings } from "./settings";

/** The protocol bridge between a messages-style client and a server's chat completions. */
export const bridge = service({
  key: "bridge",
  name: "bridge",
  title: "LiteLLM",
  component: "local-serving:index:Bridge",
  settings: settings.optional(),
  image: { repository: /(^|\/)litellm/i, package: "litellm" },
  // LiteLLM 1.109.1.
  starts: {
    least: 8,
    most: 60,
    source: "8 to 14 s were measured, and its health check gives it 60",
  },
  proposed: ({ freePort, network, servers }) => ({
    block: { image: pinnedImage("litellm"), port: freePort(8787), ...network, servers },
    comments: {
      "": "Turns messages-style requests into chat completions.",
      keyVariable: "NAME of the variable of your shell that holds its key.",
    },
  }),
  takenOver: ({ ports, variables, shellVariables }) => ({
    // LiteLLM's own port.
    port: ports.get(4000),
    keyVariable: variables.has(MASTER_KEY)
      ? (shellVariables.get(MASTER_KEY) ?? MASTER_KEY)
      : undefined,
  }),
  forwards: true,
  readsOnce: true,
  names: ({ bridge: block }: BridgeBlocks) =>
    (block?.servers ?? []).flatMap((name, index) =>
      // The settings check servers of other machines, since only they see all machines.
      onOtherMachine(name) === undefined
        ? [{ name, path: ["servers", index], needsModel: true }]
        : [],
    ),
  faults,
  plan: plannedBridge,
});

/** LiteLLM's variable with the key that it asks for. */
const MASTER_KEY = "LITELLM_MASTER_KEY";

function faults(
  { bridge: block }: BridgeBlocks,
  servers: readonly DeclaredServer[],
): ServiceFault[] {
  if (block === undefined) return [];
  const { listen, keyVariable } = block;
  const found: ServiceFault[] = [];
  if (block.servers === undefined && servers.length === 0)
    found.push({
      path: ["bridge", "servers"],
      code: "missing_key",
      message: "Nothing to bridge: no inference server is declared.",
    });
  if (!isLoopback(listen) && keyVariable === undefined)
    found.push({
      path: ["bridge", "keyVariable"],
      code: "missing_key",
      message: `The bridge is published on ${listen}, which needs a key. Name the variable of your shell that holds one (\`keyVariable\`), or publish the bridge on 127.0.0.1.`,
    });
  const kinds = (block.servers ?? servers.map(({ key }) => key)).map(
    (name) => servers.find(({ key }) => key === name)?.kind,
  );
  if (kinds.length > 0 && kinds.every((kind) => kind !== undefined && isPooling(kind)))
    found.push({
      path: ["bridge"],
      code: "impossible_value",
      message:
        "No server behind the bridge writes text, so there is nothing to translate: remove the bridge, and use these servers directly.",
    });
  return found;
}
