import { type JsonObject, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { asWritten, type LeftOut, standIn } from "../command/words";
import { NOT_CARRIED } from "../notCarriedOver";
import { elsewhere, scalarText } from "./container";

/** The resources of a manifest, and what its containers get of them. */
export type Resources = readonly JsonObject[];

export const nameOf = ({ metadata }: JsonObject): string => textOr(objectOr(metadata).name);

const named = (resources: Resources, kind: string, name: unknown): JsonObject | undefined =>
  resources.find((each) => each.kind === kind && nameOf(each) === name);

/** A variable of a container: its value, or where that comes from. */
export interface Variable {
  readonly name: string;
  readonly value?: string;
  /** Why its value isn't known, a clause. */
  readonly origin?: string;
}

/** The variables of a container; those of `env` count more than those of `envFrom`. */
export function podVariables({ env, envFrom }: JsonObject, resources: Resources): Variable[] {
  const all = [
    ...objectsIn(envFrom).flatMap((from) => variablesFrom(from, resources)),
    ...objectsIn(env).map((each) => variableOf(each, resources)),
  ];
  return [...new Map(all.map((each) => [each.name, each])).values()];
}

/** All of a ConfigMap's values; of one that isn't there, and of a Secret, nothing is known. */
function variablesFrom({ configMapRef, prefix }: JsonObject, resources: Resources): Variable[] {
  const data = objectOr(named(resources, "ConfigMap", objectOr(configMapRef).name)?.data);
  return Object.entries(data).map(([key, value]) => ({
    name: `${textOr(prefix)}${key}`,
    value: scalarText(value) ?? "",
  }));
}

function variableOf({ name, value, valueFrom }: JsonObject, resources: Resources): Variable {
  const own = { name: textOr(name) };
  const { configMapKeyRef, secretKeyRef } = objectOr(valueFrom);
  if (valueFrom === undefined || valueFrom === null)
    return { ...own, value: scalarText(value) ?? "" };
  const { name: map, key } = objectOr(configMapKeyRef ?? secretKeyRef);
  const source = `the key \`${asWritten(textOr(key))}\` of the`;
  if (secretKeyRef !== undefined)
    return { ...own, origin: `its value is ${source} Secret \`${asWritten(textOr(map))}\`` };
  if (configMapKeyRef === undefined)
    return {
      ...own,
      origin: `Kubernetes itself sets it (${Object.keys(objectOr(valueFrom))[0] ?? "valueFrom"})`,
    };
  const there = named(resources, "ConfigMap", map);
  const read = scalarText(objectOr(there?.data)[textOr(key)]);
  if (read !== undefined) return { ...own, value: read };
  const missing = there === undefined ? "which isn't in this file" : "which lacks it";
  return {
    ...own,
    origin: `its value is ${source} ConfigMap \`${asWritten(textOr(map))}\`, ${missing}`,
  };
}

/** What `envFrom` brings that nothing is known of. */
export function unreadSources({ envFrom }: JsonObject, resources: Resources) {
  return objectsIn(envFrom).flatMap(
    ({ configMapRef, secretRef }): Pick<LeftOut, "what" | "why">[] => {
      const { name } = objectOr(configMapRef ?? secretRef);
      const kind = configMapRef === undefined ? "Secret" : "ConfigMap";
      if (kind === "ConfigMap" && named(resources, kind, name) !== undefined) return [];
      const what = `the variables of ${kind} \`${asWritten(textOr(name))}\` (\`envFrom\`)`;
      const why =
        kind === "Secret"
          ? NOT_CARRIED.secret
          : "it isn't in this file: add it, or write its variables as `environment`.";
      return [{ what, why }];
    },
  );
}

/** A text with `$(NAME)` and KServe's own `{{.Name}}` filled in, as far as they are known. */
export function filledIn(
  text: string,
  variables: readonly Variable[],
  fields: ReadonlyMap<string, string> = new Map(),
): string {
  const known = new Map(variables.map(({ name, value }) => [name, value ?? elsewhere(name)]));
  return text
    .replace(/\$(\$?)\(([\w.-]+)\)/g, (whole, escaped, name) =>
      escaped === "" ? (known.get(name) ?? whole) : whole.slice(1),
    )
    .replace(/\{\{\s*\.([\w.]+)\s*\}\}/g, (whole, field) => fields.get(field) ?? standIn(whole));
}

/** A mount of a container: a folder of the machine, shared memory, or what is no folder here. */
export type PodMount =
  | { readonly folder: string; readonly inside: string }
  | { readonly sharedMemory: string }
  | { readonly what: string; readonly why: string; readonly mount: number };

/** What becomes of the mounts of a container. */
export function mountsOf(container: JsonObject, pod: JsonObject, resources: Resources): PodMount[] {
  const volumes = new Map(objectsIn(pod.volumes).map((volume) => [volume.name, volume]));
  return objectsIn(container.volumeMounts).map((each, mount): PodMount => {
    const volume = volumes.get(each.name) ?? {};
    const inside = textOr(each.mountPath);
    const folder = folderOf(volume, resources);
    if (folder !== undefined)
      return { inside, folder: [folder, textOr(each.subPath)].filter(Boolean).join("/") };
    const { medium, sizeLimit } = objectOr(volume.emptyDir);
    if (inside === "/dev/shm" || medium === "Memory")
      return { sharedMemory: scalarText(sizeLimit) ?? "" };
    return { mount, what: volumeText(volume, textOr(each.name), inside), why: whyNot(volume) };
  });
}

/** The folder of the machine that a volume is, also by a claim whose volume stands in the file. */
function folderOf({ hostPath, persistentVolumeClaim }: JsonObject, resources: Resources) {
  const own = textOr(objectOr(hostPath).path);
  if (own !== "") return own;
  const name = objectOr(persistentVolumeClaim).claimName;
  if (name === undefined) return undefined;
  const claim = objectOr(named(resources, "PersistentVolumeClaim", name)?.spec);
  const volume = resources.find(
    (each) =>
      each.kind === "PersistentVolume" &&
      (nameOf(each) === claim.volumeName || objectOr(objectOr(each.spec).claimRef).name === name),
  );
  const { hostPath: host, local } = objectOr(volume?.spec);
  return textOr(objectOr(host ?? local).path) || undefined;
}

/** How a person calls a volume: by what it is of. */
function volumeText(volume: JsonObject, name: string, inside: string): string {
  const kind = Object.keys(volume).find((key) => key !== "name") ?? "volume";
  const { claimName, name: source, secretName } = objectOr(volume[kind]);
  const of = [claimName, source, secretName].map(textOr).find((each) => each !== "");
  return asWritten(
    `the volume \`${name}\` at ${inside} (${kind}${of === undefined ? "" : ` \`${of}\``})`,
  );
}

/** Why a volume that is no folder of the machine isn't mounted. */
function whyNot(volume: JsonObject): string {
  if (volume.emptyDir !== undefined)
    return "it begins empty: a server keeps such files in its own container.";
  if (volume.secret !== undefined) return NOT_CARRIED.secret;
  if (volume.configMap !== undefined)
    return "a server gets only folders of the machine: put its files into one, and write it as `mounts`.";
  return "which folder of the machine that is doesn't stand in this file: set `modelCache`, or write it as `mounts`.";
}

/** Ports of the machine that lead to a container, as `docker run -p` has them. */
export function podPorts({ ports }: JsonObject, services: Resources): readonly string[] {
  const own = objectsIn(ports);
  const direct = own.flatMap(({ hostPort, containerPort }) =>
    hostPort === undefined ? [] : [`${scalarText(hostPort)}:${scalarText(containerPort)}`],
  );
  const byService = services.flatMap(({ spec }) =>
    objectsIn(objectOr(spec).ports).flatMap(({ nodePort, targetPort, port }) => {
      const target = scalarText(targetPort) ?? scalarText(port);
      const inside = own.find((each) => each.name === target)?.containerPort ?? target;
      return nodePort === undefined ? [] : [`${scalarText(nodePort)}:${scalarText(inside)}`];
    }),
  );
  return [...direct, ...byService];
}

/** The Services that lead to a pod, by its labels. */
export function servicesOf(labels: JsonObject, resources: Resources): JsonObject[] {
  return resources.filter(({ kind, spec }) => {
    const selector = Object.entries(objectOr(objectOr(spec).selector));
    return (
      kind === "Service" &&
      selector.length > 0 &&
      selector.every(([key, value]) => labels[key] === value)
    );
  });
}
