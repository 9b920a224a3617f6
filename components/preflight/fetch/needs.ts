import { defined } from "@local-serving/base/faults/defined";
import { Failed } from "@local-serving/base/faults/fault";
import { objectOr, textOr } from "@local-serving/base/faults/json";
import { BYTES_PER_GB } from "@local-serving/base/units/memory";
import { docker, dockerJson, hasImage } from "@local-serving/machines/docker/docker";
import { layersOf, repositoryOf } from "@local-serving/machines/docker/manifest";
import { diskFor, filesOf } from "@local-serving/machines/files";
import {
  bytesHere,
  cacheOn,
  isWhole,
  snapshotOf,
  weightsOf,
} from "@local-serving/machines/hubCache";
import type { CommandPlace } from "@local-serving/machines/onMachine";
import type { MachinePlan } from "../../plan";
import { serversOn } from "../../planned";
import { programWords } from "../../services/on-demand";
import type { FetchTarget } from "./causes";
import { askHub, bytesLeft, tokenIn, weightBytes } from "./hub";

/** Something of the plan that isn't on the machine yet. */
export interface Missing extends FetchTarget {
  /** Bytes that are still to come; absent where nobody says. */
  readonly bytes?: number;
  /** Bytes that it is taken to need on its disk, where nobody says how many are to come. */
  readonly estimatedBytes?: number;
  /** Why it can't come, in the words of whoever was asked. */
  readonly problem?: string;
}

export interface MissingModel extends Missing {
  readonly cache: string;
  /** The server's image, whose tool loads it. */
  readonly image: string;
}

export interface MissingImage extends Missing {
  /** Bytes of each layer that is to come, by its digest. */
  readonly layers: ReadonlyMap<string, number>;
}

/** A file system that takes some of it. */
export interface DiskNeed {
  readonly paths: readonly string[];
  readonly freeBytes: number;
  readonly neededBytes: number;
  /** What parts of unknown size are taken to need beside that. */
  readonly estimatedBytes?: number;
}

/** What a machine lacks of its plan, and the disks that it goes to. */
export interface Needs {
  readonly images: readonly MissingImage[];
  readonly models: readonly MissingModel[];
  /** llama-swap, where it is declared and not here. */
  readonly program?: Missing;
  /** Sizes of models' weights in GB by their ids, as the cache's files or the hub tell them. */
  readonly weightsGB?: Readonly<Record<string, number>>;
  readonly disks: readonly DiskNeed[];
  /** Whether the engine runs as a user: then root inside a container is that user. */
  readonly rootless: boolean;
}

export interface ReadingNeeds {
  /** Asks the hub of a model only where the cache's own files don't show that it is whole. */
  readonly trustsCache?: boolean;
  /** Asks neither a registry nor the hub: what the machine itself shows is all that is known. */
  readonly offline?: boolean;
  /** The size of a model in GB where the hub can't be asked. */
  readonly knownGB?: (id: string) => number | undefined;
}

/**
 * What an image takes on disk for each byte of its download: about two bytes unpacked, and the
 * download itself until then.
 */
export const IMAGE_ON_DISK = 3;

/** What an image of a vLLM takes on disk, where its registry doesn't say or isn't asked. */
export const SERVER_IMAGE_BYTES = 20 * BYTES_PER_GB;

/** What a program takes for each byte of its archive: the archive, and twice that unpacked. */
const PROGRAM_ON_DISK = 3;

/** Longer than its address gets to answer. */
const LOOK_SECONDS = 60;

/** Reads what a machine lacks of its plan. Throws `Failed` where Docker doesn't answer. */
export async function readNeeds(machine: MachinePlan, reading: ReadingNeeds = {}): Promise<Needs> {
  const info = objectOr(await dockerJson(["info", "--format", "{{json .}}"], machine.dockerHost));
  const [images, found, program] = await Promise.all([
    missingImages(machine, reading),
    readModels(machine, reading),
    missingProgram(machine),
  ]);
  const models = found.flatMap(({ missing }) => missing ?? []);
  const weightsGB = Object.fromEntries(
    found.flatMap(({ id, weightsGB: size }) => (size ? [[id, size] as const] : [])),
  );
  const root = textOr(info.DockerRootDir);
  const disks = await disksOf(machine, [
    ...images.map((image) => taking(image, root, IMAGE_ON_DISK)),
    ...models.map((model) => taking(model, model.cache, 1)),
    ...(program === undefined
      ? []
      : [taking(program, machine.onDemand?.folder ?? "", PROGRAM_ON_DISK)]),
  ]);
  const rootless = /rootless/.test(String(info.SecurityOptions));
  return { images, models, weightsGB, ...defined({ program }), disks, rootless };
}

