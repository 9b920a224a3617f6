import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LABEL } from "../../components/planned/container";
import { runServing } from "../cli/runServing";
import { mustRun, run } from "../layers/run";
import { describeDocker } from "./available";
import { type PinnedImage, pinnedImage } from "./image";

/** Served names become container names, and this one must not meet another test's. */
const SERVED = `inventory-${process.pid}`;

describeDocker("serving status --versions and doctor on a real engine", () => {
  const folder = mkdtempSync(join(tmpdir(), "inventory-docker-"));
  const container = `vllm-${SERVED}-8001`;
  const file = join(folder, "Pulumi.dgx.yaml");
  let image: PinnedImage;
  beforeAll(async () => {
    image = await pinnedImage({ versions: { vllm: "0.30.0", transformers: "5.12.1" } });
    await mustRun("docker", [
      "create",
      "--name",
      container,
      "--label",
      `${LABEL.machine}=dgx`,
      image.reference,
    ]);
    writeFileSync(
      file,
      JSON.stringify({
        config: {
          "local-serving:machines": {
            dgx: {
              totalGiB: 121.63,
              instanceA: "none",
              inferenceServers: {
                b: {
                  model: { id: "org/model", family: "qwen3", thinking: true },
                  servedModelName: SERVED,
                  image: image.reference,
                  gpuMemoryUtilization: 0.45,
                  maxModelLen: 32768,
                },
              },
            },
          },
        },
      }),
    );
  });
  afterAll(async () => {
    await run("docker", ["rm", "--force", container]);
    rmSync(folder, { recursive: true });
  });

  it("reads the digest and the versions inside, of a container that isn't running too", async () => {
    const { out, code } = await runServing(["inventory", "--file", file, "--format", "json"]);
    expect(code).toBe(0);
    const found = JSON.parse(out);
    expect(found.containers.find(({ name }: { name: string }) => name === container)).toMatchObject(
      {
        digest: image.digest,
        status: "created",
        ours: true,
        versions: { vllm: "0.30.0", transformers: "5.12.1", torch: "MISSING" },
      },
    );
    expect(found.record.edits.map(({ value }: { value: string }) => value)).toContain("read");
  });

  it("sees that the container does not run, and leaves it as it is", async () => {
    const { out, code } = await runServing(["doctor", "--file", file, "--format", "json"]);
    expect(code).toBe(1);
    const ids = JSON.parse(out).diagnoses.map(({ id }: { id: string }) => id);
    expect(ids).toContain("container-not-running");
    expect(await mustRun("docker", ["inspect", "--format", "{{.State.Status}}", container])).toBe(
      "created",
    );
  });
});
