import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { archive, assetOf, releases } from "../../on-demand/releases";
import { STACK_TEXT } from "../doctor/stack";
import { FakeDocker } from "../fakeDocker";
import { runServing } from "../runServing";

const ASSET = assetOf("v250");

/** A machine that has every image, no model of the hub, and llama-swap to come. */
async function machine(sum?: string) {
  const made = archive();
  const state = { files: { [`/v250/${ASSET}`]: made.bytes } };
  const { url } = await releases(() => state);
  const folder = temporaryFolder("fetch-program-");
  const file = join(folder, "Pulumi.test.yaml");
  const block = [
    `stateDirectory: ${folder}/state`,
    "onDemand:",
    `  program: { version: v250, sha256: ${sum ?? made.sha256}, from: "${url}" }`,
    "totalGiB: 121.63",
  ].join("\n      ");
  const text = STACK_TEXT.replace("totalGiB: 121.63", block)
    .replace(/( {10})gpuMemoryUtilization/, "$1start: onRequest\n$1gpuMemoryUtilization")
    .replace(/id: nvidia\/\S+/, "id: /models/own");
  writeFileSync(file, text);
  const fake = new FakeDocker({
    info: { out: JSON.stringify({ DockerRootDir: "/", SecurityOptions: [] }) },
    "image inspect": { out: "sha256:0\n" },
  });
  const fetch = (...args: string[]) =>
    runServing(["fetch", "--file", file, ...args], { PATH: fake.env.PATH ?? "" });
  const path = join(folder, "state/dgx/on-demand", ASSET);
  return { made, url, file, path, fetch, state };
}

describe("serving fetch of a machine with llama-swap", () => {
  it("names it with its size, brings it, and has it then", async () => {
    const { made, file, path, fetch } = await machine();
    const check = JSON.parse((await fetch("--check", "--format", "json")).out);
    expect([check.complete, check.missing.program]).toEqual([
      false,
      { name: "llama-swap v250", bytes: made.bytes.length },
    ]);
    expect(existsSync(path)).toBe(false);
    const { code, out, err } = await fetch();
    expect([code, out]).toEqual([
      0,
      `dgx has every image and model of ${file}.\nAfter \`serving up\`, \`serving verify --each\` starts each server on demand once. The first start compiles kernels, so no client has to wait for that later.\n`,
    ]);
    expect(err).toContain("Missing:\n  program llama-swap v250  ");
    expect(err).toContain("llama-swap v250: is here\n");
    expect(existsSync(path)).toBe(true);
    expect((await fetch("--check")).code).toBe(0);
  });

  it("says why it doesn't come, before anything is loaded", async () => {
    const { url, fetch, state } = await machine();
    Object.assign(state, { files: {} });
    const { code, out } = await fetch();
    expect(code).toBe(1);
    expect(out).toContain(
      `\n${url}/v250/${ASSET} is not there (404): is v250 a release of llama-swap`,
    );
    expect(out).not.toContain("Next: serving fetch");
  });

  it("takes none with another sum", async () => {
    const { fetch, path } = await machine("f".repeat(64));
    const { code, out } = await fetch();
    expect([code, existsSync(path)]).toEqual([1, false]);
    expect(out).toContain("It is not taken, and nothing was replaced.");
  });
});