/** What something takes of the disk that a path is on. */
const taking = ({ bytes = 0, estimatedBytes = 0 }: Missing, path: string, onDisk: number) => ({
  path,
  bytes: bytes * onDisk,
  estimatedBytes,
});

/** Everything that a plan needs, as a machine that has nothing of it would load it. */
export function allNeeds(
  machine: MachinePlan,
  { knownGB }: Pick<ReadingNeeds, "knownGB"> = {},
): Pick<Needs, "images" | "models" | "program" | "disks"> {
  const { onDemand } = machine;
  const program = onDemand && namedProgram(onDemand.program);
  return {
    images: imagesOf(machine).map((name) => ofUnknownSize(name, machine)),
    models: wantedModels(machine).map(({ id, ...rest }) => ({
      kind: "model",
      name: id,
      ...rest,
      ...defined({ bytes: bytesKnown(knownGB?.(id)) }),
    })),
    ...defined({ program }),
    disks: [],
  };
}

const imagesOf = ({ containers }: MachinePlan): string[] => [
  ...new Set(containers.map(({ image }) => image)),
];

/** An image whose size nobody says. */
function ofUnknownSize(name: string, machine: MachinePlan, problem?: string): MissingImage {
  const isOfServer = serversOn(machine).some(({ container: { image } }) => image === name);
  const estimatedBytes = isOfServer ? SERVER_IMAGE_BYTES : undefined;
  return { kind: "image", name, layers: new Map(), ...defined({ problem, estimatedBytes }) };
}

const bytesKnown = (gigabytes: number | undefined): number | undefined =>
  gigabytes && gigabytes * BYTES_PER_GB;

/** The images of a plan that an engine lacks. */
async function missingImages(
  machine: MachinePlan,
  { offline = false }: ReadingNeeds,
): Promise<MissingImage[]> {
  const { dockerHost } = machine;
  const images = imagesOf(machine);
  const here = await Promise.all(images.map((image) => hasImage(image, dockerHost)));
  const missing = images.filter((_, index) => !here[index]);
  if (offline) return missing.map((name) => ofUnknownSize(name, machine));
  return Promise.all(
    missing.map(async (name) => {
      try {
        return await sizedImage(name, dockerHost);
      } catch (error) {
        if (error instanceof Failed) return ofUnknownSize(name, machine, error.message);
        throw error;
      }
    }),
  );
}

/** An image with what is to come of it, by its registry. */
async function sizedImage(name: string, dockerHost: string): Promise<MissingImage> {
  const [layers, had] = await Promise.all([
    layersOf(name, dockerHost),
    layersHere(repositoryOf(name), dockerHost),
  ]);
  for (const layer of had) layers.delete(layer);
  const bytes = [...layers.values()].reduce((sum, size) => sum + size, 0);
  return { kind: "image", name, layers, bytes };
}

/** Layers of the images that an engine has of a repository: a newer image shares most of them. */
async function layersHere(repository: string, dockerHost: string): Promise<string[]> {
  const format = "{{.Repository}}@{{.Digest}}";
  const listed = await docker(["images", "--digests", "--format", format, repository], dockerHost);
  const own = [...new Set(listed.split("\n").filter((line) => line.includes("@sha256:")))];
  const layers = await Promise.all(
    own.map((image) => layersOf(image, dockerHost).catch(() => new Map<string, number>())),
  );
  return layers.flatMap((each) => [...each.keys()]);
}

const namedProgram = ({ version }: { readonly version: string }): Missing => ({
  kind: "program",
  name: `llama-swap ${version}`,
});

