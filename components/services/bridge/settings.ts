import * as z from "zod";
import { optional, strictObject } from "zod";
import {
  bridgedServer,
  containerImage,
  gibibytes,
  listenAddress,
  port,
  usual,
  variableName,
} from "../../planned/fields";

/**
 * The LiteLLM proxy between a messages-style client and a server's chat completions, as in the
 * stack file.
 */
export const bridgeSettings = strictObject({
  image: containerImage(),
  port: usual(8787, port()).describe("TCP port, the same inside the container and on the machine."),
  listen: listenAddress().describe(
    "Address that the port is published on. `0.0.0.0` serves the local network and requires `keyVariable`.",
  ),
  servers: z
    .array(bridgedServer())
    .min(1, "At least one server is needed")
    .optional()
    .describe(
      "Servers behind the bridge; `dgx2.b` is server `b` of the machine `dgx2`. Servers with the same model name share its requests: a session stays on its machine, and continues on another if that machine is gone. The first server also answers to the model names that a messages-style client uses for its tiers. Default: every entry of `inferenceServers`.",
    )
    .meta({ examples: [["b", "dgx2.b"]] }),
  messagesPath: usual("translate", z.enum(["translate", "passThrough"])).describe(
    "What happens to /v1/messages. `translate` forwards it as /v1/chat/completions, which works with every server. `passThrough` forwards it unchanged: for a server that passed the native-path test (`serving verify`).",
  ),
  keyVariable: optional(variableName())
    .describe(
      "NAME of the variable of your shell that holds the bridge's key; its value is passed as a file of mode 0600. Without it the key is a placeholder, which is only enough on loopback. LiteLLM reads the key when it starts.",
    )
    .meta({ examples: ["LOCAL_SERVING_BRIDGE_KEY"] }),
  memoryGiB: optional(gibibytes()).describe(
    "Memory in GiB that the bridge takes on this machine, as measured. Default: 0.42, measured on another machine.",
  ),
}).describe("The protocol bridge: a LiteLLM proxy in a container.");

export type BridgeSettings = z.output<typeof bridgeSettings>;

/**
 * Machine and key of a server of another machine, such as `dgx2.b`; `undefined` for one of the
 * bridge's own machine.
 */
export function onOtherMachine(
  name: string,
): { readonly on: string; readonly key: string } | undefined {
  const [on = "", key] = name.split(".");
  return key === undefined ? undefined : { on, key };
}
