import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { plan } from "../../../components/plan/plan";
import { cachedModels, cacheHere, isWhole } from "../../../machines/hubCache";
import { leftovers } from "../../../operate/inventory/leftovers";
import { stack } from "../../fixtures/machine";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { FakeDocker } from "../fakeDocker";

const COMMIT = "0".repeat(40);
const [BOTH, OWN] = ["5b".repeat(32), "f7".repeat(32)];
const KEPT = "in the cache, which instance A and others may use";

let home = "";
let hub = "";
beforeEach(() => {
  home = temporaryFolder("shared-blobs-");
  hub = join(home, ".cache/huggingface/hub");
});

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const repository = (id: string) => join(hub, `models--${id.replace("/", "--")}`);

/** A model as huggingface_hub 2.4 lays it out, whose weights are in a store of all models. */
function shared(id: string, weights: Readonly<Record<string, string>>): void {
  write(join(hub, "blobs/.huggingface-shared-blobs"), "1\n");
  const folder = repository(id);
  write(join(folder, "refs/main"), COMMIT);
  mkdirSync(join(folder, "snapshots", COMMIT), { recursive: true });
  write(join(folder, "snapshots", COMMIT, "config.json"), "{}");
  mkdirSync(join(folder, "blobs"), { recursive: true });
  for (const [name, hash] of Object.entries(weights)) {
    const stored = join("blobs", hash.slice(0, 2), hash);
    write(join(hub, stored), "x".repeat(2_000_000));
    write(join(hub, `${stored}.refs`), "");
    write(join(hub, `${stored}.lock`), "");
    symlinkSync(`../../${stored}`, join(folder, "blobs", hash));
    symlinkSync(`../../blobs/${hash}`, join(folder, "snapshots", COMMIT, name));
  }
}

async function left() {
  const [machine] = plan(stack({}), { home }).machines;
  if (machine === undefined) throw new Error("no machine");
  const docker = new FakeDocker({ "": { out: "" } });
  vi.stubEnv("PATH", docker.env.PATH ?? "");
  const found = await leftovers(machine);
  vi.unstubAllEnvs();
  return found.filter(({ kind }) => kind === "model");
}

describe("models that share their files in one cache", () => {
  it("are left with the size of their files, and go by the program that knows who shares them", async () => {
    shared("org/one", { "a.safetensors": BOTH, "b.safetensors": OWN });
    shared("org/two", { "a.safetensors": BOTH });
    const what = `${KEPT}; its files lie in ${hub}/blobs, and \`hf\` (huggingface_hub 2.4 or later) removes those that no other model shares`;
    const remove = (id: string) => `hf cache rm model/${id} --cache-dir ${hub} --yes`;
    expect(await left()).toEqual([
      {
        ...{ kind: "model", name: repository("org/one"), what, size: "3.9M" },
        remove: remove("org/one"),
      },
      { kind: "model", name: repository("org/two"), what, size: "2.0M", remove: remove("org/two") },
    ]);
  });

  it("aren't named for a model that has its own files, nor for a folder `blobs` of anybody's", async () => {
    shared("org/one", { "a.safetensors": BOTH });
    write(join(repository("org/old"), "blobs/w"), "x".repeat(5000));
    const plain = (id: string) => ({
      ...{ kind: "model", name: repository(id), what: KEPT },
      ...{ size: expect.any(String), remove: `rm -rf ${repository(id)}` },
    });
    expect((await left()).find(({ name }) => name === repository("org/old"))).toEqual(
      plain("org/old"),
    );
    rmSync(join(hub, "blobs/.huggingface-shared-blobs"));
    expect((await left()).map(({ remove }) => remove)).toEqual([
      plain("org/old").remove,
      plain("org/one").remove,
    ]);
  });

  it("are read with their size, and whole", () => {
    shared("org/one", { "a.safetensors": BOTH, "b.safetensors": OWN });
    shared("org/two", { "a.safetensors": BOTH });
    expect(cachedModels(cacheHere(dirname(hub)))).toEqual([
      { id: "org/one", whole: true, weightsGB: 0.004 },
      { id: "org/two", whole: true, weightsGB: 0.002 },
    ]);
  });

  it("are not whole once the store lacks their file", () => {
    shared("org/one", { "a.safetensors": BOTH });
    rmSync(join(hub, "blobs", BOTH.slice(0, 2), BOTH));
    expect(isWhole(cacheHere(dirname(hub)), "org/one")).toBe(false);
  });

  it.each([
    [
      "of the file that came since, by a process that was killed",
      `${OWN}.0a1b2c3d.incomplete`,
      true,
    ],
    ["of that file, as older versions call it", `${OWN}.incomplete`, true],
    ["of a file that isn't there yet", `${BOTH}.0a1b2c3d.incomplete`, false],
    ["of one that isn't there, as older versions call it", `${BOTH}.incomplete`, false],
  ])("are whole beside a part %s", (_name, part, whole) => {
    shared("org/one", { "a.safetensors": OWN });
    write(join(repository("org/one"), "blobs", part), "x");
    expect(isWhole(cacheHere(dirname(hub)), "org/one")).toBe(whole);
  });
});
