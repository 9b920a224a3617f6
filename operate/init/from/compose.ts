import { isRecord, type JsonObject, objectOr, textOr } from "../../../faults/json";
import { isSecretName } from "../../../faults/secrets";
import { startsVllm, theLaunch } from "../command/launch";
import { type LeftOut, refuseCommand } from "../command/words";
import { besideContainer } from "./companions";
import {
  dockerRunOf,
  envOption,
  plainWords,
  scalarText,
  scalarTexts,
  variableIn,
} from "./container";
import { withEnvFiles } from "./envFiles";
import { type FilePart, type PublishedKind, readOf, unreadKeys } from "./kind";
import type { Source } from "./source";
import { dotEnv, type Lookup, substituted } from "./substitute";

/** Options of `docker run` with a value, by the key of a service that says the same. */
const OPTIONS: Readonly<Record<string, string>> = {
  container_name: "name",
  restart: "restart",
  ipc: "ipc",
  runtime: "runtime",
  gpus: "gpus",
  shm_size: "shm-size",
  user: "user",
  platform: "platform",
  network_mode: "network",
  hostname: "hostname",
  working_dir: "workdir",
  mem_limit: "memory",
  pull_policy: "pull",
  stop_grace_period: "stop-timeout",
  volumes: "volume",
  extra_hosts: "add-host",
  devices: "device",
  cap_add: "cap-add",
  security_opt: "security-opt",
  labels: "label",
};

/** Switches of `docker run`, by the key of a service. */
const SWITCHES: Readonly<Record<string, string>> = {
  privileged: "privileged",
  tty: "tty",
  stdin_open: "interactive",
  init: "init",
  read_only: "read-only",
};

/** Keys that are read otherwise. */
const READ = new Set([
  "image",
  "command",
  "entrypoint",
  "environment",
  "env_file",
  "ports",
  "deploy",
  "ulimits",
  ...["healthcheck", "extends"],
]);

/** Why a key of a service has no place in a stack file. */
const WHY: Readonly<Record<string, string>> = {
  depends_on: "each container here starts by itself, and clients wait for none.",
  networks: "the container is on a network of its own, and its port is published.",
  profiles: "it runs only where somebody asks for it: that is `start: onRequest` of a server.",
  build: "this program builds no images: pin one that is in a registry.",
  logging: "Docker keeps the log by its own settings.",
  expose: "the server's port is published on the machine.",
};

export const compose: PublishedKind = {
  kind: "a compose file",
  looksLike: ({ keys }) => keys.has("services") && !keys.has("kind"),
  servers(source) {
    const [file = {}] = source.documents();
    const services = Object.entries(objectOr(file.services));
    const lookup = lookupOf(source);
    const found = services.map(([name, service]) =>
      serviceOf(name, substitutedIn(extended(objectOr(service), file), lookup), source),
    );
    return readOf(
      found,
      "No start of vLLM can be read in its services. Give one with an image of vLLM, or with `vllm serve MODEL` as its command.",
    );
  },
};

/** What the file's folder says of variables: the `.env` beside it. */
function lookupOf({ beside }: Source): Lookup {
  const known = dotEnv(beside(".env") ?? "");
  // The value of a secret is not read.
  return (name) => (isSecretName(name) ? undefined : known.get(name));
}

/** A service with what it takes of another one of the file. */
function extended(service: JsonObject, file: JsonObject): JsonObject {
  const from = isRecord(service.extends) ? service.extends : { service: service.extends };
  const base = from.file === undefined ? textOr(from.service) : "";
  const services = objectOr(file.services);
  if (base === "" || !Object.hasOwn(services, base)) return service;
  return { ...objectOr(services[base]), ...service };
}

/** Every text of a service with its variables substituted. */
function substitutedIn(service: JsonObject, lookup: Lookup): JsonObject {
  const deep = (value: unknown): unknown => {
    if (typeof value === "string") return substituted(value, lookup);
    if (Array.isArray(value)) return value.map(deep);
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, deep(inner)]));
  };
  return objectOr(deep(service));
}

/** A service as a server, or as something else that is named. */
function serviceOf(name: string, service: JsonObject, source: Source): FilePart {
  const image = textOr(service.image);
  const words = withEnvFiles(runOf(service), source);
  if (!startsVllm(words)) return besideContainer(`the service \`${name}\``, image, words);
  return {
    server: {
      name: `the service \`${name}\``,
      called: name,
      ...(Array.isArray(service.profiles) ? { isAsked: true } : {}),
      launch() {
        const launch = theLaunch(words);
        if (image === "") refuseCommand(noImage(name));
        return { ...launch, leftOut: [...launch.leftOut, ...unread(service)] };
      },
    },
  };
}

