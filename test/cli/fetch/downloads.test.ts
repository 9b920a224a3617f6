import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { downloadsOf, downloadsText } from "../../../cli/fetch/downloads";
import { plan } from "../../../components/plan/plan";
import { parseStackFile } from "../../../components/settings/load";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { STACK_TEXT } from "../doctor/stack";
import { type Answers, FakeDocker } from "../fakeDocker";

const NOTHING_HERE: Answers = {
  info: { out: JSON.stringify({ DockerRootDir: "/", SecurityOptions: [] }) },
  "image inspect": { err: "Error: No such image", code: 1 },
};

/** What is to come, on a computer with so much memory that has these files in its cache. */
async function downloads(
  memoryGiB: number,
  answers = NOTHING_HERE,
  cached: readonly string[] = [],
) {
  const folder = temporaryFolder("downloads-");
  const cache = join(folder, "cache");
  for (const path of cached) {
    mkdirSync(join(cache, path, ".."), { recursive: true });
    writeFileSync(join(cache, path), "x".repeat(1000));
  }
  const kib = Math.round(memoryGiB * 1024 ** 2);
  writeFileSync(join(folder, "meminfo"), `MemTotal: ${kib} kB\nMemAvailable: ${kib} kB\n`);
  const text = STACK_TEXT.replace("totalGiB:", `modelCache: ${cache}\n      totalGiB:`);
  const settings = parseStackFile("Pulumi.test.yaml", text);
  const [machine] = plan(settings, { home: "/home/operator" }).machines;
  const own = settings.machines.dgx;
  if (machine === undefined || own === undefined) throw new Error("no machine");
  const docker = new FakeDocker(answers);
  vi.stubEnv("PATH", docker.env.PATH);
  try {
    return await downloadsOf(machine, own, folder);
  } finally {
    vi.unstubAllEnvs();
  }
}

describe("what is to be downloaded, without any network", () => {
  it("is what the machine lacks, with what is free there", async () => {
    const found = await downloads(121.63);
    expect(found).toMatchObject({
      looked: true,
      images: [{ kind: "image", estimatedBytes: 20e9 }],
      models: [{ name: "nvidia/Qwen3.6-35B-A3B-NVFP4", bytes: 22e9 }],
    });
    expect(downloadsText(found)).toMatch(
      /^22\.0 GB of models, about 20\.0 GB for 1 image; \d+\.\d GB free/,
    );
  });

  it("leaves out what is there, and counts what has begun", async () => {
    const folder = "hub/models--nvidia--Qwen3.6-35B-A3B-NVFP4";
    const begun = await downloads(121.63, NOTHING_HERE, [`${folder}/blobs/abc.incomplete`]);
    expect(begun).toMatchObject({ models: [{ bytes: 22e9 - 1000 }] });
    const here = await downloads(
      121.63,
      { ...NOTHING_HERE, "image inspect": { out: "sha256:1" } },
      [`${folder}/snapshots/abc/model.safetensors`],
    );
    expect(here).toMatchObject({ looked: true, images: [], models: [] });
    expect(downloadsText(here)).toBe("nothing");
  });

  it("is everything, and no disk, where the computer has another memory than the machine", async () => {
    const found = await downloads(31.2);
    expect(found).toMatchObject({ looked: false, disks: [] });
    expect(downloadsText(found)).toBe("22.0 GB of models, about 20.0 GB for 1 image");
  });

  it("says why it isn't known where Docker doesn't answer", async () => {
    const found = await downloads(121.63, { info: { err: "Cannot connect", code: 1 } });
    expect(downloadsText(found)).toBe("not read: docker info failed: Cannot connect");
  });
});
