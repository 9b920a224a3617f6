import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cachedModels, cacheHere, isWhole } from "@local-serving/machines/hubCache";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { leftovers } from "../../../cli/inventory/leftovers";
import { plan } from "../../../components/plan/plan";
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

async function left(first = "") {
  const [machine] = plan(stack({}), { home }).machines;
  if (machine === undefined) throw new Error("no machine");
  const docker = new FakeDocker({ "": { out: "" } });
  vi.stubEnv("PATH", [first, docker.env.PATH].filter(Boolean).join(":"));
  const found = await leftovers(machine);
  vi.unstubAllEnvs();
  return found.filter(({ kind }) => kind === "model");
}

describe("models that share their files in one cache", () => {
  const storedAt = (hash: string) => join(hub, "blobs", hash.slice(0, 2), hash);

  it("are left with the size of what goes with them, and go without what another one needs", async () => {
    shared("org/one", { "a.safetensors": BOTH, "b.safetensors": OWN });
    shared("org/two", { "a.safetensors": BOTH });
    const [one, two] = await left();
    expect(one).toEqual({
      ...{ kind: "model", name: repository("org/one") },
      what: `${KEPT}; what it shares with org/two stays`,
      size: "2.0M",
      remove: `rm -rf ${repository("org/one")} ${storedAt(OWN)}`,
    });
    expect(two).toMatchObject({
      what: `${KEPT}; what it shares with org/one stays`,
      remove: `rm -rf ${repository("org/two")}`,
    });
    rmSync(repository("org/one"), { recursive: true });
    expect((await left()).map(({ name, what, remove }) => [name, what, remove])).toEqual([
      [repository("org/two"), KEPT, `rm -rf ${repository("org/two")} ${storedAt(BOTH)}`],
      [storedAt(OWN), `1 file in ${hub}/blobs that no model links to`, `rm -rf ${storedAt(OWN)}`],
    ]);
  });

  it("are left alone with their links where somebody's folder can't be read", async () => {
    shared("org/one", { "a.safetensors": BOTH });
    const find = join(temporaryFolder("find-"), "find");
    writeFileSync(find, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    expect(await left(dirname(find))).toEqual([
      {
        ...{ kind: "model", name: repository("org/one"), size: expect.any(String) },
        what: `${KEPT}; what it shares in ${hub}/blobs can't be read, and stays`,
        remove: `rm -rf ${repository("org/one")}`,
      },
    ]);
  });

  it("are none where a folder `blobs` is anybody's", async () => {
    shared("org/one", { "a.safetensors": BOTH });
    rmSync(join(hub, "blobs/.huggingface-shared-blobs"));
    expect((await left()).map(({ remove }) => remove)).toEqual([`rm -rf ${repository("org/one")}`]);
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
