import { type ContainerState, readContainers } from "@local-serving/machines/docker/containers";
import { docker } from "@local-serving/machines/docker/docker";
import { type DockerFacts, readDocker } from "@local-serving/machines/docker/engine";

/** A machine's Docker engine and its containers. */
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
}

export function containersOn(dockerHost: string): Containers {
  return {
    docker: (args) => docker(args, dockerHost),
    containers: (filters) => readContainers(dockerHost, filters),
    engine: (filters) => readDocker(dockerHost, filters),
  };
}
