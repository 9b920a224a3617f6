import type { TestProject } from "vitest/node";
import { type DockerLayer, startDockerLayer } from "../docker/layer";
import { ownDaemonMissing, removeOwnDaemons } from "../docker/ownDaemon";
import { type EngineLayer, findEngine } from "../engine/layer";

declare module "vitest" {
  interface ProvidedContext {
    engineLayer: EngineLayer;
    dockerLayer: DockerLayer;
    ownDaemon: { readonly missing?: string };
  }
}

/** Runs once before the tests of the engine and docker layers: finds their parts and says what will be skipped, and why. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Before the run's directory is removed.
  process.prependOnceListener("exit", removeOwnDaemons);
  const [engine, docker, daemon] = await Promise.all([findEngine(), startDockerLayer(), ownDaemonMissing()]);
  project.provide("engineLayer", engine);
  project.provide("dockerLayer", docker.layer);
  project.provide("ownDaemon", daemon === undefined ? {} : { missing: daemon });
  say("engine", engine.missing, engine.missing === undefined ? `pulumi ${engine.version}` : "");
  say("docker", docker.layer.missing, docker.layer.missing === undefined ? docker.layer.registry : "");
  if (docker.layer.missing === undefined) say("docker with GPUs", docker.layer.gpusMissing, "--gpus all");
  say("docker daemon's restart", daemon, "dockerd");
  return docker.stop;
}

function say(layer: string, missing: string | undefined, found: string): void {
  console.log(missing === undefined ? `${layer} tests: ${found}` : `${layer} tests SKIPPED: ${missing}`);
}
