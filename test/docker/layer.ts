import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mustRun, run } from "../layers/run";
import { registryMissing, startRegistry } from "./registry";
import { makeRootfs } from "./rootfs";

export type DockerLayer =
  | { readonly missing: string }
  | {
      readonly missing?: undefined;
      /** `localhost:PORT` of a registry that lives as long as the tests run. */
      readonly registry: string;
      /** Id of the image that every stand-in image is made from. */
      readonly baseImage: string;
      /** Why no container gets a GPU, `undefined` where one does. */
      readonly gpusMissing?: string;
    };

interface Started {
  readonly layer: DockerLayer;
  stop(): Promise<void>;
}

/** Makes the registry and the base image; nothing is started where no daemon answers. */
export async function startDockerLayer(): Promise<Started> {
  const missing = (await daemonMissing()) ?? registryMissing();
  if (missing !== undefined) return { layer: { missing }, stop: async () => {} };
  const folder = mkdtempSync(join(tmpdir(), "docker-tests-"));
  const registry = await startRegistry(folder);
  const baseTag = `${registry.address}/stand-in/base:latest`;
  const stop = async () => {
    await removeImages(registry.address);
    registry.stop();
    rmSync(folder, { recursive: true });
  };
  try {
    const root = join(folder, "rootfs");
    mkdirSync(root);
    await makeRootfs(root);
    const archive = join(folder, "rootfs.tar");
    await mustRun("tar", [
      "--create",
      "--file",
      archive,
      "--directory",
      root,
      "--owner=0",
      "--group=0",
      ".",
    ]);
    const changes = [
      'ENTRYPOINT ["vllm","serve"]',
      "ENV PATH=/usr/local/bin:/usr/bin:/bin",
      labelOf(registry.address),
    ];
    const baseImage = await mustRun("docker", [
      "import",
      ...changes.flatMap((change) => ["--change", change]),
      archive,
      baseTag,
    ]);
    rmSync(root, { recursive: true });
    rmSync(archive);
    const gpusMissing = await gpuRefusal(baseImage);
    const layer = { registry: registry.address, baseImage };
    return { layer: gpusMissing === undefined ? layer : { ...layer, gpusMissing }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function daemonMissing(): Promise<string | undefined> {
  const { code, stderr } = await run("docker", ["version", "--format", "{{.Server.Version}}"], {
    limitSeconds: 60,
  });
  return code === 0
    ? bridgeMissing()
    : `no Docker daemon answers (${stderr.trim().split("\n")[0]})`;
}

/** A daemon whose bridge somebody removed answers everything, and starts no container. */
async function bridgeMissing(): Promise<string | undefined> {
  const option = '{{index .Options "com.docker.network.bridge.name"}}';
  const { stdout } = await run("docker", ["network", "inspect", "bridge", "--format", option]);
  const name = stdout.trim();
  return name === "" || existsSync(`/sys/class/net/${name}`)
    ? undefined
    : `Docker's own bridge ${name} is missing: something removed it, and no container can start; restart the daemon`;
}

/** Asks the daemon itself: only a start shows whether it can hand out GPUs. */
async function gpuRefusal(image: string): Promise<string | undefined> {
  const args = ["run", "--rm", "--gpus", "all", "--entrypoint", "/bin/sh", image, "-c", "exit 0"];
  const { code, stderr } = await run("docker", args);
  if (code === 0) return undefined;
  const [said] = stderr.trim().split("\n");
  return `the daemon starts no container with --gpus all (${said}); it needs nvidia-container-runtime-hook on its PATH`;
}

/**
 * On the base image, and so on each that is made from it: by names alone one that lost its tag is
 * not found.
 */
const LABEL = "local-serving.tests";

/** Instruction that lets an image go with the registry. */
export const labelOf = (registry: string) => `LABEL ${LABEL}=${registry}`;

/** Removes the images of this run, with every container made from them. */
async function removeImages(registry: string): Promise<void> {
  const filter = `label=${LABEL}=${registry}`;
  const listed = await run("docker", [
    "images",
    "--all",
    "--quiet",
    "--no-trunc",
    "--filter",
    filter,
  ]);
  const images = [...new Set(listed.stdout.split("\n").filter(Boolean))];
  for (const image of images) {
    const { stdout } = await run("docker", [
      "ps",
      "--all",
      "--quiet",
      "--filter",
      `ancestor=${image}`,
    ]);
    const containers = stdout.split("\n").filter(Boolean);
    if (containers.length > 0) await run("docker", ["rm", "--force", "--volumes", ...containers]);
  }
  if (images.length > 0) await run("docker", ["rmi", "--force", ...images]);
}
