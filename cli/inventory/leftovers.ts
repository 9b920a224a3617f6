import { posix } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { textOr } from "@local-serving/base/faults/json";
import { counted } from "@local-serving/base/faults/quoting";
import { COPIES_FOLDER } from "@local-serving/machines/copies/dataCopies";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import { repositoryOf } from "@local-serving/machines/docker/manifest";
import { filesOf } from "@local-serving/machines/files";
import { readAppliedPlan } from "../../components/evidence";
import type { MachinePlan } from "../../components/plan";
import { serversOn } from "../../components/planned";
import { oursOn, recordPathOf } from "../../components/preflight";
import { type Host, hostOf } from "../sees/host";
import { typedOn } from "../stack/typed";
import { sharedFiles } from "./sharedFiles";

/** Something on a machine that nothing uses now. */
export interface Leftover {
  /**
   * `container`, `volume`, `network`, `image`; of a path what lies there: `model`, `file`, `state`
   * or `copies`.
   */
  readonly kind: string;
  readonly name: string;
  /** What it is, or why it is left. */
  readonly what: string;
  /** As Docker or du says it. */
  readonly size?: string;
  /** The command that removes it. */
  readonly remove: string;
}

/** What removes a thing of each kind, before its name. */
const REMOVES = {
  container: ["docker", "rm", "--force"],
  volume: ["docker", "volume", "rm"],
  network: ["docker", "network", "rm"],
  image: ["docker", "rmi", "--force"],
  path: ["rm", "-rf"],
} as const;

/**
 * What `down` or an earlier stack file left on a machine and nothing uses now, each with the
 * command that removes it. Sizes are as Docker or du says them. It only reads. Throws `Failed`
 * where no Docker answers.
 */
export async function leftovers(machine: MachinePlan): Promise<Leftover[]> {
  const host = hostOf(machine.dockerHost);
  const isApplied = "plan" in (await readAppliedPlan(machine, filesOf(machine)));
  const containers = await host.containers();
  const ours = await host.containers(oursOn(machine));
  return [
    ...othersOf(machine, ours),
    ...(await unusedVolumes(machine, host)),
    ...(await unusedNetworks(machine, host, ours)),
    ...(await unusedImages(machine, host, containers)),
    ...(await unusedModels(machine, host, ours)),
    ...(await leftFiles(machine, host, isApplied)),
  ];
}

const left = (
  machine: MachinePlan,
  kind: keyof typeof REMOVES,
  { name, what, size }: Pick<Leftover, "name" | "what"> & { readonly size?: string | undefined },
): Leftover => {
  const remove = typedOn(machine, [...REMOVES[kind], name]);
  return { kind, name, what, ...defined({ size }), remove };
};

/** Containers of ours that the stack file doesn't have. */
const othersOf = (machine: MachinePlan, ours: readonly ContainerState[]): Leftover[] =>
  ours
    .filter(({ name }) => machine.containers.every((each) => each.name !== name))
    .map(({ name, status }) => {
      const what = `${status}; has our label and isn't in the stack file`;
      return left(machine, "container", { name, what });
    });

const lines = (text: string): string[] => text.split("\n").filter(Boolean);

async function unusedVolumes(machine: MachinePlan, { docker }: Host): Promise<Leftover[]> {
  const names = lines(await docker(["volume", "ls", "--quiet", "--filter", "dangling=true"]));
  const declared = machine.services.flatMap(({ volumes }) => volumes);
  return names
    .filter((name) => name.startsWith(`${machine.network}-`))
    .map((name) => {
      const holds = declared.find((volume) => volume.name === name)?.holds;
      return left(machine, "volume", { name, what: holds ?? "used by no container" });
    });
}

async function unusedNetworks(
  machine: MachinePlan,
  { docker }: Host,
  ours: readonly ContainerState[],
): Promise<Leftover[]> {
  if (ours.length > 0) return [];
  const names = [
    machine.network,
    ...(machine.onDemand?.network ? [machine.onDemand.network.name] : []),
  ];
  const filters = names.flatMap((name) => ["--filter", `name=^${name}$`]);
  const list = ["network", "ls", "--format", "{{.Name}}", ...filters];
  return lines(await docker(list)).map((name) =>
    left(machine, "network", { name, what: "no container of ours is on it" }),
  );
}

async function unusedImages(
  machine: MachinePlan,
  host: Host,
  containers: readonly ContainerState[],
): Promise<Leftover[]> {
  const repositories = new Set(machine.containers.map(({ image }) => repositoryOf(image)));
  const unused = (await host.images()).filter(
    (image) =>
      repositories.has(textOr(image.Repository)) &&
      containers.every(({ imageId }) => imageId !== image.ID),
  );
  return unused.map(({ Repository, Tag, Digest, ID, Size }) => {
    const name = `${Repository}:${Tag}@${Digest}`.replace(/[:@]<none>/g, "");
    const what = "no container is made from it";
    // By its id it goes with all of its names.
    return { ...left(machine, "image", { name: textOr(ID), what, size: textOr(Size) }), name };
  });
}

