import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as pin from "../../operate/packages/pin";
import { published } from "../../package.json";
import { temporaryFolder } from "../layers/temporaryFolder";
import { runServing } from "./runServing";

let folder = "";
const MANIFEST = '{ "dependencies": { "local-serving": "file:../local-serving-0.1.0.tgz" } }';
beforeEach(() => {
  vi.spyOn(pin, "isOnNpm").mockReturnValue(false);
  folder = temporaryFolder("upgrade-unpublished-");
  writeFileSync(join(folder, "Pulumi.yaml"), "name: local-serving\n");
  writeFileSync(
    join(folder, "Pulumi.spark.yaml"),
    "config:\n  local-serving:machines:\n    dgx: { totalGiB: 121.63, instanceA: none }\n",
  );
  writeFileSync(join(folder, "package.json"), MANIFEST);
  writeFileSync(join(folder, "npm"), `#!/bin/sh\necho "$*" >>'${join(folder, "calls")}'\n`);
  chmodSync(join(folder, "npm"), 0o755);
  vi.spyOn(process, "cwd").mockReturnValue(folder);
});
afterEach(() => void vi.restoreAllMocks());

const upgrade = (...args: string[]) =>
  runServing(["upgrade", ...args], { PATH: `${folder}:${process.env.PATH}` });

const SAID =
  "local-serving isn't on npm, so npm isn't asked: a package of that name there is somebody else's. To take a newer release, run `npm install TARBALL` in this folder, with the path or the address of its tarball. UPGRADE.md says what it restarts.\n";

describe("serving upgrade of a program that isn't on npm", () => {
  it("asks npm nothing, and says how to take a newer release", async () => {
    expect(await upgrade()).toEqual({ code: 0, out: SAID, err: "" });
    const { code, out } = await upgrade("--format", "json");
    expect([code, JSON.parse(out)]).toEqual([
      0,
      {
        version: 1,
        pinned: "file:../local-serving-0.1.0.tgz",
        newest: null,
        isNewer: false,
        plan: null,
        written: false,
        images: [],
      },
    ]);
    expect(existsSync(join(folder, "calls"))).toBe(false);
  });

  it("writes nothing", async () => {
    expect(await upgrade("--write")).toEqual({ code: 1, out: "", err: SAID });
    expect(readFileSync(join(folder, "package.json"), "utf8")).toBe(MANIFEST);
    expect(existsSync(join(folder, "calls"))).toBe(false);
  });

  it("is started without looking for the name on npm", () => {
    expect(pin.NPX).toBe(published ? "npx local-serving" : "npx --no -- local-serving");
  });
});
