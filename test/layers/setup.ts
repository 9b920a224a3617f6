import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { type DockerLayer, startDockerLayer } from "../docker/layer";
import { type EngineLayer, findEngine } from "../engine/layer";

declare module "vitest" {
  interface ProvidedContext {
    engineLayer: EngineLayer;
    dockerLayer: DockerLayer;
  }
}

/**
 * Runs once before the tests of the engine and docker layers: finds their parts and says what will
 * be skipped, and why.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [engine, docker] = await Promise.all([
    findEngine(mkdtempSync(join(tmpdir(), "engine-home-"))),
    startDockerLayer(),
  ]);
  project.provide("engineLayer", engine);
  project.provide("dockerLayer", docker.layer);
  say("engine", engine.missing, engine.missing === undefined ? `pulumi ${engine.version}` : "");
  say(
    "docker",
    docker.layer.missing,
    docker.layer.missing === undefined ? docker.layer.registry : "",
  );
  if (docker.layer.missing === undefined)
    say("docker with GPUs", docker.layer.gpusMissing, "--gpus all");
  return docker.stop;
}

function say(layer: string, missing: string | undefined, found: string): void {
  console.log(
    missing === undefined ? `${layer} tests: ${found}` : `${layer} tests SKIPPED: ${missing}`,
  );
}
