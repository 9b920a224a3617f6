import { type ContainerState, readContainers } from "../../components/docker/containers";
import { docker } from "../../components/docker/docker";
import { isHere } from "../../components/planned/reach";
import { eachLine, start } from "../programs/run";
import { downloadedBytes } from "./download";

/** What `wait` needs of Docker. It only reads. */
export interface ContainerReader {
  /** `undefined` when there is no such container. Throws `Failed` when Docker does not answer. */
  state(name: string): Promise<ContainerState | undefined>;
  imageIsThere(image: string): Promise<boolean>;
  /** Bytes of layers of any image that the engine is downloading; 0 if that can't be seen. */
  downloadedBytes(): Promise<number>;
  /** Hands every line of the log since this time to `line`, until it is stopped or Docker lets go of it. */
  follow(name: string, since: string, line: (text: string) => void): Following;
}

export interface Following {
  stop(): void;
  /** Whether Docker ended the stream, as it does at the container's end or when the log is rotated. */
  ended(): boolean;
}

const INSPECT_SECONDS = 20;

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
      root ??= docker(["info", "--format", "{{.DockerRootDir}}"], INSPECT_SECONDS, dockerHost).catch(
        () => "",
      );
      const folder = (await root).trim();
      return folder === "" ? 0 : downloadedBytes(folder);
    },
    follow: (name, since, line) => {
      const { stdout, ended, stop } = start(["docker", "logs", "--follow", "--since", since, name], {
        env: { DOCKER_HOST: dockerHost },
        merged: true,
      });
      let over = false;
      void ended.then(() => {
        over = true; // Where Docker is gone, the state says so.
      });
      eachLine(stdout, line);
      return { stop, ended: () => over };
    },
  };
}
