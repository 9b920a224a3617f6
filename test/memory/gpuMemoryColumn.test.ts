import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

/** What asks a GPU for its memory: on unified memory it answers "not supported" or "N/A". */
const ASKS_THE_GPU =
  /memory\.(used|free|total)\b|--query-compute-apps|nvml|used_gpu_memory|mem_get_info|cudaMemGetInfo|rocm-smi/i;

const ROOMS = ["packages/base", "packages/harness", "components", "policies", "cli", "index.ts"];

it("no source reads the GPU's memory column: MemAvailable and resident memory are what counts", () => {
  const sources = ROOMS.flatMap((room) =>
    room.endsWith(".ts")
      ? [room]
      : readdirSync(room, { recursive: true, encoding: "utf8" })
          .filter((name) => /\.(ts|sh)$/.test(name) && !/node_modules|(^|\/)test\//.test(name))
          .map((name) => join(room, name)),
  );
  expect(sources.length).toBeGreaterThan(200);
  expect(sources.filter((file) => ASKS_THE_GPU.test(readFileSync(file, "utf8")))).toEqual([]);
});
