import { inject } from "vitest";
import { describeLayer } from "../layers/describeLayer";

/** Tests that need a Docker daemon and a registry of images. */
export function describeDocker(name: string, tests: () => void): void {
  describeLayer("docker", inject("dockerLayer").missing, name, tests);
}

/** Tests whose containers ask for all GPUs; that there is one behind the request is not needed. */
export function describeDockerWithGpus(name: string, tests: () => void): void {
  const layer = inject("dockerLayer");
  describeLayer("docker", layer.missing ?? layer.gpusMissing, name, tests);
}
