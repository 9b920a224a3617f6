import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { downloadedBytes } from "../../../cli/sees/image";
import { temporaryFolder } from "../../layers/temporaryFolder";

const INGEST = "io.containerd.content.v1.content/ingest";

function engine(files: Readonly<Record<string, number>>) {
  const folder = temporaryFolder("engine-");
  for (const [path, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), Buffer.alloc(bytes));
  }
  return downloadedBytes(join(folder, "docker"), join(folder, "containerd"));
}

it.each<[string, Record<string, number>, number]>([
  ["nothing", {}, 0],
  [
    "layers of Docker's own store",
    { "docker/tmp/GetImageBlob1": 700, "docker/tmp/GetImageBlob22": 50 },
    750,
  ],
  ["other files there", { "docker/tmp/docker-builder1": 900, "docker/tmp/GetImageBlob3": 5 }, 5],
  [
    "pieces of the system's containerd",
    {
      [`containerd/${INGEST}/ab/data`]: 30,
      [`containerd/${INGEST}/ab/ref`]: 86,
      [`containerd/${INGEST}/cd/data`]: 4,
    },
    34,
  ],
  [
    "pieces of the engine's own containerd",
    { [`docker/containerd/daemon/${INGEST}/ab/data`]: 12 },
    12,
  ],
  ["a piece that has just ended", { [`containerd/${INGEST}/ab/total`]: 8 }, 0],
])("%s", async (_, files, bytes) => {
  expect(await engine(files)).toBe(bytes);
});

it("is nothing where the folder can't be read", async () => {
  expect(await downloadedBytes("/nowhere", "/nowhere")).toBe(0);
});
