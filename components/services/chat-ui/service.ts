import { isPooling } from "../../planned";
import { pinnedImage } from "../../supply";
import { type DeclaredServer, otherKind, type ServiceFault, service } from "../kind";
import { type ChatUiBlocks, plannedChatUi } from "./plannedChatUi";
import { chatUiSettings as settings } from "./settings";

/** The chat UI in the browser. */
export const chatUi = service({
  key: "chatUi",
  name: "chat-ui",
  title: "Open WebUI",
  component: "local-serving:index:ChatUi",
  settings: settings.optional(),
  image: { repository: /(^|\/)open-webui/i, package: "open-webui" },
  // It migrates its database one way, and an older version doesn't start with a newer one. Before
  // Alembic, peewee kept the revisions.
  data: {
    part: "data",
    database: {
      file: "webui.db",
      revision: ["alembic_version.version_num", "migratehistory.name"],
    },
  },
  starts: { least: 10, most: 120, source: "its first start takes 1 to 2 minutes" },
  proposed: ({ freePort, network, servers }) => ({
    block: {
      image: pinnedImage("open-webui"),
      port: freePort(8080),
      listen: network?.listen,
      connections: servers,
    },
    comments: { "": "Chat in the browser." },
  }),
  takenOver: ({ ports }) => ({ port: ports.get(8080) }),
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
      if (!isPooling(kind)) return [];
      return fault(
        ["connections", index],
        `\`${name}\` writes no text: the chat UI uses it through \`${kind}Server\`. Delete it here.`,
      );
    }),
  ];
}
