import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { listOf } from "@local-serving/base/faults/quoting";
import { isLoopback } from "@local-serving/machines/address";
import {
  everyName,
  inNameOrder,
  isPooling,
  type ModelKind,
  type PlannedContainer,
  type SecretFile,
  type Upstream,
} from "../../planned";
import type { chatUiSchema } from "../../planned/schema";
import {
  askingOnDemand,
  type FromFiles,
  type OnDemandAccess,
  type PlannedService,
  type ServiceContext,
  serviceContainer,
  serviceMemory,
  settingFromFiles,
  textOfFile,
} from "../kind";
import { INTEGRATED, type SimpleServerSettings } from "../simple-server";
import {
  chosenTaskModel,
  connections,
  documentSearch,
  hasTaskModel,
  onDemandModels,
  type SearchServers,
  taskModel,
  withKeys,
} from "./connections";
import type { ChatUiSettings } from "./settings";

/** The browser chat UI: its container and the volumes that keep its data. */
export type ChatUiPlan = DataOf<typeof chatUiSchema>;

/** The blocks of a machine that the chat UI reads. */
export interface ChatUiBlocks {
  readonly chatUi?: ChatUiSettings | undefined;
  readonly simpleServer?: SimpleServerSettings;
}

/** How Open WebUI calls the two values, and where its container finds them. */
const ADMINISTRATOR = [
  { role: "chat-ui-email", variable: "WEBUI_ADMIN_EMAIL", what: "E-mail address" },
  { role: "chat-ui-password", variable: "WEBUI_ADMIN_PASSWORD", what: "Password" },
] as const;
const inside = (role: string) => `/run/secrets/${role}`;

/** Both are read from their files. */
const WITH_ADMINISTRATOR: readonly FromFiles[] = ADMINISTRATOR.map(({ role, variable }) => ({
  variable,
  value: textOfFile(inside(role)),
}));

/** What the image starts by itself (0.11.3). */
const START = ["bash", "start.sh"];

const PORT_INSIDE = 8080;
const DATA_INSIDE = "/app/backend/data";
const MODELS_INSIDE = "/root/.ollama";

/** Open WebUI 0.12.4 took 1.19 GiB (measured on x64, without the embedding model). */
const MEMORY = { gib: 1.2, source: "Open WebUI with one user, measured on another machine" };

/**
 * The chat UI of one machine: its container, the volumes that keep its data and where its
 * administrator comes from. It offers the models of the servers that it is connected to, and may
 * search documents with the others. With Ollama inside, that needs the GPU, and its models are in a
 * volume that no other server sees.
 */
export function plannedChatUi(
  { chatUi: settings, simpleServer }: ChatUiBlocks,
  target: ServiceContext,
): PlannedService<ChatUiPlan> | undefined {
  if (settings === undefined) return undefined;
  const { machine, network } = target;
  const { port, listen: address } = settings;
  const servers = connected(settings, target.servers).filter(({ serves }) => !isPooling(serves));
  const search = searchServers(settings, target.servers);
  const resource = `${machine}-chat-ui`;
  const dataVolume = `${network}-chat-ui-data`;
  const modelsVolume = simpleServer?.mode === "integrated" ? `${network}-chat-ui-models` : null;
  const administrator = administratorFiles(settings, target, resource);
  const asked = [...servers, ...Object.values(search)];
  const onDemand = askingOnDemand(asked, target);
  const tasks =
    settings.taskModel === undefined
      ? onDemand && taskModel(servers)
      : chosenTaskModel(settings.taskModel);
  const { plain, fromFiles } = withKeys({ ...connections(servers), ...documentSearch(search) });
  const env = inNameOrder({
    ...BEHAVIOUR,
    ...plain,
    ...tasks,
    ...onDemandModels(servers, target.servers),
    ...(modelsVolume === null ? {} : OLLAMA_INSIDE),
  });
  const own = { resource, dataVolume, modelsVolume, administrator, env, fromFiles, onDemand };
  const container = chatUiContainer(settings, own, target);
  const keys = asked.map((server) => server.key);
  return {
    detail: { dataVolume, modelsVolume, address, port, servers: keys, administrator, container },
    resource,
    container,
    servers: keys,
    files: [],
    secretFiles: administrator,
    volumes: [
      { part: "data", name: dataVolume, holds: "accounts and chats of the chat UI" },
      ...(modelsVolume === null
        ? []
        : [{ part: "models", name: modelsVolume, holds: "models of Ollama" }]),
    ],
    reach: { key: "chat-ui", name: container.name, address, port, path: "" },
    memory: [serviceMemory("chat UI", { key: "chatUi", memoryGiB: settings.memoryGiB }, MEMORY)],
    warnings: warnings(container, {
      address,
      administrator,
      servers,
      ...defined({ taskModel: settings.taskModel }),
    }),
  };
}

function warnings(
  { name }: PlannedContainer,
  {
    address,
    administrator,
    servers,
    taskModel: named,
  }: Pick<ChatUiPlan, "address" | "administrator"> & {
    readonly servers: readonly Upstream[];
    readonly taskModel?: string;
  },
): [code: string, message: string][] {
  const found: [string, string][] = [];
  if (administrator.length === 0 && !isLoopback(address))
    found.push([
      "first-sign-up",
      `Whoever signs up first becomes administrator of the chat UI. Name one (\`chatUi.administrator\`), or sign up as soon as it runs: the network can reach ${name}.`,
    ]);
  if (named !== undefined && !hasTaskModel(named, servers))
    found.push([
      "task-model",
      `The chat UI has no model \`${named}\`. So each chat's own model writes its title and tags (\`chatUi.taskModel\`). Its servers answer to ${listOf(servers.flatMap(everyName))}.`,
    ]);
  const onRequest = servers.filter(({ onDemand }) => onDemand).map(({ key }) => key);
  const isOpen = named === undefined && Object.keys(taskModel(servers)).length === 0;
  if (onRequest.length > 0 && isOpen)
    found.push([
      "task-model",
      `The title of a chat may start another server. ${name} has no chat model that always runs, so each chat's own model also writes its title and tags: this may start ${onRequest.join(" or ")} and stop another server. Connect a small chat model that always runs, or write \`chatUi.taskModel: none\` for no titles, tags and follow-ups.`,
    ]);
  return found;
}

