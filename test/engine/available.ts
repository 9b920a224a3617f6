import { inject } from "vitest";
import { describeDocker, describeDockerWithGpus } from "../docker/available";
import { describeLayer } from "../layers/describeLayer";

export function describeEngine(name: string, tests: () => void): void {
  describeLayer("engine", inject("engineLayer").missing, name, tests);
}

export function describeEngineWithDocker(name: string, tests: () => void): void {
  // One layer is asked at a time: a skipped block inside a skipped block drops out of the counts.
  if (inject("engineLayer").missing === undefined) describeDocker(name, tests);
  else describeEngine(name, tests);
}

/** As `describeEngineWithDocker`, for stacks whose containers ask for all GPUs. */
export function describeEngineWithGpus(name: string, tests: () => void): void {
  if (inject("engineLayer").missing === undefined) describeDockerWithGpus(name, tests);
  else describeEngine(name, tests);
}
