import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { filesOf } from "@local-serving/machines/files";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { ownFolderFindings, readOwnFolders } from "../../components/preflight/ownFolders";
import type { MachineFacts } from "../../components/preflight/types";
import { stack } from "../fixtures/machine";

const CONFIG = {
  ...{ r: 8, lora_alpha: 16, target_modules: ["q_proj"] },
  base_model_name_or_path: "org/model",
};
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
      { path, problem: "it is not there: Docker would not start the server" },
    ]);
    writeFileSync(path, "");
    expect(await readOwnFolders(machine, here)).toEqual([
      { path, problem: "it is not a folder: correct the path" },
    ]);
    rmSync(path);
    mkdirSync(path);
    writeFileSync(join(path, "adapter_config.json"), JSON.stringify(CONFIG));
    writeFileSync(join(path, "adapter_model.safetensors"), "weights");
    expect(await readOwnFolders(machine, here)).toEqual([{ path }]);
    writeFileSync(join(home, "secret"), "key");
    symlinkSync(join(home, "secret"), join(path, "vocab.json"));
    expect(await readOwnFolders(machine, here)).toEqual([
      {
        path,
        faults: [
          `\`vocab.json\` in it is a link to ${join(home, "secret")}, outside the folder: the server would not find its target, which may also be a secret. Put the file itself there (\`cp -L\`).`,
        ],
      },
    ]);
  });

  it("are judged by their files, which a plan for another computer did not see", async () => {
    const here = filesOf({ dockerHost: "unix:///var/run/docker.sock" });
    const path = join(home, "tone");
    const config = (more: object) =>
      writeFileSync(join(path, "adapter_config.json"), JSON.stringify({ ...CONFIG, ...more }));
    const faults = async (server: object) =>
      (await readOwnFolders(planned(server), here))[0]?.faults;
    mkdirSync(path);
    config({ r: 24, base_model_name_or_path: "org/other" });
    writeFileSync(join(path, "adapter_model.bin"), "weights");
    execFileSync("mkfifo", [join(path, "odd\nname")]);
    const both = { adapters: [{ name: "tone", path: "~/tone", rank: 8, trainedOn: "org/model" }] };
    expect(await faults(both)).toEqual([
      "`odd\nname` in it is a socket, a pipe or a device: the server could talk to whatever is behind it, or wait for it forever. Remove it from the folder.",
      "Its weights are a Python pickle (adapter_model.bin), which can carry code; only torch's restricted loader keeps it from running in the server. Save them as safetensors (`save_pretrained(..., safe_serialization=True)`), or write `allowPickle: true` if you made them yourself.",
      "`rank: 8` is declared, but its adapter_config.json says 24: delete this line.",
      "`trainedOn: org/model` is declared, but its adapter_config.json names `org/other`: write that, or name another folder.",
      "tone has rank 24, which no slot of 8 holds: write a larger `maxLoraRank`.",
    ]);
    rmSync(join(path, "odd\nname"));
    config({});
    expect(await faults({ ...tone, allowPickle: true })).toBeUndefined();
    expect(await faults({ model: { id: "~/tone" } })).toEqual([
      "It is an adapter (adapter_config.json), not a whole model: write its base model as `model.id` and this folder below `adapters`.",
      "There are no weights in it: *.safetensors is missing.",
    ]);
  });

  it("of mounts lead nowhere else either", async () => {
    const here = filesOf({ dockerHost: "unix:///var/run/docker.sock" });
    const mounts = { mounts: [{ from: "~/data", to: "/models/data" }] };
    const path = join(home, "data");
    symlinkSync("/etc/ssl", path);
    expect(await readOwnFolders(planned(mounts), here)).toEqual([
      {
        path,
        faults: [
          "It is a link. `/etc/ssl` lies in `/etc`, a folder of the system: move the model elsewhere, such as to `/data/models`.",
        ],
      },
    ]);
    rmSync(path);
    mkdirSync(join(home, "real"));
    symlinkSync("real", path);
    expect(await readOwnFolders(planned(mounts), here)).toEqual([{ path }]);
    const machine = planned(mounts);
    const secret = { ...machine.secretFiles[0], path: join(home, "real", "key") };
    const withSecret = {
      ...machine,
      secretFiles: [secret as (typeof machine.secretFiles)[number]],
    };
    expect(await readOwnFolders(withSecret, here)).toEqual([
      {
        path,
        problem: `${secret.path}, a file of ours with a secret, is in it: name the model's folder alone`,
      },
    ]);
  });

  it("are refused with what is wrong, and so is an adapter that the cache lacks", () => {
    const ownFolders = [
      { path: "/data/tone", problem: "it can't be read: correct its permissions" },
    ];
    expect(ownFolderFindings(planned(tone), facts({ ownFolders }))).toEqual([
      {
        verdict: "refused",
        message: "A server uses /data/tone, but it can't be read: correct its permissions.",
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
          "The adapter legal (org/legal) is not in the model cache. vLLM doesn't download adapters: run `serving fetch` first.",
        setting: "inferenceServers.b.adapters",
      },
    ]);
    expect(ownFolderFindings(planned(hub), facts({}))).toEqual([]);
  });
});
