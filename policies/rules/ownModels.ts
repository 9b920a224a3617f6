import { posix } from "node:path";
import { jsonIn, objectOr } from "@local-serving/base/faults/json";
import { isIn } from "@local-serving/machines/home";
import { keysAt, whereKeysAre } from "@local-serving/machines/keyPlaces";
import { namedAdapters } from "@local-serving/vllm/argv/adapters";
import type { ServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { isText, knownMaps, list, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { TYPE } from "../../components/planned";
import { nameOf } from "../lib/block";
import { type DeclaredResource, knownText } from "../lib/container";
import { readContainer, serversIn } from "../lib/inferenceServer";
import { advice, type Finding, type Rule, violation } from "./rule";

/** Clients ask for an adapter by its name, as they do for a model. */
export const adapterNames: Rule = {
  name: "adapter-names",
  description:
    "Each LoRA adapter of an inference server has its own name, without a slash, since coding clients can't address a name with one.",
  level: "mandatory",
  of: TYPE.container,
  judgeResource: (resource) =>
    serversIn(resource).flatMap((server) =>
      namesFaults(server).map((fault) =>
        violation(resource, `${nameOf(resource)} ${fault}`, { setting: "adapters" }),
      ),
    ),
};

function namesFaults(server: ServerArguments): string[] {
  const { adapters, unread } = namedAdapters(server);
  const own = server.options.get("served-model-name") ?? [server.model];
  const names = adapters.map(({ name }) => name);
  return [
    ...unread.map((word) =>
      isText(word)
        ? `has \`--lora-modules ${word}\`, which vLLM can't read. Write NAME=PATH, or JSON with \`name\` and \`path\`.`
        : "has a value of --lora-modules that is not known before the update; give it as plain text.",
    ),
    ...adapters.flatMap(({ name, path }, index) => {
      const [short = ""] = name.split("/").slice(-1);
      if (name === "")
        return `has an adapter without a name. Put a name before the \`=\` of \`--lora-modules =${path}\`.`;
      if (name.includes("/"))
        return `serves an adapter as \`${name}\`, which has a slash. Name it \`${short || "adapter"}\`: coding clients can't address a slash.`;
      if (own.includes(name))
        return `serves an adapter as \`${name}\`, also a name of its model. Give the adapter another name: requests could not tell them apart.`;
      return names.indexOf(name) < index
        ? `serves two adapters as \`${name}\`. Give one of them another name.`
        : [];
    }),
  ];
}

/** Folders that hold the whole machine, or its secrets. */
const WHOLE = ["/", "/etc", "/home", "/proc", "/root", "/run", "/sys", "/usr", "/var", "/var/run"];
/** What pages, and `serving init`, write for a folder that the reader is to name. */
const TO_FILL_IN = "/path/to";
const DOCKER_STORE = "/var/lib/docker";
const SOCKET = /(?:^|\/)docker\.sock$/;

/** What a server is given to read must stay what was reviewed, and lead nowhere else. */
export const serverMounts: Rule = {
  name: "server-mounts",
  description:
    "An inference server gets neither the Docker socket nor a whole machine as a mount, nor a path that only stands for one (`/path/to`), and folders of models are read-only. Folders in which programs keep keys are warned of.",
  level: "mandatory",
  advises: true,
  of: TYPE.container,
  judgeResource(resource) {
    if (readContainer(resource).kind !== "yes") return [];
    const mounts = mountsOf(resource);
    if (mounts === undefined)
      return `${nameOf(resource)} has mounts that are not known before the update. Give \`mounts\` and \`volumes\` as plain lists.`;
    const paths = serversIn(resource).flatMap(pathsOf);
    return mounts.flatMap((mount) => [
      ...mountFaults(resource, mount, paths),
      ...keysAdvice(resource, mount),
    ]);
  },
};

interface SeenMount {
  readonly source: string | undefined;
  readonly target: string;
  readonly isReadOnly: boolean;
}

/** Mounts in both forms that Docker's provider takes, as far as they are known. */
function mountsOf({ props }: DeclaredResource): SeenMount[] | undefined {
  if (list(props.mounts) === UNKNOWN || list(props.volumes) === UNKNOWN) return undefined;
  const seen = (source: unknown, target: unknown, readOnly: unknown): SeenMount[] => {
    const to = knownText(target);
    return to === undefined
      ? []
      : [{ source: knownText(source), target: to, isReadOnly: readOnly === true }];
  };
  return [
    ...knownMaps(props.mounts).flatMap(({ source, target, readOnly }) =>
      seen(source, target, readOnly),
    ),
    ...knownMaps(props.volumes).flatMap(({ hostPath, volumeName, containerPath, readOnly }) =>
      seen(hostPath ?? volumeName, containerPath, readOnly),
    ),
  ];
}

/** Paths inside the container that a server loads a model from. */
function pathsOf(server: ServerArguments): string[] {
  const [draft] = server.options.get("speculative-config") ?? [];
  const drafts = isText(draft) ? objectOr(jsonIn(draft)).model : undefined;
  const [tokenizer] = server.options.get("tokenizer") ?? [];
  const named = [
    server.model,
    drafts,
    tokenizer,
    ...namedAdapters(server).adapters.map((each) => each.path),
  ];
  return named.flatMap((path) => (typeof path === "string" && path.startsWith("/") ? [path] : []));
}

/** A path as the kernel takes it, so that `/usr/../etc/` is known as `/etc`. */
const plainPath = (path: string): string => posix.normalize(path).replace(/(.)\/$/, "$1");

/** A model that vLLM may still load into the cache, as huggingface_hub lays it out. */
const IN_CACHE = /\/hub\/models--[^/]+\/snapshots\//;

function mountFaults(
  resource: DeclaredResource,
  { source = "", target, isReadOnly }: SeenMount,
  paths: readonly string[],
): Finding[] {
  const who = nameOf(resource);
  const refused = (message: string) => [violation(resource, message)];
  const path = plainPath(source);
  if (SOCKET.test(path) || SOCKET.test(target))
    return refused(
      `${who} is given the Docker socket, and with it the whole machine. Remove this mount, \`${source}\` at \`${target}\`.`,
    );
  if (isIn(path, TO_FILL_IN))
    return refused(
      `${who} has \`${source}\` of the machine at \`${target}\`, which only stands for a folder. Write that folder's own path, or the model's hub id.`,
    );
  if (WHOLE.includes(path) || isIn(path, DOCKER_STORE))
    return refused(
      `${who} is given \`${source}\`, which holds far more than a model. Mount the model's folder alone, read-only, at \`${target}\`.`,
    );
  const model = paths.find((each) => isIn(each, target) && !IN_CACHE.test(each));
  return model === undefined || isReadOnly
    ? []
    : refused(
        `${who} can write \`${source}\`, from where it loads its model. Mount it read-only (\`readOnly: true\`): after a restart it could serve a \`${model}\` that nobody reviewed.`,
      );
}

/** What is said of a mount that brings keys; a refusal of `WHOLE` says enough. */
function keysAdvice(resource: DeclaredResource, { source = "", target }: SeenMount): Finding[] {
  const keys = keysAt(source);
  if (keys === undefined || WHOLE.includes(plainPath(source))) return [];
  const what = {
    in: whereKeysAre(keys),
    below: `which holds \`${keys.place}\`, ${whereKeysAre(keys)}`,
    home: "a whole home, with its keys",
  }[keys.is];
  const message = `${nameOf(resource)} is given keys of the machine with \`${source}\`. Mount the folder of the model alone, read-only: whoever gets into the server reads what is at \`${target}\` (${what}).`;
  return [advice(resource, message)];
}