/**
 * Returns the servers whose models it offers. By default these are ours, and a simple server that a
 * container can reach.
 */
function connected({ connections }: ChatUiSettings, servers: readonly Upstream[]): Upstream[] {
  if (connections !== undefined)
    return connections.flatMap((name) => servers.find(({ key }) => key === name) ?? []);
  const ours = servers.filter(({ kind }) => kind === "inference-server");
  return [
    ...ours,
    ...servers.filter(({ kind, address }) => kind === "simple-server" && !isLoopback(address)),
  ];
}

function administratorFiles(
  settings: ChatUiSettings,
  { machine, folder }: ServiceContext,
  partOf: string,
) {
  const { emailVariable, passwordVariable } = settings.administrator ?? {};
  return ADMINISTRATOR.flatMap(({ role, what }): SecretFile[] => {
    const variable = role === "chat-ui-email" ? emailVariable : passwordVariable;
    if (variable === undefined) return [];
    const purpose = `${what} of the chat UI's administrator.`;
    const path = `${folder}/secrets/${role}`;
    return [
      { role, resource: `${machine}-${role}`, partOf, purpose, path, mode: "0600", variable },
    ];
  });
}

type Own = Pick<ChatUiPlan, "dataVolume" | "modelsVolume" | "administrator"> &
  Pick<PlannedContainer, "resource" | "env"> & {
    /** Variables with llama-swap's key in them. */
    readonly fromFiles: readonly FromFiles[];
    readonly onDemand: OnDemandAccess | undefined;
  };

function chatUiContainer(
  settings: ChatUiSettings,
  { resource, dataVolume, modelsVolume, administrator, env, fromFiles, onDemand }: Own,
  target: ServiceContext,
): PlannedContainer {
  const set = [...(administrator.length > 0 ? WITH_ADMINISTRATOR : []), ...fromFiles];
  const kept = (source: string, inside: string) =>
    ({ type: "volume", source, target: inside, readOnly: false }) as const;
  return serviceContainer(target, {
    role: "chat-ui",
    resource,
    name: `open-webui-${settings.port}`,
    image: settings.image,
    command: set.length > 0 ? START : [],
    entrypoint:
      set.length > 0 ? ["/bin/sh", "-c", settingFromFiles(set, '"$@"'), "open-webui"] : null,
    env,
    secretEnv: [
      ...administrator.map(({ variable }) => variable),
      ...(onDemand === undefined ? [] : [onDemand.keyVariable]),
    ],
    port: { ip: settings.listen, host: settings.port, container: PORT_INSIDE },
    mounts: [
      kept(dataVolume, DATA_INSIDE),
      ...(modelsVolume === null ? [] : [kept(modelsVolume, MODELS_INSIDE)]),
      ...administrator.map(
        ({ path, role }) =>
          ({ type: "bind", source: path, target: inside(role), readOnly: true }) as const,
      ),
      ...(onDemand === undefined ? [] : [onDemand.mount]),
    ],
    ...defined({ moreNetworks: onDemand?.moreNetworks }),
    gpus: modelsVolume === null ? null : "all",
    healthcheck: {
      test: ["CMD", "curl", "-fsS", "-o", "/dev/null", `http://127.0.0.1:${PORT_INSIDE}/health`],
      // 30 to 105 seconds were seen, depending on how busy the machine is.
      startPeriodSeconds: 300,
    },
  });
}

const BEHAVIOUR: Readonly<Record<string, string>> = {
  // The stack file decides at every start, not what an earlier start has stored.
  ENABLE_PERSISTENT_CONFIG: "False",
  // The first person to sign up still becomes administrator. After that, sign-up stays closed at
  // every start.
  ENABLE_SIGNUP: "False",
  // Without it a start waits minutes for model hubs that it can't reach.
  OFFLINE_MODE: "True",
  // Made at the first start and kept with the data: a new key would log everyone out.
  WEBUI_SECRET_KEY_FILE: `${DATA_INSIDE}/.webui_secret_key`,
};

/** Variables of an Ollama in the same container. It gets the same limits as one on the host. */
const OLLAMA_INSIDE: Readonly<Record<string, string>> = {
  ENABLE_OLLAMA_API: "True",
  OLLAMA_BASE_URLS: "http://127.0.0.1:11434",
  OLLAMA_CONTEXT_LENGTH: String(INTEGRATED.contextLength),
  OLLAMA_KEEP_ALIVE: "5m",
  OLLAMA_MAX_LOADED_MODELS: String(INTEGRATED.maxLoadedModels),
  OLLAMA_NO_CLOUD: "1",
};

/** The servers that the settings name for document search, else the only one of each kind. */
function searchServers(settings: ChatUiSettings, known: readonly Upstream[]): SearchServers {
  const named = (key: string | undefined, kind: ModelKind) => {
    const able = known.filter(({ serves }) => serves === kind);
    const [only] = able.length === 1 ? able : [];
    return key === undefined ? only : able.find((each) => each.key === key);
  };
  return defined({
    embedding: named(settings.embeddingServer, "embedding"),
    rerank: named(settings.rerankServer, "rerank"),
  });
}
