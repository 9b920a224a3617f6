import { defined } from "@local-serving/base/faults/defined";
import {
  isRecord,
  type JsonObject,
  objectOr,
  objectsIn,
  textOr,
} from "@local-serving/base/faults/json";
import { startsVllm, theLaunch } from "../command/launch";
import type { ScriptFile } from "../command/scriptState";
import { asWritten, type LeftOut } from "../command/words";
import { companion } from "./companions";
import { dockerRunOf, envOption, type RunOption, scalarText, scalarTexts } from "./container";
import { type FilePart, type PublishedKind, readOf } from "./kind";
import { fieldsOf, kserveModel, OF_MODEL, withModelPath } from "./kserve";
import { around, OF_CONTAINER, OF_RESOURCE, OF_RUNTIME } from "./kubernetesKeys";
import {
  filledIn,
  mountsOf,
  nameOf,
  podPorts,
  podVariables,
  type Resources,
  servicesOf,
  unreadSources,
  type Variable,
} from "./kubernetesValues";
import type { Source } from "./source";
import { type Keys, unreadIn } from "./unread";

export const kubernetes: PublishedKind = {
  kind: "a Kubernetes manifest",
  looksLike: ({ keys }) => keys.has("apiVersion") && keys.has("kind"),
  servers(source) {
    if (OF_HELM.test(source.text)) return { servers: [], none: TEMPLATE };
    const placed = placedResources(source);
    const resources = placed.map(({ resource }) => resource);
    const found = containersIn(placed, resources);
    const parts = found.map((each): FilePart => partOf(each, resources, source));
    const read = readOf(
      parts,
      `No start of vLLM can be read in its containers${kindsText(resources)}. Give the manifest whose container has an image of vLLM, or \`vllm serve MODEL\` as its command.`,
    );
    const beside =
      found.length === 0
        ? []
        : placed.flatMap((each) => besideServers(each, found, { resources, source }));
    return { ...read, files: filesOf(resources), leftOut: [...(read.leftOut ?? []), ...beside] };
  },
};

