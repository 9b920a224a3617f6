import { isRecord, type JsonObject, objectOr, objectsIn, textOr } from "../../../faults/json";
import { startsVllm, theLaunch } from "../command/launch";
import type { LeftOut } from "../command/words";
import { companion } from "./companions";
import { dockerRunOf, elsewhere, envOption, scalarText, scalarTexts } from "./container";
import { type FilePart, type PublishedKind, readOf, withoutPlace } from "./kind";

export const kubernetes: PublishedKind = {
  kind: "a Kubernetes manifest",
  looksLike: ({ keys }) => keys.has("apiVersion") && keys.has("kind"),
  servers(source) {
    const isTemplate = /\{\{.*\}\}/.test(source.text);
    if (isTemplate) return { servers: [], none: TEMPLATE };
    const resources = source.documents().flatMap((each) => [each, ...objectsIn(each.items)]);
    const containers = resources.flatMap((resource) => containersOf(resource));
    const found = containers.map(({ where, called, container, pod }): FilePart => {
      const words = runOf(container, pod);
      const name = `the container \`${textOr(container.name)}\` of ${where}`;
      return startsVllm(words)
        ? { server: { name, called, launch: () => launchIn(words, container, pod) } }
        : { other: companion(name, textOr(container.image)) };
    });
    return readOf(
      found,
      `No start of vLLM can be read in its containers${kindsText(resources)}. Give the manifest whose container has an image of vLLM, or \`vllm serve MODEL\` as its command.`,
    );
  },
};

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

interface Found {
  readonly where: string;
  /** The resource's own name. */
  readonly called: string;
  readonly container: JsonObject;
  /** The pod's specification. */
  readonly pod: JsonObject;
}

/** The containers of a resource: wherever a specification of a pod lies in it. */
function containersOf(resource: JsonObject): Found[] {
  const called = textOr(objectOr(resource.metadata).name);
  const where = `${textOr(resource.kind)} \`${called}\``;
  const found: Found[] = [];
  const look = (value: unknown, depth: number): void => {
    if (depth > DEEPEST || !isRecord(value)) return;
    for (const container of objectsIn(value.containers))
      found.push({ where, called, container, pod: value });
    for (const [key, inner] of Object.entries(value))
      if (key !== "containers" && key !== "items") look(inner, depth + 1);
  };
  look(resource.spec, 0);
  return found;
}

/** A pod lies a few levels below its resource. */
const DEEPEST = 6;

/** The `docker run` that a container is. */
function runOf(container: JsonObject, pod: JsonObject): readonly string[] {
  const variables = variablesOf(container);
  const known = new Map(variables.map(([name, value]) => [name, value ?? elsewhere(name)]));
  const filled = (words: unknown) =>
    scalarTexts(words).map((word) =>
      word.replace(/\$(\$?)\(([\w.-]+)\)/g, (whole, escaped, name) =>
        escaped === "" ? (known.get(name) ?? whole) : whole.slice(1),
      ),
    );
  const entrypoint = filled(container.command);
  return dockerRunOf({
    image: textOr(container.image),
    ...(entrypoint.length === 0 ? {} : { entrypoint }),
    command: filled(container.args),
    options: [
      ...["gpus", "ipc"].map((name) => [name, name === "gpus" ? gpus(container) : "host"] as const),
      ...variables.map(([name, value]) => envOption(name, value)),
      ...volumesOf(container, pod),
    ],
  });
}

/** How many GPUs a container asks for. */
function gpus({ resources }: JsonObject): string {
  const { limits, requests } = objectOr(resources);
  const count =
    scalarText(objectOr(limits)["nvidia.com/gpu"]) ??
    scalarText(objectOr(requests)["nvidia.com/gpu"]);
  return count === undefined || count === "1" ? "all" : count;
}

/** Variables with the value that stands there; of a secret or a field there is none. */
const variablesOf = ({ env }: JsonObject) =>
  objectsIn(env).map(({ name, value }) => [textOr(name), scalarText(value)] as const);

/** Volumes of folders of the machine. */
function volumesOf({ volumeMounts }: JsonObject, { volumes }: JsonObject) {
  const folders = new Map(
    objectsIn(volumes).map(({ name, hostPath }) => [name, textOr(objectOr(hostPath).path)]),
  );
  return objectsIn(volumeMounts).flatMap(({ name, mountPath }) => {
    const folder = folders.get(name) ?? "";
    return folder === "" ? [] : [["volume", `${folder}:${textOr(mountPath)}`] as const];
  });
}

function launchIn(words: readonly string[], container: JsonObject, pod: JsonObject) {
  const launch = theLaunch(words);
  const hint = container.envFrom === undefined ? [] : [FROM_CONFIG_MAP];
  return { ...launch, leftOut: [...launch.leftOut, ...unread(container, pod)], hint };
}

const FROM_CONFIG_MAP =
  "The container has variables of a ConfigMap or Secret (`envFrom`), which isn't read here.";

/** Why something of a container or its pod has no place in a stack file. */
const WHY: Readonly<Record<string, string>> = {
  volumeMounts: "only a `hostPath` is a folder of the machine.",
  envFrom:
    "its ConfigMap or Secret isn't read: write its variables as `environment`, without secrets.",
  livenessProbe: "the health check asks for /health, and `healthcheck` sets its times.",
  readinessProbe: "the health check asks for /health, and `healthcheck` sets its times.",
  startupProbe: "the health check asks for /health, and `healthcheck` sets its times.",
  lifecycle: "no container here runs other commands as it starts or ends.",
  securityContext: "no container here has the machine's privileges.",
  initContainers:
    "nothing runs before the server but its start gate: `serving fetch` brings the model.",
};

function unread(container: JsonObject, { initContainers, volumes }: JsonObject): LeftOut[] {
  const folders = new Set(
    objectsIn(volumes).flatMap(({ name, hostPath }) => (hostPath === undefined ? [] : [name])),
  );
  const mounts = objectsIn(container.volumeMounts).filter(({ name }) => !folders.has(name));
  const asked: JsonObject = {
    ...container,
    initContainers,
    volumeMounts: mounts.length === 0 ? undefined : mounts,
  };
  return withoutPlace(
    WHY,
    (key) => asked[key] !== undefined,
    (key) => `the container's \`${key}\``,
  );
}
