import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DockerLayer } from "../../docker/layer";
import { mustRun } from "../../layers/run";
import { type Client, type Machine, makeClient, startMachine } from "../remote/machine";
import { type Engine, installEngine } from "../vllm/engine";
import { programImage } from "../vllm/programImage";

/**
 * Two computers on one, joined by a cable of their own, each with the real vLLM for CPUs in its
 * model cache.
 */
export interface Rig {
  readonly client: Client;
  readonly machines: readonly [Machine, Machine];
  /** Reference of an image of vLLM, with tag and digest. */
  readonly image: string;
  /** Cuts the cable between the two, or mends it; the one to here stays. */
  cable(state: "up" | "down"): Promise<void>;
  close(): Promise<void>;
}

export const INTERFACE = "link0";
export const ADDRESSES = ["10.77.0.1", "10.77.0.2"] as const;

/** Where a container has its model cache; the environment of vLLM, of 6 GB, is mounted into it. */
const CACHE = ".cache/huggingface";
const ENVIRONMENT = "engine";

export async function startRig(layer: DockerLayer): Promise<Rig> {
  if (layer.missing !== undefined) throw new Error(layer.missing);
  const engine = await installEngine("0.30.0");
  const client = await makeClient();
  const machines: Machine[] = [];
  const close = async () => {
    await Promise.all(machines.map((machine) => machine.close()));
    await client.close();
    engine.remove();
  };
  try {
    const image = await programImage(layer, {
      repository: "vllm/vllm-openai",
      version: `v${engine.version}`,
      environment: dirname(dirname(engine.path)),
      mountedAt: `/root/${CACHE}/${ENVIRONMENT}`,
      files: {
        "/opt/scripted/scripted.py": readFileSync(join(__dirname, "../vllm/scripted.py"), "utf8"),
      },
      changes: ['ENTRYPOINT ["vllm","serve"]'],
    });
    // The gates read this computer's own.
    const meminfo = readFileSync("/proc/meminfo", "utf8");
    for (const _ of ADDRESSES) machines.push(await startMachine(client, layer.registry, meminfo));
    const [head, worker] = machines as [Machine, Machine];
    client.knows(head.hostKey, worker.hostKey);
    for (const machine of machines) await holdsModels(machine, engine);
    await joined(head, worker);
    const cable = async (state: "up" | "down") =>
      void (await head.inside("ip", "link", "set", INTERFACE, state));
    return { client, machines: [head, worker], image: image.reference, cable, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function holdsModels(machine: Machine, engine: Engine): Promise<void> {
  const cache = join(machine.own, "root", CACHE);
  mkdirSync(join(cache, ENVIRONMENT), { recursive: true });
  cpSync(join(engine.home, "hub"), join(cache, "hub"), { recursive: true, verbatimSymlinks: true });
  await machine.inside(
    "mount",
    "--bind",
    dirname(dirname(engine.path)),
    `/root/${CACHE}/${ENVIRONMENT}`,
  );
}

async function joined(head: Machine, worker: Machine): Promise<void> {
  const [first, second] = [await head.init(), await worker.init()];
  const ends = ["netns", first, "type", "veth", "peer", "name", INTERFACE, "netns", second];
  await mustRun("ip", ["link", "add", INTERFACE, ...ends]);
  for (const [index, machine] of [head, worker].entries()) {
    await machine.inside("ip", "address", "add", `${ADDRESSES[index]}/24`, "dev", INTERFACE);
    await machine.inside("ip", "link", "set", INTERFACE, "up");
  }
}