/** What Helm alone writes into a manifest: KServe has fields of its own, and a chat's template its tags. */
const OF_HELM =
  /\{\{-?\s*(?:[("]|toYaml|include|template|tpl|if|else|end|with|range|define|block|default|quote|printf|required|\$?\.(?:Values|Release|Chart|Files|Capabilities|Template)\b|\$\w*\.Values\b)[^\n]*\}\}/;

const TEMPLATE =
  "It is a template of Helm, whose values aren't known: give what `helm template` prints.";

const kindsText = (resources: readonly JsonObject[]): string => {
  const kinds = new Set(
    resources.flatMap(({ kind }) =>
      typeof kind === "string" && /^\w{1,60}$/.test(kind) ? [kind] : [],
    ),
  );
  return kinds.size === 0 ? "" : ` (it has ${[...kinds].join(", ")})`;
};

/** A resource with its place in the file. */
interface Placed {
  readonly resource: JsonObject;
  readonly document: number;
  readonly path: readonly (string | number)[];
}

/** The resources of a file, also those of a List. */
function placedResources(source: Source): Placed[] {
  return source.documents().flatMap((resource, document) => [
    { resource, document, path: [] },
    ...objectsIn(resource.items).map((item, at) => ({
      resource: item,
      document,
      path: ["items", at],
    })),
  ]);
}

interface Found {
  readonly where: string;
  /** The resource's own name. */
  readonly called: string;
  readonly container: JsonObject;
  /** The pod's specification. */
  readonly pod: JsonObject;
  readonly labels: JsonObject;
  readonly of: Placed;
  /** Where the pod lies in its resource, and the container in that. */
  readonly inside: readonly string[];
  readonly at: readonly (string | number)[];
  /** The runtime of KServe's that makes it. */
  readonly runtime?: Placed;
  /** The hub's model that KServe downloads for it. */
  readonly model?: string;
}

/** The containers of all resources; a runtime of KServe's with a model is the container of that model. */
function containersIn(placed: readonly Placed[], resources: Resources): Found[] {
  const models = placed.flatMap((of) => {
    const served = kserveModel(of.resource, resources);
    return served === undefined ? [] : [{ of, served }];
  });
  const used = new Set(models.map(({ served }) => served.runtime));
  const runtimeOf = (runtime: JsonObject | undefined) =>
    placed.find(({ resource }) => resource === runtime);
  return [
    ...placed.flatMap((each) => (used.has(each.resource) ? [] : containersOf(each))),
    ...models.map(({ of, served }) => ({
      ...calledOf(of.resource),
      of,
      container: served.container,
      pod: objectOr(served.runtime?.spec),
      labels: {},
      inside: ["spec", "predictor"],
      at: ["model"],
      ...defined({ model: served.model, runtime: runtimeOf(served.runtime) }),
    })),
  ];
}

const calledOf = (resource: JsonObject) => {
  const called = nameOf(resource);
  return {
    called,
    where: [textOr(resource.kind), ...(called === "" ? [] : [`\`${called}\``])].join(" "),
  };
};

/** The containers of a resource: wherever a specification of a pod lies in it. */
function containersOf(of: Placed): Found[] {
  const found: Found[] = [];
  const look = (value: unknown, holder: JsonObject, inside: readonly string[]): void => {
    if (inside.length > DEEPEST || !isRecord(value)) return;
    const labels = objectOr(objectOr(holder.metadata).labels);
    for (const [index, container] of objectsIn(value.containers).entries())
      found.push({
        ...calledOf(of.resource),
        container,
        pod: value,
        labels,
        of,
        inside,
        at: ["containers", index],
      });
    for (const [key, inner] of Object.entries(value))
      if (key !== "containers" && key !== "items") look(inner, value, [...inside, key]);
  };
  look(of.resource.spec, of.resource, ["spec"]);
  return found;
}

/** A pod lies a few levels below its resource. */
const DEEPEST = 7;

function partOf(found: Found, resources: Resources, source: Source): FilePart {
  const { where, called, container } = found;
  const variables = podVariables(container, resources);
  const words = runOf(found, variables, resources);
  const name = `the container \`${textOr(container.name)}\` of ${where}`;
  if (!startsVllm(words)) return { other: companion(name, textOr(container.image)) };
  const line = source.lineAt([...found.of.path, ...found.inside, ...found.at], found.of.document);
  const origins = new Map(
    variables.flatMap(({ name: each, origin }) => (origin === undefined ? [] : [[each, origin]])),
  );
  const launch = () => {
    const start = theLaunch(words);
    const leftOut = [...start.leftOut, ...unread(found, resources, source)];
    const hint = unreadSources(container, resources).map(
      ({ what, why }) => `Of ${what} nothing is known: ${why}`,
    );
    return { ...start, origins, hint, leftOut };
  };
  return { server: { name, called, line, launch } };
}

/** The `docker run` that a container is. */
function runOf(
  { container, pod, labels, model }: Found,
  variables: readonly Variable[],
  resources: Resources,
): readonly string[] {
  const fields = fieldsOf(resources);
  const filled = (words: unknown) =>
    scalarTexts(words).map((word) => withModelPath(filledIn(word, variables, fields), model));
  const entrypoint = filled(container.command);
  const services = servicesOf(labels, resources);
  const stopsIn = scalarText(pod.terminationGracePeriodSeconds);
  return dockerRunOf({
    image: textOr(container.image),
    ...(entrypoint.length === 0 ? {} : { entrypoint }),
    command: filled(container.args),
    options: [
      ...resourcesOf(container),
      ...(pod.hostIPC === true ? [["ipc", "host"] as const] : []),
      ...(pod.hostNetwork === true ? [["network", "host"] as const] : []),
      ...(stopsIn === undefined ? [] : [["stop-timeout", stopsIn] as const]),
      ...podPorts(container, services).map((port) => ["publish", port] as const),
      ...variables.map(({ name, value }) =>
        envOption(name, value && filledIn(value, variables, fields)),
      ),
      ...mountsOf(container, pod, resources).flatMap((mount): RunOption[] => {
        if ("folder" in mount) return [["volume", `${mount.folder}:${mount.inside}`]];
        return "sharedMemory" in mount ? [["shm-size", mount.sharedMemory]] : [];
      }),
    ],
  });
}

/** What a container may take of the machine, as options. */
function resourcesOf({ resources }: JsonObject) {
  const { limits, requests } = objectOr(resources);
  const all = { ...objectOr(requests), ...objectOr(limits) };
  const memory = scalarText(objectOr(limits).memory);
  const devices = Object.entries(all).flatMap(([name, count]): RunOption[] => {
    if (!name.includes("/")) return [];
    const number = scalarText(count) ?? "";
    const isGpu = name === "nvidia.com/gpu";
    return [isGpu ? ["gpus", number === "1" ? "all" : number] : ["device", name]];
  });
  return [...devices, ...(memory === undefined ? [] : [["memory", memory] as const])];
}

/** What of a container, and around it, has no place in a stack file. */
function unread(found: Found, resources: Resources, source: Source): LeftOut[] {
  const { lineAt } = source;
  const { container, pod, of, inside, at } = found;
  const place = (path: readonly (string | number)[]) => lineAt([...of.path, ...path], of.document);
  const own = [...inside, ...at];
  const mounts = mountsOf(container, pod, resources).flatMap((mount) =>
    "what" in mount ? [{ ...mount, line: place([...own, "volumeMounts", mount.mount]) }] : [],
  );
  const from = unreadSources(container, resources);
  return [
    ...unreadIn(
      container,
      found.at[0] === "model" ? { ...OF_CONTAINER, ...OF_MODEL } : OF_CONTAINER,
      {
        named: (key) => `the container's \`${key}\``,
        lineAt: (path) => place([...own, ...path]),
      },
    ),
    ...mounts.map(({ what, why, line }) => ({ what, why, line })),
    ...from.map((each) => ({ ...each, line: place([...own, "envFrom"]) })),
    ...unreadIn(of.resource, aroundIn(found), {
      named: (key) => `\`${key}\` of ${found.where}`,
      lineAt: place,
    }),
    ...unreadRuntime(found, source),
  ];
}

/** A model of KServe's is judged as a container. */
const aroundIn = ({ inside, at }: Found): Keys =>
  at[0] === "model" ? around([...inside, "model"], { "*": true }) : around(inside);

/** What else a runtime of KServe's has. */
function unreadRuntime({ runtime }: Found, { lineAt }: Source): LeftOut[] {
  if (runtime === undefined) return [];
  const { resource, document, path } = runtime;
  return unreadIn(resource, OF_RUNTIME, {
    named: (key) => `\`${key}\` of ${calledOf(resource).where}`,
    lineAt: (inside) => lineAt([...path, ...inside], document),
  });
}

/** What becomes of a resource that has no server. */
function besideServers(
  { resource, document, path }: Placed,
  found: readonly Found[],
  { resources, source }: { readonly resources: Resources; readonly source: Source },
): LeftOut[] {
  const kind = textOr(resource.kind);
  const isList = Array.isArray(resource.items);
  if (isList || found.some(({ of }) => of.resource === resource)) return [];
  const line = source.lineAt([...path, "kind"], document);
  const { where: what } = calledOf(resource);
  if (kind === "ConfigMap" && isUsed(resource, found)) return [];
  if (/ServingRuntime$/.test(kind)) return [];
  const why = kind === "Service" ? serviceText(resource, found, resources) : OF_RESOURCE[kind];
  return [{ what: asWritten(what), why: why ?? "nothing of a stack file takes its place.", line }];
}

/** The files that ConfigMaps bring. */
const filesOf = (resources: Resources): ScriptFile[] =>
  resources.flatMap(({ kind, data }) =>
    kind === "ConfigMap"
      ? Object.entries(objectOr(data)).map(([file, text]) => ({
          file,
          text: scalarText(text) ?? "",
        }))
      : [],
  );

const isUsed = (map: JsonObject, found: readonly Found[]): boolean => {
  const name = nameOf(map);
  return found.some(
    ({ container, pod }) =>
      objectsIn(pod.volumes).some((each) => objectOr(each.configMap).name === name) ||
      objectsIn(container.envFrom).some((each) => objectOr(each.configMapRef).name === name) ||
      objectsIn(container.env).some(
        (each) => objectOr(objectOr(each.valueFrom).configMapKeyRef).name === name,
      ),
  );
};

/** Where clients of a Service find the server. */
function serviceText({ spec }: JsonObject, found: readonly Found[], resources: Resources): string {
  const ports = objectsIn(objectOr(spec).ports).map(({ port, targetPort, nodePort }) => {
    const target = scalarText(targetPort) ?? scalarText(port) ?? "";
    const node = scalarText(nodePort);
    return `port ${scalarText(port) ?? ""} leads to ${target}${node === undefined ? "" : `, and ${node} of the machine`}`;
  });
  const leads = found.some(({ labels }) =>
    servicesOf(labels, resources).some((each) => each.spec === spec),
  );
  const which = leads
    ? "the server's own port on the machine takes its place"
    : "no server of this file has its labels";
  return `${which}${ports.length === 0 ? "" : ` (${asWritten(ports.join("; "))})`}.`;
}
