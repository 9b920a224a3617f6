import { isPooling } from "../planned/modelKind";
import { otherKind } from "../service/servers";
import { type DeclaredServer, type ServiceFault, service } from "../service/service";
import { type ChatUiBlocks, plannedChatUi } from "./plannedChatUi";
import { chatUiSettings as settings } from "./settings";

/**
 * The image of Pulumi.dgx.yaml; its digest was seen in several public repositories (read
 * 2026-11-22).
 */
const IMAGE =
  "ghcr.io/open-webui/open-webui:v0.11.3@sha256:41daa0cf2561a5d4c8d1ff31ee2a98d93ab4d3ac2605cac69366ff6a3374a933";

/** The chat UI in the browser. */
export const chatUi = service({
  key: "chatUi",
  name: "chat-ui",
  title: "Open WebUI",
  component: "local-serving:index:ChatUi",
  settings: settings.optional(),
  image: { repository: /(^|\/)open-webui/i, package: "open-webui" },
  starts: { least: 10, most: 120, source: "its first start takes 1 to 2 minutes" },
  proposed: ({ freePort, network, servers }) => ({
    block: { image: IMAGE, port: freePort(8080), listen: network?.listen, connections: servers },
    comments: { "": "Chat in the browser." },
  }),
  names: ({ chatUi: block }: ChatUiBlocks) =>
    (block?.connections ?? []).map((name, index) => ({
      name,
      path: ["connections", index],
      needsModel: false,
    })),
  faults,
  plan: plannedChatUi,
});

function faults(
  { chatUi: block }: ChatUiBlocks,
  servers: readonly DeclaredServer[],
): ServiceFault[] {
  if (block === undefined) return [];
  const fault = (path: readonly PropertyKey[], message: string | undefined): ServiceFault[] =>
    message === undefined ? [] : [{ path: ["chatUi", ...path], code: "impossible_value", message }];
  return [
    ...fault(["embeddingServer"], otherKind(block.embeddingServer, "embedding", servers)),
    ...fault(["rerankServer"], otherKind(block.rerankServer, "rerank", servers)),
    ...(block.connections ?? []).flatMap((name, index) => {
      const kind = servers.find(({ key }) => key === name)?.kind ?? "chat";
      const noChat = `\`${name}\` writes no text: the chat UI uses it by \`${kind}Server\`. Delete it here.`;
      return isPooling(kind) ? fault(["connections", index], noChat) : [];
    }),
  ];
}