/** llama-swap as it is pinned, where the machine lacks it. */
async function missingProgram(machine: MachinePlan): Promise<Missing | undefined> {
  const { onDemand } = machine;
  if (onDemand === undefined) return undefined;
  const words = programWords(onDemand.program, "look");
  const { code, out, err } = await filesOf(machine).ask(words, LOOK_SECONDS);
  const of = namedProgram(onDemand.program);
  if (code !== 0) return { ...of, problem: err };
  const [, missing, bytes = ""] = /^(missing)? ?(\d*)/.exec(out.trim()) ?? [];
  if (missing === undefined) return undefined;
  return { ...of, ...(bytes === "" ? {} : { bytes: Number(bytes) }) };
}

/** A model of a plan: what its cache lacks of it, and the size of its weights where that is told. */
interface ReadModel {
  readonly id: string;
  readonly missing?: MissingModel;
  readonly weightsGB?: number | undefined;
}

/** The models of a plan, as their cache and the hub have them. */
async function readModels(
  machine: MachinePlan,
  { trustsCache = false, offline = false, knownGB }: ReadingNeeds,
): Promise<ReadModel[]> {
  const read = async ({ id, ...rest }: WantedModel): Promise<ReadModel> => {
    const { revision, tokenVariable } = rest;
    const cache = await cacheOn(machine, rest.cache, id);
    const whole = isWhole(cache, id, revision);
    const snapshot = whole ? snapshotOf(cache, id, revision) : undefined;
    const weightsGB = snapshot === undefined ? undefined : weightsOf(cache, snapshot);
    if (whole && (trustsCache || offline)) return { id, weightsGB };
    const of = { kind: "model", name: id, ...rest } as const;
    const known = bytesKnown(knownGB?.(id));
    if (offline) {
      const left = (known ?? 0) - bytesHere(cache, id);
      return { id, missing: { ...of, ...defined({ bytes: left > 0 ? left : undefined }) } };
    }
    const token = process.env[tokenVariable ?? ""] || tokenIn(cache);
    const answer = await askHub({ id, ...defined({ revision }) }, token);
    if (typeof answer !== "string") {
      const bytes = bytesLeft(cache, id, answer);
      const size = weightBytes(answer.files) / BYTES_PER_GB;
      return bytes === undefined
        ? { id, weightsGB: size }
        : { id, weightsGB: size, missing: { ...of, bytes } };
    }
    if (whole) return { id, weightsGB };
    return { id, missing: { ...of, ...defined({ bytes: known }), problem: answer } };
  };
  return Promise.all(wantedModels(machine).map(read));
}

/** A model that a server of a plan loads from the hub. */
type WantedModel = ReturnType<typeof wantedModels>[number];

/** The models that a plan's servers load from the hub, each once for a cache. */
function wantedModels(machine: MachinePlan) {
  const wanted = new Map(
    serversOn(machine).flatMap(
      ({ hubModels, modelCache: cache, container: { image }, tokenFile }) =>
        hubModels.map((model) => {
          const needed = {
            ...model,
            cache,
            image,
            ...defined({ tokenVariable: tokenFile?.variable }),
          };
          return [JSON.stringify([model.id, model.revision, cache]), needed] as const;
        }),
    ),
  );
  return [...wanted.values()];
}

/**
 * The file systems behind some folders of a machine, each once. A folder that isn't there yet is
 * going to be made.
 */
async function disksOf(
  machine: CommandPlace,
  parts: readonly ReturnType<typeof taking>[],
): Promise<DiskNeed[]> {
  const disks = new Map<number, DiskNeed>();
  for (const { path, bytes, estimatedBytes } of parts) {
    const found = await diskFor(path, filesOf(machine));
    if (found === undefined) continue;
    const { device, freeBytes } = found;
    const { paths = [], neededBytes = 0, estimatedBytes: had = 0 } = disks.get(device) ?? {};
    const estimated = had + estimatedBytes || undefined;
    disks.set(device, {
      paths: [...new Set([...paths, path])],
      freeBytes,
      neededBytes: neededBytes + bytes,
      ...defined({ estimatedBytes: estimated }),
    });
  }
  return [...disks.values()];
}