const noImage = (name: string): string =>
  `The service \`${name}\` names no image, and this program builds none: write \`image: REGISTRY/NAME:TAG\` below it.`;

/** The `docker run` that a service is. */
function runOf(service: JsonObject): readonly string[] {
  const { entrypoint } = service;
  const command = wordsOf(service.command);
  // An image without a name is taken for one of vLLM's only where it gets arguments.
  const built = command.length === 0 ? "built-by-compose" : "vllm-built-by-compose";
  return dockerRunOf({
    image: textOr(service.image) || built,
    ...(entrypoint === undefined || entrypoint === null ? {} : { entrypoint: wordsOf(entrypoint) }),
    command,
    options: [
      ...Object.entries(OPTIONS).flatMap(([key, option]) =>
        valuesOf(service[key]).map((value) => [option, value] as const),
      ),
      ...Object.entries(SWITCHES).flatMap(([key, option]) =>
        service[key] === true ? [[option, true] as const] : [],
      ),
      ...listOf(service.ports, portOf).map((value) => ["publish", value] as const),
      ...filesOf(service),
      ...variablesOf(service).map(([name, value]) => envOption(name, value)),
      ...gpusOf(service),
      ...memoryOf(service),
      ...limitsOf(service.ulimits),
      ...(isRecord(service.healthcheck) ? [["health-cmd", "..."] as const] : []),
    ],
  });
}

/** A command as a list of words, or as one line. */
const wordsOf = (value: unknown): string[] =>
  typeof value === "string" ? plainWords(value) : scalarTexts(value);

/** What a key of a service says, in the form of an option's values. */
function valuesOf(value: unknown): string[] {
  const plain = scalarText(value);
  if (plain !== undefined) return [plain];
  if (Array.isArray(value)) return listOf(value, mountOf);
  return Object.entries(objectOr(value)).map(([name, of]) => `${name}=${scalarText(of) ?? ""}`);
}

const listOf = (list: unknown, long: (item: JsonObject) => string): string[] =>
  (Array.isArray(list) ? list : []).flatMap(
    (item) => scalarText(item) ?? (isRecord(item) ? long(item) : []),
  );

/** A volume or a device in its long form. */
const mountOf = ({ source = "", target = "" }: JsonObject): string =>
  `${scalarText(source) ?? ""}:${scalarText(target) ?? ""}`;

/** A port in its long form. */
const portOf = ({ target, published, host_ip: address }: JsonObject): string =>
  [address, published, target].flatMap((part) => scalarText(part) ?? []).join(":");

/** The files of variables that a service names. */
const filesOf = ({ env_file: files }: JsonObject) =>
  listOf([files].flat(), ({ path }) => scalarText(path) ?? "").map(
    (file) => ["env-file", file] as const,
  );

/** The variables of a service that stand in it. */
function variablesOf({ environment }: JsonObject) {
  const found = new Map<string, string | undefined>();
  for (const item of scalarTexts(environment)) {
    found.set(...variableIn(item));
  }
  for (const [name, value] of Object.entries(objectOr(environment)))
    found.set(name, scalarText(value));
  return [...found];
}

/** The GPUs that a service reserves. */
function gpusOf({ deploy, gpus }: JsonObject) {
  const { devices } = objectOr(objectOr(objectOr(deploy).resources).reservations);
  const asked = [devices, gpus]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .filter(isRecord);
  return asked.map(({ count = "all", device_ids: ids }) => {
    const all = count === "all" || count === -1 || count === 1;
    return [
      "gpus",
      all && ids === undefined ? "all" : `device=${scalarTexts(ids).join(",") || String(count)}`,
    ] as const;
  });
}

/** The memory that a deployment may take at most. */
function memoryOf({ deploy }: JsonObject) {
  const { memory } = objectOr(objectOr(objectOr(deploy).resources).limits);
  const most = scalarText(memory);
  return most === undefined ? [] : [["memory", most] as const];
}

/** Limits in both of their forms. */
const limitsOf = (limits: unknown) =>
  Object.entries(objectOr(limits)).map(([name, limit]) => {
    const { soft, hard } = objectOr(limit);
    const value = scalarText(limit) ?? `${scalarText(soft) ?? ""}:${scalarText(hard) ?? ""}`;
    return ["ulimit", `${name}=${value}`] as const;
  });

/** Keys of a service that no option of `docker run` says. */
const unread = (service: JsonObject): LeftOut[] =>
  unreadKeys(
    Object.keys(service),
    (key) =>
      READ.has(key) ||
      Object.hasOwn(OPTIONS, key) ||
      Object.hasOwn(SWITCHES, key) ||
      key.startsWith("x-"),
    { named: (key) => `the service's \`${key}\``, why: WHY },
  );
