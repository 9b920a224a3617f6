import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { ownFolderFindings, readOwnFolders } from "../../components/preflight/ownFolders";
import type { MachineFacts } from "../../components/preflight/types";
import { filesOf } from "../../machines/files";
import { stack } from "../fixtures/machine";

const REVISION = "0123456789abcdef0123456789abcdef01234567";
let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "own-folders-"));
});
afterEach(() => rmSync(home, { recursive: true }));

function planned(server: object) {
  const [machine] = plan(stack({}, { ...server }), { home }).machines;
  if (machine === undefined) throw new Error("no machine planned");
  return machine;
}

const facts = (more: Partial<MachineFacts>): MachineFacts => ({
  docker: { reachable: true, gpuRuntime: true, containers: [] },
  listeners: [],
  directories: [],
  fileFolders: [],
  faultyVariables: [],
  kernel: { kernel: "6.17.0-1021-nvidia", kernelArguments: [], driver: "580.95.05" },
  ...more,
});

describe("an operator's own folders, before an update", () => {
  const tone = { adapters: [{ name: "tone", path: "~/tone", rank: 8 }] };

  it("are read where a server gets any, and must be there", async () => {
    const here = filesOf({ dockerHost: "unix:///var/run/docker.sock" });
    expect(await readOwnFolders(planned({}), here)).toEqual([]);
    const machine = planned(tone);
    const path = join(home, "tone");
    expect(await readOwnFolders(machine, here)).toEqual([
      { path, problem: "it is not there: Docker would not start it" },
    ]);
    writeFileSync(path, "");
    expect(await readOwnFolders(machine, here)).toEqual([
      { path, problem: "it is not a folder: correct the path" },
    ]);
    rmSync(path);
    mkdirSync(path);
    expect(await readOwnFolders(machine, here)).toEqual([{ path }]);
    writeFileSync(join(home, "secret"), "key");
    symlinkSync(join(home, "secret"), join(path, "vocab.json"));
    const [found] = await readOwnFolders(machine, here);
    expect(found?.problem).toBe(
      `vocab.json in it is a link to ${join(home, "secret")}, outside it. Put the file itself there (\`cp -L\`)`,
    );
  });

  it("are refused with what is wrong, and so is an adapter that the cache lacks", () => {
    const ownFolders = [
      { path: "/data/tone", problem: "it can't be read: correct its permissions" },
    ];
    expect(ownFolderFindings(planned(tone), facts({ ownFolders }))).toEqual([
      {
        verdict: "refused",
        message: "A server is given /data/tone, and it can't be read: correct its permissions.",
      },
    ]);
    const hub = { adapters: [{ name: "legal", id: "org/legal", revision: REVISION, rank: 8 }] };
    const missing = { kind: "model", name: "org/legal", revision: REVISION } as const;
    const needs = {
      images: [],
      models: [{ ...missing, cache: "/cache", image: "vllm" }],
      disks: [],
      rootless: false,
    };
    expect(ownFolderFindings(planned(hub), facts({ needs }))).toEqual([
      {
        verdict: "refused",
        message:
          "The adapter legal (org/legal) is not in the model cache. vLLM is given its folder there and doesn't load it: run `serving fetch` first.",
        setting: "inferenceServers.b.adapters",
      },
    ]);
    expect(ownFolderFindings(planned(hub), facts({}))).toEqual([]);
  });
});
