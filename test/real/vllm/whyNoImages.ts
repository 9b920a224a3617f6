import { statfsSync } from "node:fs";
import { inject } from "vitest";

/** Why no images of an installed vLLM can be made and run here, which take so much of the disk. */
export function whyNoImages(neededGB: number): string | undefined {
  const docker = inject("dockerLayer");
  const layer = inject("engineLayer").missing ?? docker.missing;
  if (layer !== undefined || docker.missing !== undefined) return layer;
  if (docker.gpusMissing !== undefined) return docker.gpusMissing;
  if (process.getuid?.() !== 0) return "only root reads all that goes into the images";
  const { bavail, bsize } = statfsSync("/");
  const gb = (bavail * bsize) / 1e9;
  return gb < neededGB ? `${gb.toFixed(0)} GB of disk are free, ${neededGB} are needed` : undefined;
}
