import {
  isRecord,
  type JsonObject,
  objectOr,
  objectsIn,
  textOr,
} from "@local-serving/base/faults/json";
import { environmentIn } from "../host";

/**
 * An applied plan of version 0, which had no `version`, as one of version 1. What it said in
 * rendered texts and by the roles of files alone becomes fields. Nothing is checked here: what
 * isn't as it should be stays, and the schema names it.
 */
export function fromVersion0(document: JsonObject): JsonObject {
  const { machine } = document;
  return { ...document, version: 1, ...(isRecord(machine) ? { machine: machineOf(machine) } : {}) };
}

function machineOf(machine: JsonObject): JsonObject {
  const file = fileOf(textOr(machine.name), objectsIn(machine.clients));
  const server = (each: JsonObject) =>
    inPlace(inPlace(each, ["tokenFile"], file), ["container"], gated);
  const { simpleServer } = machine;
  return {
    ...machine,
    services: servicesOf(machine),
    memoryFloorGiB: floorOf(objectsIn(machine.files)),
    containers: eachOf(machine.containers, gated),
    inferenceServers: eachOf(machine.inferenceServers, server),
    ranks: eachOf(machine.ranks, server),
    bridge: isRecord(machine.bridge)
      ? inPlace(machine.bridge, ["config", "key"], file)
      : machine.bridge,
    chatUi: isRecord(machine.chatUi)
      ? { ...machine.chatUi, administrator: eachOf(machine.chatUi.administrator, file) }
      : machine.chatUi,
    clients: eachOf(machine.clients, (client) => ({
      ...client,
      files: eachOf(client.files, file),
    })),
    files: eachOf(machine.files, file),
    secretFiles: eachOf(machine.secretFiles, file),
    simpleServer: isRecord(simpleServer)
      ? withEnvironment(inPlace(simpleServer, ["dropIn"], file))
      : simpleServer,
  };
}

/** What the plan said of its services under a key each: the bridge, the chat UI and Ollama. */
function servicesOf(machine: JsonObject): JsonObject[] {
  const { bridge, chatUi, simpleServer } = machine;
  const container = (block: unknown) => textOr(objectOr(objectOr(block).container).name);
  const row = (key: string, name: string, more: JsonObject) => ({
    key,
    name,
    resource: `${textOr(machine.name)}-${name}`,
    servers: [],
    volumes: [],
    ...more,
  });
  const volume = (part: string, name: unknown, holds: string) =>
    typeof name === "string" ? [{ part, name, holds }] : [];
  const mode = objectOr(simpleServer).mode;
  return [
    ...(isRecord(bridge)
      ? [
          row("bridge", "bridge", {
            container: container(bridge),
            own: true,
            servers: bridge.servers,
          }),
        ]
      : []),
    ...(isRecord(chatUi)
      ? [
          row("chatUi", "chat-ui", {
            container: container(chatUi),
            own: true,
            servers: chatUi.servers,
            volumes: [
              ...volume("data", chatUi.dataVolume, "accounts and chats of the chat UI"),
              ...volume("models", chatUi.modelsVolume, "models of Ollama"),
            ],
          }),
        ]
      : []),
    ...(mode === "host" || mode === "integrated"
      ? [
          row("simpleServer", "simple-server", {
            container: mode === "host" ? null : container(chatUi),
            own: false,
          }),
        ]
      : []),
  ];
}

/** Changes the objects of a list; anything else stays as it is. */
const eachOf = (list: unknown, change: (each: JsonObject) => JsonObject): unknown =>
  Array.isArray(list) ? list.map((each: unknown) => (isRecord(each) ? change(each) : each)) : list;

/** Changes the objects at these keys, where they are there. */
function inPlace(
  owner: JsonObject,
  keys: readonly string[],
  change: (each: JsonObject) => JsonObject,
): JsonObject {
  const changed = keys.flatMap((key) => (isRecord(owner[key]) ? [[key, change(owner[key])]] : []));
  return { ...owner, ...Object.fromEntries(changed) };
}

/** Every inference server began with the start gate, and no other container did. */
const gated = (container: JsonObject): JsonObject =>
  container.role === "inference-server"
    ? { ...container, gate: { starts: ["vllm", "serve"] } }
    : container;

/**
 * Returns the memory floor that the start gates' file named, in MiB. Without a server there was no
 * such file.
 */
function floorOf(files: readonly JsonObject[]): number {
  const told = textOr(files.find(({ role }) => role === "start-gate")?.text);
  return Number(/^floor (\d+)$/m.exec(told)?.[1] ?? 0) / 1024;
}

/** Ollama's variables stood in its drop-in alone. */
const withEnvironment = (simpleServer: JsonObject): JsonObject =>
  isRecord(simpleServer.dropIn)
    ? { ...simpleServer, environment: environmentIn(textOr(simpleServer.dropIn.text)) }
    : simpleServer;

/**
 * Names of resources by the role of their file, behind the machine's name. Any other role is the
 * name itself.
 */
const RESOURCES: Readonly<Record<string, string>> = {
  "simple-server-dropin": "simple-server-drop-in",
};

/** What a file is part of, by its role, behind the machine's name. */
const PARTS: Readonly<Record<string, string>> = {
  "bridge-config": "bridge",
  "bridge-key": "bridge",
  "chat-ui-email": "chat-ui",
  "chat-ui-password": "chat-ui",
  "grafana-dashboard": "monitoring",
  "harness-analytics": "harness-files",
  "harness-providers": "harness-files",
  "scrape-targets": "monitoring",
  "simple-server-dropin": "simple-server",
};

/**
 * A file of a machine with the names that its resources had. Launchers said in their second line
 * what they are for.
 */
function fileOf(machine: string, clients: readonly JsonObject[]) {
  const ofClient = (path: unknown) =>
    clients.find(({ files }) => objectsIn(files).some((each) => each.path === path))?.resource;
  return (file: JsonObject): JsonObject => {
    const role = textOr(file.role);
    const [, server] = /^hugging-face-token-(.+)$/.exec(role) ?? [];
    const [, said = ""] = role.startsWith("launcher-") ? textOr(file.text).split("\n") : [];
    const name =
      server === undefined
        ? Object.hasOwn(RESOURCES, role)
          ? RESOURCES[role]
          : role
        : `${server}-token`;
    const part = server ?? (Object.hasOwn(PARTS, role) ? PARTS[role] : undefined);
    return {
      ...file,
      resource: `${machine}-${name}`,
      partOf: ofClient(file.path) ?? (part === undefined ? machine : `${machine}-${part}`),
      purpose: said.replace(/^# /, ""),
      ...(role === "bridge-key" ? { isKey: true } : {}),
    };
  };
}
