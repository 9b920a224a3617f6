import { readFileSync } from "node:fs";
import { defined } from "@local-serving/base/faults/defined";
import { imageReference } from "@local-serving/machines/docker/imageReference";
import { parseMeminfo } from "@local-serving/machines/memory";
import type { PinnedImage } from "../docker/makeImage";

export interface StackParts {
  readonly image: PinnedImage;
  readonly portA: number;
  readonly portB: number;
  /** Makes Docker's names unique, since test files share one daemon. */
  readonly unique: string;
  /** Name of the machine; `dgx` if it is absent. */
  readonly machine?: string;
}

/** The digest that an image is pinned by. */
export const digestOf = ({ reference }: Pick<PinnedImage, "reference">) =>
  imageReference(reference)?.digest;

/** Memory of this machine, so that the preflight finds what is declared. */
export const TOTAL_GIB = Number(
  parseMeminfo(readFileSync("/proc/meminfo", "utf8"))?.totalGiB.toFixed(2),
);

/** The share that each server of a test asks for: small enough for any machine that runs tests. */
export const SHARE = 0.02;

/**
 * A stack of one machine with instance A and one server; tests overlay what they are about.
 * `beside` are further servers by key, each like the first but for what is written there.
 */
export function stackConfig(
  parts: StackParts,
  server: Record<string, unknown> = {},
  machine: Record<string, unknown> = {},
  beside: Readonly<Record<string, Record<string, unknown>>> = {},
): Record<string, unknown> {
  const { image = parts.image.reference } = server;
  const [, vllm = "0.30.0", digest = digestOf(parts.image)] =
    /:v([\d.]+)@(.*)$/.exec(String(image)) ?? [];
  const b = {
    model: { id: "org/model", family: "qwen3", thinking: true },
    servedModelName: `model-${parts.unique}`,
    image,
    // What `serving pin --write` would record of that image.
    versions: { vllm, transformers: "5.10.4", evidence: "read", digest, source: "test" },
    port: parts.portB,
    gpuMemoryUtilization: SHARE,
    maxModelLen: 4096,
    // A daemon inside a sandbox may not lift the limit; that -1 is passed on is tested with the
    // plan.
    lockedMemoryBytes: 65536,
    healthcheck: { intervalSeconds: 1 },
    stopGraceSeconds: 5,
    ...server,
  };
  const others = Object.entries(beside).map(([key, settings]) => [key, { ...b, ...settings }]);
  return {
    "local-serving:machines": {
      [parts.machine ?? "dgx"]: {
        totalGiB: TOTAL_GIB,
        ...defined({ dockerHost: process.env.DOCKER_HOST }),
        network: `net-${parts.unique}`,
        operatingSystemGiB: 1,
        instanceA: { port: parts.portA, gpuMemoryUtilization: SHARE },
        inferenceServers: { b, ...Object.fromEntries(others) },
        ...machine,
      },
    },
  };
}
