import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isHere } from "../../machines/address";
import { type ContainerState, readContainers } from "../../machines/docker/containers";
import { docker } from "../../machines/docker/docker";
import { type DockerFacts, readDocker } from "../../machines/docker/engine";

/** A machine's Docker engine: its containers and images. */
export interface Containers {
  /** Output of a docker command. Throws `Failed` with docker's own words. */
  docker(args: readonly string[]): Promise<string>;
  /**
   * Every container, running or not, or those that pass all of `docker ps`'s filters. Throws
   * `Failed` when Docker does not answer.
   */
  containers(filters?: readonly string[]): Promise<readonly ContainerState[]>;
  /**
   * Whether the engine answers, whether it can serve GPUs, whether its bridge is there, and which
   * containers pass the filters.
   */
  engine(filters: readonly string[]): Promise<DockerFacts<ContainerState>>;
  imageIsThere(image: string): Promise<boolean>;
  /** Bytes of layers of any image that the engine is downloading; 0 if that can't be seen. */
  downloadedBytes(): Promise<number>;
}

/** Seconds that Docker has to answer one question. */
const DOCKER_SECONDS = 20;

export function containersOn(dockerHost: string): Containers {
  const ask = (args: readonly string[]) => docker(args, DOCKER_SECONDS, dockerHost);
  let root: Promise<string> | undefined;
  return {
    docker: ask,
    containers: (filters) => readContainers(dockerHost, filters),
    engine: (filters) => readDocker(dockerHost, filters),
    imageIsThere: (image) =>
      ask(["image", "inspect", "--format", "{{.Id}}", image]).then(
        () => true,
        () => false,
      ),
    downloadedBytes: async () => {
      if (!isHere({ dockerHost })) return 0;
      root ??= ask(["info", "--format", "{{.DockerRootDir}}"]).catch(() => "");
      const folder = (await root).trim();
      return folder === "" ? 0 : downloadedBytes(folder);
    },
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
