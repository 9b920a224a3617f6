import { inject } from "vitest";
import { describeDocker, describeDockerWithGpus } from "../docker/available";
import { describeLayer } from "../layers/describeLayer";

/** Tests that need the Pulumi CLI with its plugins, and no daemon. */
export function describeEngine(name: string, tests: () => void): void {
  describeLayer("engine", inject("engineLayer").missing, name, tests);
}

/** Tests that need the engine, a daemon and a registry of images. */
export function describeEngineWithDocker(name: string, tests: () => void): void {
  describeEngine(name, () => describeDocker("with a Docker daemon", tests));
}

/** As `describeEngineWithDocker`, for stacks whose containers ask for all GPUs. */
export function describeEngineWithGpus(name: string, tests: () => void): void {
  describeEngine(name, () => describeDockerWithGpus("with a Docker daemon that serves GPUs", tests));
}
