import type { Plan } from "../../../components/plan/types";
import { BRIDGE, CHAT_UI } from "../../fixtures/services";
import { planned } from "./environment";

export function withBridge(
  serverPort: number,
  bridgePort: number,
  options: {
    readonly keyVariable?: string;
    readonly listen?: string;
    readonly environment?: Readonly<Record<string, string>>;
  } = {},
): Plan {
  const { environment = {}, ...more } = options;
  const bridge = { ...BRIDGE, port: bridgePort, ...more };
  return planned(serverPort, {}, { bridge, clients: { claudeCode: { environment } } });
}

export function withChatUi(port: number): Plan {
  return planned(
    8001,
    {},
    {
      chatUi: { ...CHAT_UI, port, connections: ["b", "instance-a", "simple-server"] },
      instanceA: { gpuMemoryUtilization: 0.45, servedModelName: "a-model" },
      simpleServer: { mode: "host", listen: "0.0.0.0" },
    },
  );
}