/** Models in the cache that no server of ours has loaded. */
async function unusedModels(
  machine: MachinePlan,
  host: Host,
  ours: readonly ContainerState[],
): Promise<Leftover[]> {
  const loaded = serversOn(machine)
    .filter(({ container }) => ours.some(({ name }) => name === container.name))
    .flatMap(({ hubModels }) => hubModels.map(({ id }) => `models--${id.replaceAll("/", "--")}`));
  const caches = [...new Set(serversOn(machine).map(({ modelCache }) => `${modelCache}/hub`))];
  const models = caches.map(async (hub) => {
    const shared = await sharedFiles(hub, host);
    const unused = (await host.names(hub)).filter(
      (name) => name.startsWith("models--") && !loaded.includes(name),
    );
    const paths = [...unused.map((name) => modelAt(hub, name, shared)), ...ofNoModel(hub, shared)];
    return Promise.all(paths.map((path) => pathLeft(machine, host, "model", path)));
  });
  return (await Promise.all(models)).flat(2);
}

type Shared = Awaited<ReturnType<typeof sharedFiles>>;

const IN_CACHE = "in the cache, which instance A and others may use";

/** A model in a cache, with the files that it alone has in the store of all models. */
function modelAt(hub: string, name: string, shared: Shared): PathLeft {
  const path = `${hub}/${name}`;
  if (shared === undefined)
    return { path, what: `${IN_CACHE}; what it shares in ${hub}/blobs can't be read, and stays` };
  const mine = shared.filter(({ users }) => users.has(name));
  const others = new Set(mine.flatMap(({ users }) => [...users]));
  others.delete(name);
  const stays =
    others.size === 0
      ? ""
      : `; what it shares with ${[...others].map(repositoryText).join(", ")} stays`;
  const own = mine.filter(({ users }) => users.size === 1);
  return { path, what: `${IN_CACHE}${stays}`, with: own.map((file) => file.path) };
}

/** `models--org--name` as a person knows it. */
const repositoryText = (folder: string): string =>
  folder.replace(/^[a-z]+--/, "").replaceAll("--", "/");

/** Files of models that are gone, which whoever removed their folders left in the store. */
function ofNoModel(hub: string, shared: Shared = []): PathLeft[] {
  const [first, ...others] = shared.filter(({ users }) => users.size === 0);
  if (first === undefined) return [];
  const what = `${counted(others.length + 1, "file")} in ${hub}/blobs that no model links to`;
  return [{ path: first.path, what, with: others.map(({ path }) => path) }];
}

/** What is kept beside files of ours, and our state, where nothing is applied any more. */
async function leftFiles(
  machine: MachinePlan,
  host: Host,
  isApplied: boolean,
): Promise<Leftover[]> {
  const written = [...machine.files, ...machine.secretFiles].filter((file) => !("here" in file));
  const look = (kind: string, path: string, what: string) =>
    pathLeft(machine, host, kind, { path, what });
  const found = written.map(({ path }) =>
    look("file", `${path}.edited`, "edited by somebody, and kept beside ours"),
  );
  if (!isApplied) {
    const record = written.find(({ role }) => role === "applied-plan");
    for (const { path } of written)
      found.push(look("file", recordPathOf(path), "what was there before ours"));
    if (record !== undefined) {
      const parts = await stateParts(posix.dirname(record.path), host);
      for (const { kind, path, what } of parts) found.push(look(kind, path, what));
    }
  }
  return (await Promise.all(found)).flat();
}

/** Our state on a machine, and apart from it copies of data, which nothing else has. */
async function stateParts(folder: string, host: Host) {
  const [names, services] = [
    await host.names(folder),
    await host.names(`${folder}/${COPIES_FOLDER}`),
  ];
  const state = { kind: "state", what: "our state on the machine" };
  if (services.length === 0) return [{ ...state, path: folder }];
  return [
    ...names
      .filter((name) => name !== COPIES_FOLDER)
      .map((name) => ({ ...state, path: `${folder}/${name}` })),
    ...services.map((name) => ({
      kind: "copies",
      what: `backups of the data of ${name}`,
      path: `${folder}/${COPIES_FOLDER}/${name}`,
    })),
  ];
}

/** A path that is left. */
interface PathLeft {
  readonly path: string;
  readonly what: string;
  /** Other paths that are of no use without it. */
  readonly with?: readonly string[];
}

/** A path with its size, where something is there; what root owns needs root. */
async function pathLeft(
  machine: MachinePlan,
  host: Host,
  kind: string,
  { path, what, with: others = [] }: PathLeft,
): Promise<Leftover[]> {
  const taken = await host.taken(path, others);
  if (taken === undefined) return [];
  const words = [...REMOVES.path, path, ...others];
  const sudo = taken.uid === 0 && process.getuid?.() !== 0;
  const remove = typedOn(machine, sudo ? ["sudo", ...words] : words);
  return [{ ...left(machine, "path", { name: path, what, size: taken.size }), kind, remove }];
}
