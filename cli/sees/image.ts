import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isRecord, type JsonObject, jsonIn } from "@local-serving/base/faults/json";
import { isHere } from "@local-serving/machines/address";
import { docker, hasImage, otherAnswer } from "@local-serving/machines/docker/docker";
import { versionsInside } from "./packageVersions";

/** The images of a machine's Docker engine, and what else it keeps. */
export interface Images {
  imageIsThere(image: string): Promise<boolean>;
  /** Bytes of layers of any image that the engine is downloading; 0 if that can't be seen. */
  downloadedBytes(): Promise<number>;
  /** Every image, as `docker images` prints it. Throws `Failed` as `docker` does. */
  images(): Promise<readonly JsonObject[]>;
  /**
   * Digests in their registries by image id; one that was never in a registry is left out. Throws
   * `Failed` as `docker` does.
   */
  imageDigests(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Package versions inside an image that is there. Throws `Failed` where they can't be read. */
  versionsInside(image: string): Promise<Readonly<Record<string, string>>>;
}

const LIST_IMAGES = ["images", "--digests", "--no-trunc", "--format", "{{json .}}"];

export function imagesOn(dockerHost: string): Images {
  const ask = (args: readonly string[]) => docker(args, dockerHost);
  let root: Promise<string> | undefined;
  return {
    imageIsThere: (image) => hasImage(image, dockerHost),
    downloadedBytes: async () => {
      if (!isHere({ dockerHost })) return 0;
      root ??= ask(["info", "--format", "{{.DockerRootDir}}"]).catch(() => "");
      const folder = (await root).trim();
      return folder === "" ? 0 : downloadedBytes(folder);
    },
    images: async () => {
      const lines = (await ask(LIST_IMAGES)).split("\n").filter(Boolean);
      return lines.map((line) => {
        const image = jsonIn(line);
        if (!isRecord(image)) throw otherAnswer(LIST_IMAGES, "JSON", line, dockerHost);
        return image;
      });
    },
    imageDigests: async (ids) => {
      if (ids.length === 0) return new Map();
      const format = "{{.Id}} {{json .RepoDigests}}";
      const lines = await ask(["image", "inspect", "--format", format, ...ids]);
      const entries = lines.split("\n").flatMap((line): [string, string][] => {
        const [, id, digest] = /^(\S+) \["[^"@]*@(sha256:[0-9a-f]{64})"/.exec(line) ?? [];
        return id === undefined || digest === undefined ? [] : [[id, digest]];
      });
      return new Map(entries);
    },
    versionsInside: (image) => versionsInside(image, dockerHost),
  };
}

/**
 * Below a store of containerd: one folder for each piece that is on its way, with its bytes so far
 * in `data`.
 */
const INGEST = "io.containerd.content.v1.content/ingest";

/** containerd's own folder, where the engine shares it. */
const CONTAINERD_ROOT = "/var/lib/containerd";

/** What Docker's own store calls a layer that it is downloading (seen in 20.10). */
const LAYER = /^GetImageBlob\d+$/;

/**
 * Bytes of layers that an engine has downloaded and not yet unpacked, of any image. Docker doesn't
 * say how far somebody else's pull is; these files do, and only root may see them: 0 where there
 * are none or they can't be seen.
 */
export async function downloadedBytes(
  dockerRoot: string,
  containerdRoot = CONTAINERD_ROOT,
): Promise<number> {
  const layers = (await namesIn(join(dockerRoot, "tmp")))
    .filter((name) => LAYER.test(name))
    .map((name) => join(dockerRoot, "tmp", name));
  // An engine without a containerd of the system's brings its own.
  const stores = [join(containerdRoot, INGEST), join(dockerRoot, "containerd/daemon", INGEST)];
  const pieces = await Promise.all(
    stores.map(async (store) => (await namesIn(store)).map((name) => join(store, name, "data"))),
  );
  const sizes = await Promise.all([...layers, ...pieces.flat()].map(sizeOf));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}
