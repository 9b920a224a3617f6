import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
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

/** As `describeEngineWithGpus`, for programs that need the engine's host of another language. */
export function describeEngineWithHost(language: string, name: string, tests: () => void): void {
  const layer = inject("engineLayer");
  const missing = layer.missing ?? hostMissing(language, layer.pulumi);
  if (missing === undefined) describeEngineWithGpus(name, tests);
  else describeLayer("engine", missing, name, tests);
}

/** The engine's archive has each host beside the CLI. */
function hostMissing(language: string, pulumi: string): string | undefined {
  const host = `pulumi-language-${language}`;
  const folders = [dirname(pulumi), ...(process.env.PATH ?? "").split(delimiter).filter(Boolean)];
  return folders.some((folder) => existsSync(join(folder, host)))
    ? undefined
    : `no ${host} beside ${pulumi} or on PATH`;
}
