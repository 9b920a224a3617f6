import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { eachLine, start } from "../../commandLine/run";
import { isHere } from "../../machines/address";
import { type ContainerState, readContainers } from "../../machines/docker/containers";
import { docker, dockerCommand } from "../../machines/docker/docker";
import { followedOn } from "../../machines/onMachine";

/** What `wait` needs of Docker. It only reads. */
export interface ContainerReader {
  /** `undefined` when there is no such container. Throws `Failed` when Docker does not answer. */
  state(name: string): Promise<ContainerState | undefined>;
  imageIsThere(image: string): Promise<boolean>;
  /** Bytes of layers of any image that the engine is downloading; 0 if that can't be seen. */
  downloadedBytes(): Promise<number>;
  /**
   * Hands every line of the log since this time to `line`, until it is stopped or Docker lets go of
   * it.
   */
  follow(name: string, since: string, line: (text: string) => void): Following;
}

export interface Following {
  stop(): void;
  /**
   * Whether Docker ended the stream, as it does at the container's end or when the log is rotated.
   */
  ended(): boolean;
}

const INSPECT_SECONDS = 20;

/**
 * More than a start prints; a server that ran for months prints more before it goes back to its
 * gate.
 */
const NEWEST_LINES = "5000";

export function dockerReader(dockerHost: string): ContainerReader {
  let root: Promise<string> | undefined;
  return {
    state: async (name) => (await readContainers(dockerHost)).find((each) => each.name === name),
    imageIsThere: (image) =>
      docker(["image", "inspect", "--format", "{{.Id}}", image], INSPECT_SECONDS, dockerHost).then(
        () => true,
        () => false,
      ),
    downloadedBytes: async () => {
      if (!isHere({ dockerHost })) return 0;
      root ??= docker(
        ["info", "--format", "{{.DockerRootDir}}"],
        INSPECT_SECONDS,
        dockerHost,
      ).catch(() => "");
      const folder = (await root).trim();
      return folder === "" ? 0 : downloadedBytes(folder);
    },
    follow: (name, since, line) => {
      const args = ["logs", "--follow", "--since", before(since), "--tail", NEWEST_LINES, name];
      const { words, env } = dockerCommand(args, dockerHost, followedOn);
      const { stdout, ended, stop } = start(words, { env, merged: true, held: true });
      let over = false;
      void ended.then(() => {
        over = true; // Where Docker is gone, the state says so.
      });
      eachLine(stdout, line);
      return { stop, ended: () => over };
    },
  };
}

/**
 * Docker notes a start only after the container has begun: first lines were seen up to 11 ms older
 * (20.10).
 */
const NOTED_LATE_MILLISECONDS = 1000;

function before(time: string): string {
  return new Date(Date.parse(time) - NOTED_LATE_MILLISECONDS).toISOString();
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
