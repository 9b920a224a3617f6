import { isRecord, type JsonObject, objectOr, textOr } from "@local-serving/base/faults/json";
import { isSecretName } from "@local-serving/base/faults/secrets";
import { startsVllm, theLaunch } from "../command/launch";
import type { ScriptFile } from "../command/scriptState";
import { asWritten, type LeftOut, refuseCommand } from "../command/words";
import { alike, copies, NOT_CARRIED } from "../notCarriedOver";
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
import { type FilePart, type PublishedKind, readOf } from "./kind";
import { publishedSource, type Source } from "./source";
import { dotEnv, type Lookup, substituted } from "./substitute";
import { type Keys, unreadIn } from "./unread";

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

/** What becomes of the keys of a service. */
const OF_SERVICE: Keys = {
  ...alike(true, ...Object.keys(OPTIONS), ...Object.keys(SWITCHES)),
  ...alike(true, "image command entrypoint environment env_file", "ports ulimits gpus extends"),
  healthcheck: NOT_CARRIED.health,
  depends_on: "each container here starts by itself, and clients wait for none.",
  networks: NOT_CARRIED.ownNetwork,
  profiles: "it runs only where somebody asks for it: that is `start: onRequest` of a server.",
  build: "this program builds no images: pin one that is in a registry.",
  logging: NOT_CARRIED.log,
  expose: "the server's port is published on the machine.",
  secrets: NOT_CARRIED.secretFile,
  configs: NOT_CARRIED.files,
  scale: copies,
  deploy: {
    resources: {
      limits: { memory: true },
      reservations: {
        devices: true,
        memory: NOT_CARRIED.reserved,
      },
    },
    replicas: copies,
    mode: "a server is one container of one machine.",
    placement: NOT_CARRIED.thisMachine,
    restart_policy: NOT_CARRIED.restarts,
  },
};

/** What becomes of the keys of the whole file. */
const OF_FILE: Keys = {
  ...alike(true, "services version name"),
  volumes: { "*": { external: true, name: true, driver_opts: true, driver: isLocal } },
  networks: NOT_CARRIED.ownNetwork,
  secrets: "no secret is taken over: each has a variable of your shell.",
  configs: NOT_CARRIED.files,
  include: "only this file is read: give what `docker compose config` prints, which has them all.",
};

function isLocal(driver: unknown): string | undefined {
  return driver === "local" ? undefined : "folders of the machine alone are mounted.";
}

export const compose: PublishedKind = {
  kind: "a compose file",
  looksLike: ({ keys }) => keys.has("services") && !keys.has("kind"),
  servers(source) {
    const [file = {}] = source.documents();
    const services = Object.entries(objectOr(file.services));
    const lookup = lookupOf(source);
    const folders = foldersOf(substitutedIn(objectOr(file.volumes), lookup));
    const found = services.map(([name, service]) => {
      const whole = substitutedIn(extended(objectOr(service), file, source), lookup);
      return serviceOf(name, withFolders(whole, folders), source);
    });
    const read = readOf(found, NO_SERVER);
    const leftOut = [...(read.leftOut ?? []), ...unreadOfFile(file, source)];
    return { ...read, files: contentsOf(file), leftOut };
  },
};

const NO_SERVER =
  "No start of vLLM can be read in its services. Give one with an image of vLLM, or with `vllm serve MODEL` as its command.";

/** What the file's folder says of variables: the `.env` beside it. */
function lookupOf({ beside }: Source): Lookup {
  const known = dotEnv(beside(".env") ?? "");
  // The value of a secret is not read.
  return (name) => (isSecretName(name) ? undefined : known.get(name));
}

/** A service with what it takes of another one, of this file or of one beside it. */
function extended(service: JsonObject, file: JsonObject, { beside }: Source): JsonObject {
  const from = isRecord(service.extends) ? service.extends : { service: service.extends };
  const other = textOr(from.file);
  const text = other === "" ? undefined : beside(other);
  if (other !== "" && text === undefined)
    refuseCommand(
      `A service takes its keys from ${asWritten(other)} (\`extends\`), which isn't beside this file: give what \`docker compose config\` prints.`,
    );
  const [base = file] = text === undefined ? [file] : publishedSource({ text }).documents();
  const services = objectOr(base.services);
  const name = textOr(from.service);
  if (name === "" || !Object.hasOwn(services, name)) return service;
  return { ...objectOr(services[name]), ...service };
}

/** The folder of the machine that each volume of the file is, where its options say one. */
function foldersOf(volumes: JsonObject): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, volume] of Object.entries(volumes)) {
    const { device, o: options } = objectOr(objectOr(volume).driver_opts);
    if (textOr(device) !== "" && /(?:^|,)r?bind(?:,|$)/.test(textOr(options)))
      found.set(name, textOr(device));
  }
  return found;
}

/** The files that stand in the file itself, by their place in a service. */
const contentsOf = (file: JsonObject): ScriptFile[] =>
  Object.values(objectOr(file.services)).flatMap((service) =>
    [objectOr(service).configs].flat().flatMap((each) => {
      const source = textOr(each) || textOr(objectOr(each).source);
      const { content } = objectOr(objectOr(file.configs)[source]);
      const target = textOr(objectOr(each).target) || source;
      return typeof content === "string" ? [{ file: target, text: content }] : [];
    }),
  );

/** A service with the folder of each volume in its place. */
function withFolders(service: JsonObject, folders: ReadonlyMap<string, string>): JsonObject {
  if (folders.size === 0 || !Array.isArray(service.volumes)) return service;
  const folder = (name: string) => folders.get(name) ?? name;
  const volumes = service.volumes.map((volume: unknown) =>
    isRecord(volume)
      ? { ...volume, source: folder(textOr(volume.source)) }
      : String(volume).replace(/^[^:]+(?=:)/, folder),
  );
  return { ...service, volumes };
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
      line: source.lineAt(["services", name]),
      ...(Array.isArray(service.profiles) ? { isAsked: true } : {}),
      launch() {
        const launch = theLaunch(words);
        if (image === "") refuseCommand(noImage(name));
        return { ...launch, leftOut: [...launch.leftOut, ...unread(name, service, source)] };
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
        key === "gpus" && Array.isArray(service.gpus)
          ? []
          : valuesOf(service[key]).map((value) => [option, value] as const),
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
const unread = (name: string, service: JsonObject, { lineAt }: Source): LeftOut[] =>
  unreadIn(withoutExtensions(service), OF_SERVICE, {
    named: (key) => `the service's \`${key}\``,
    lineAt: (path) => lineAt(["services", name, ...path]),
  });

const unreadOfFile = (file: JsonObject, { lineAt }: Source): LeftOut[] =>
  unreadIn(withoutExtensions(file), OF_FILE, { named: (key) => `the file's \`${key}\``, lineAt });

/** A map without the keys that compose passes over. */
const withoutExtensions = (map: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !key.startsWith("x-")));
