import { containersOf } from "@local-serving/machines/docker/containers";
import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { roomProblem } from "../../components/preflight/fetch/room";
import { judgeEngines, judgeMachine } from "../../components/preflight/judgeMachine";
import type { MachineFacts } from "../../components/preflight/types";
import { inspected } from "../cli/fakeDocker";
import { serverInput, stack } from "../fixtures/machine";
import { BRIDGE, CHAT_UI } from "../fixtures/services";

const CONTAINER = "vllm-model-8001";
const argvOf = (utilization: number) => [
  "vllm",
  "serve",
  "x",
  "--gpu-memory-utilization",
  String(utilization),
];

const healthy: MachineFacts = {
  docker: { reachable: true, gpuRuntime: true, containers: [] },
  memory: { totalGiB: 121.63, availableGiB: 60 },
  listeners: [{ port: 8000, argv: argvOf(0.45) }],
  directories: [{ path: "/home/me/.cache/huggingface" }],
  fileFolders: [],
  faultyVariables: [],
  kernel: { kernel: "6.17.0-1021-nvidia", kernelArguments: [], driver: "580.95.05" },
};

function judged(overlay: Partial<MachineFacts> = {}, machine: Record<string, unknown> = {}) {
  const [planned] = plan(stack(machine), { home: "/home/me" }).machines;
  if (planned === undefined) throw new Error("no machine planned");
  return judgeMachine(planned, { ...healthy, ...overlay });
}

describe("preflight", () => {
  it("has nothing to say of a machine that is ready", () => {
    expect(judged()).toEqual([]);
  });

  it("warns of a container toolkit that froze such machines, only with CDI", () => {
    const kernel = { kernel: "6.17.0-1021-nvidia", kernelArguments: [] };
    const said = (toolkit: string) => judged({ kernel: { ...kernel, toolkit } });
    expect(said("1.19.1 with CDI")).toEqual([
      {
        verdict: "warned",
        message:
          "NVIDIA Container Toolkit 1.19.1 with CDI: A DGX Spark froze with it and was stable with 1.19.0 and without CDI; the cause has not been isolated. Install another release, or turn CDI off (`features.cdi` of /etc/docker/daemon.json, `mode` of /etc/nvidia-container-runtime/config.toml). (NVIDIA/nvidia-container-toolkit #1910, eugr/spark-vllm-docker #129)",
      },
    ]);
    expect(["1.19.1", "1.19.0 with CDI", "1.20.0 with CDI"].flatMap(said)).toEqual([]);
  });

  it("warns of kernels and drivers with which such machines failed", () => {
    const kernel = { kernel: "7.0.0-1019-nvidia", kernelArguments: [], driver: "590.48.01" };
    expect(
      judged({ kernel }).map(({ verdict, message }) => [verdict, message.split(":")[0]]),
    ).toEqual([
      ["warned", "kernel 7.0.0-1019-nvidia"],
      ["warned", "driver 590.48.01"],
    ]);
    const wedge = { kernel: "6.17.0-1032-nvidia", kernelArguments: [], driver: "595.91.07" };
    expect(judged({ kernel: wedge })).toEqual([
      {
        verdict: "warned",
        message:
          "kernel 6.17.0-1032-nvidia, driver 595.91.07: With this driver and kernel a prompt of 70,000 tokens stopped the whole machine: install driver 580. (open-gpu-kernel-modules #1358 (2026-09))",
      },
    ]);
    const avoided = {
      kernel: "7.0.0-1019-nvidia",
      kernelArguments: ["kho=off"],
      driver: "580.95.05",
    };
    expect(judged({ kernel: avoided })).toEqual([]);
    // Each half alone is harmless, and so is a later release of a kernel that begins alike.
    expect(judged({ kernel: { ...wedge, driver: "580.95.05" } })).toEqual([]);
    expect(
      judged({
        kernel: { kernel: "6.17.0-1021-nvidia", kernelArguments: [], driver: "595.91.07" },
      }),
    ).toEqual([]);
    expect(judged({ kernel: { kernel: "7.0.0-312-generic", kernelArguments: [] } })).toEqual([]);
  });

  it("refuses when MemAvailable is below utilization x total, with the figures", () => {
    const [finding, ...more] = judged({ memory: { totalGiB: 121.63, availableGiB: 54.7 } });
    expect(more).toEqual([]);
    expect(finding).toEqual({
      verdict: "refused",
      message: `Not enough memory for ${CONTAINER}: 54.73 GiB is needed (utilization x 121.63 GiB), MemAvailable is 54.70 GiB. Free memory, or lower \`gpuMemoryUtilization\` of ${CONTAINER} to 0.44 or less. Nothing was touched.`,
      setting: "inferenceServers.b.gpuMemoryUtilization",
      value: 0.44,
    });
  });

  it("refuses when the disk can't hold what `up` would pull, and points to `serving fetch`", () => {
    const disk = { paths: ["/var/lib/docker"], neededBytes: 30e9 };
    const image = { kind: "image", name: "i", bytes: 10e9, layers: new Map() } as const;
    const needs = { images: [image], models: [], rootless: false };
    expect(judged({ needs: { ...needs, disks: [{ ...disk, freeBytes: 30e9 }] } })).toEqual([]);
    const full = { ...needs, disks: [{ ...disk, freeBytes: 29e9 }] };
    expect(judged({ needs: full })).toEqual([
      {
        verdict: "refused",
        message: `${roomProblem(full)} \`serving fetch --check\` lists what is missing.`,
      },
    ]);
  });

  describe("of a model that isn't in the cache", () => {
    const { id } = serverInput().model;
    const model = { kind: "model", name: id, cache: "/cache", image: "i" } as const;
    const found = (problem?: string) => {
      const missing = problem === undefined ? { ...model, bytes: 1 } : { ...model, problem };
      return judged({ needs: { images: [], models: [missing], disks: [], rootless: false } });
    };

    it("refuses it where the hub has no such model, before anything is replaced", () => {
      const why = "could not be fetched: the hub has no such model, or it is private";
      expect(found("401 RepoNotFound Invalid username or password.")).toEqual([
        {
          verdict: "refused",
          message: `The model ${id} ${why} (no token is declared). Correct \`model.id\`, or set \`huggingFaceTokenVariable\` to the name of a variable that holds a token that may read the model, then run \`serving up\` again. Nothing was touched.`,
          setting: "inferenceServers.b.model.id",
        },
      ]);
    });

    it("warns where the hub doesn't answer, and is silent where it has the model", () => {
      expect(found("nothing listens at 127.0.0.1:9")).toEqual([
        {
          verdict: "warned",
          message: `${id} is not complete in the model cache, and the hub doesn't say whether it has the model (nothing listens at 127.0.0.1:9). Its server can't start without it: \`serving fetch\` downloads it first.`,
        },
      ]);
      expect(found()).toEqual([]);
    });

    it("only warns where the hub refuses further requests for now", () => {
      const [only, ...more] = found("429 Too Many Requests");
      expect([only?.verdict, more]).toEqual(["warned", []]);
    });
  });

  it("lets exactly as much as is wanted pass, and not a kB less", () => {
    const wanted = 0.45 * 121.63;
    const kB = 1 / 1024 ** 2;
    expect(judged({ memory: { totalGiB: 121.63, availableGiB: wanted } })).toEqual([]);
    expect(judged({ memory: { totalGiB: 121.63, availableGiB: wanted - kB } })[0]?.verdict).toBe(
      "refused",
    );
  });

  it("takes the share of what the machine has, not of what is declared: vLLM does", () => {
    const found = judged({ memory: { totalGiB: 128, availableGiB: 57.5 } });
    expect(found.at(-1)?.message).toContain("57.60 GiB is needed (utilization x 128.00 GiB)");
    expect(judged({}, { totalGiB: 140 }).map(({ verdict }) => verdict)).toEqual(["refused"]);
  });

  it.each([
    ["above", 124.2, ["refused"]],
    ["a little above", 124, ["warned"]],
    ["a little below", 119.3, ["warned"]],
    ["below", 119.1, ["refused"]],
  ])("judges a declared total %s the machine's: %d GiB of 121.63", (_, totalGiB, verdicts) => {
    expect(judged({}, { totalGiB }).map(({ verdict }) => verdict)).toEqual(verdicts);
    expect(judged({}, { totalGiB, inferenceServers: {} }).map(({ verdict }) => verdict)).toEqual(
      verdicts,
    );
  });

  it("counts what our running server holds, by its own argv, since it is being replaced", () => {
    const found = inspected({ name: "vllm-old-8001" });
    const [running] = containersOf([{ ...found, Config: { Cmd: argvOf(0.4) } }]);
    if (running === undefined) throw new Error("no container");
    const facts = {
      docker: { reachable: true, gpuRuntime: true, containers: [running] },
      listeners: [...healthy.listeners, { port: 8001 }],
    } as const;
    // 0.4 x 121.63 = 48.65 are held, so 6.1 more are enough for 54.73.
    expect(judged({ ...facts, memory: { totalGiB: 121.63, availableGiB: 6.1 } })).toEqual([]);
    expect(
      judged({ ...facts, memory: { totalGiB: 121.63, availableGiB: 6.0 } })[0]?.message,
    ).toContain("our running servers hold 48.65 GiB");
  });

  it("leaves a server its port while Docker starts it again, and counts no memory of it", () => {
    const beingStarted = (status: string, availableGiB: number) => {
      const state = { Status: status, ExitCode: 1 };
      const found = inspected({ name: "vllm-old-8001", state });
      const [container] = containersOf([{ ...found, Config: { Cmd: argvOf(0.4) } }]);
      if (container === undefined) throw new Error("no container");
      return judged({
        docker: { reachable: true, gpuRuntime: true, containers: [container] },
        listeners: [...healthy.listeners, { port: 8001 }],
        memory: { totalGiB: 121.63, availableGiB },
      }).map(({ message }) => message);
    };
    expect(beingStarted("restarting", 55)).toEqual([]);
    expect(beingStarted("restarting", 6.1)).toEqual([
      expect.stringMatching(/^Not enough memory for .*MemAvailable is 6\.10 GiB\. /),
    ]);
    // A paused one still holds its share.
    expect(beingStarted("paused", 6.1)).toEqual([]);
  });

  it("refuses an instance A that runs with another utilization than declared", () => {
    expect(judged({ listeners: [{ port: 8000, argv: argvOf(0.72) }] })).toEqual([
      {
        verdict: "refused",
        message:
          "Instance A on port 8000 runs with utilization 0.72, but 0.45 is declared. Declare the actual value (`instanceA.gpuMemoryUtilization`), or restart instance A yourself with the declared value.",
        setting: "instanceA.gpuMemoryUtilization",
        value: 0.72,
      },
    ]);
  });

  it("refuses an instance A whose fixed KV cache takes more than is declared", () => {
    const listeners = [{ port: 8000, argv: [...argvOf(0.3), "--kv-cache-memory=40G"] }];
    expect(judged({ listeners })[0]?.message).toContain(
      "runs with utilization 0.3 and memory beside it (`--kv-cache-memory-bytes`, offloading or swap): it takes up to 76.49 GiB, but 0.45 is declared. Declare `instanceA.gpuMemoryUtilization: 0.63` (less, once",
    );
    const known = { instanceA: { gpuMemoryUtilization: 0.45, weightsGB: 12 } };
    expect(judged({ listeners }, known)).toEqual([]);
  });

  it("asks for what our own fixed KV cache takes beyond the share", () => {
    const model = { id: "org/model", family: "qwen3", thinking: true, weightsGB: 22 };
    const b = serverInput({ model, kvCacheMemoryBytes: 50 * 1024 ** 3 });
    expect(judged({}, { inferenceServers: { b } })[0]?.message).toContain(
      "70.49 GiB is needed (utilization x 121.63 GiB, or what `kvCacheMemoryBytes` takes)",
    );
    const offloading = serverInput({ extraArgs: ["--cpu-offload-gb", "20"] });
    expect(judged({}, { inferenceServers: { b: offloading } })[0]?.message).toContain(
      "74.73 GiB is needed",
    );
  });

  it("counts what a replaced server with a fixed KV cache holds, and of another one what is certain", () => {
    const model = { id: "org/model", weightsGB: 22 };
    const more = { gpuMemoryUtilization: 0.1, kvCacheMemoryBytes: 11 * 1024 ** 3 };
    const replaced = (name: string) => {
      const Cmd = [...argvOf(0.1), "--kv-cache-memory-bytes=40G"];
      const containers = containersOf([{ ...inspected({ name }), Config: { Cmd } }]);
      const facts = {
        docker: { ...healthy.docker, containers },
        memory: { totalGiB: 121.63, availableGiB: 1 },
      };
      return judged(facts as Partial<MachineFacts>, {
        inferenceServers: { b: serverInput({ model, ...more }) },
      });
    };
    expect(replaced(CONTAINER)).toEqual([]);
    const bytes = { inferenceServers: { b: serverInput({ model, ...more }) } };
    const free = { memory: { totalGiB: 121.63, availableGiB: 1 } };
    expect(judged(free, bytes)[0]?.message).toContain("31.49 GiB is needed");
    expect(replaced("vllm-renamed")).toEqual([]);
  });

  it("refuses two machines whose Docker engine is one by its own ID, whatever its addresses", () => {
    const docker = (id?: string) =>
      ({ reachable: true, gpuRuntime: true, containers: [], ...(id && { id }) }) as const;
    const on = (...ids: (string | undefined)[]) =>
      judgeEngines(ids.map((id, index) => ({ name: `m${index}`, docker: docker(id) })));
    expect(on("a", "b", undefined, undefined)).toEqual([]);
    expect(judgeEngines([{ name: "m", docker: { reachable: false, reason: "gone" } }])).toEqual([]);
    expect(on("a", "b", "a")).toEqual([
      {
        verdict: "refused",
        machine: "m2",
        message:
          "m2 and m0 are on one Docker engine (ID a), so they are one machine with one memory: put their servers below one of them, or give each its own `dockerHost`.",
        setting: "dockerHost",
      },
    ]);
  });

  it.each([
    [{ port: 8000 }, "since it belongs to another user"],
    [{ port: 8000, argv: ["python3", "-m", "http.server"] }, "is used"],
  ])("warns when instance A's argv tells nothing: %j", (listener, words) => {
    const findings = judged({ listeners: [listener] });
    expect(findings).toHaveLength(1);
    expect(findings[0]?.verdict).toBe("warned");
    expect(findings[0]?.message).toContain(words);
  });

  it("warns that a declared instance A is not running, and asks nothing when there is none", () => {
    expect(judged({ listeners: [] })[0]).toMatchObject({ verdict: "warned" });
    expect(judged({ listeners: [] }, { instanceA: "none" })).toEqual([]);
  });

  it("refuses a port that something else holds", () => {
    expect(judged({ listeners: [...healthy.listeners, { port: 8001 }] })).toEqual([
      {
        verdict: "refused",
        message: `Port 8001 of ${CONTAINER} is in use by something that isn't ours. Check with \`ss -lntp 'sport = :8001'\`, then stop it or choose another \`port\`.`,
        setting: "inferenceServers.b.port",
      },
    ]);
  });

  it("refuses a silent Docker, one without GPUs and an unusable model cache, all at once", () => {
    expect(
      judged({
        docker: { reachable: false, reason: "connect ENOENT" },
        directories: [{ path: "/models", problem: "no right to write in /" }],
      }).map((finding) => [finding.verdict, finding.message.split(" (")[0]]),
    ).toEqual([
      ["refused", "No Docker engine answers at unix:///var/run/docker.sock"],
      [
        "refused",
        "The model cache /models can't be used: no right to write in /. Create it, or set `modelCache`.",
      ],
    ]);
    expect(
      judged({ docker: { reachable: true, gpuRuntime: false, containers: [] } }).map(
        (finding) => finding.message,
      ),
    ).toEqual([
      expect.stringContaining("Docker has no GPU runtime. Install the NVIDIA Container Toolkit"),
    ]);
  });

  it("warns of a daemon whose bridge is gone, by the bridge's name", () => {
    const docker = {
      reachable: true,
      gpuRuntime: true,
      containers: [],
      missingBridge: "docker0",
    } as const;
    expect(judged({ docker })).toEqual([
      {
        verdict: "warned",
        message:
          "Docker's own bridge `docker0` is missing: something removed it, and containers can't start without it. Restart Docker, which makes it again: `sudo systemctl restart docker`.",
      },
    ]);
  });

  it("refuses a folder that can't be written and a secret without its variable", () => {
    expect(
      judged({
        fileFolders: [{ path: "/a" }, { path: "/b", problem: "no right to write in /" }],
        faultyVariables: [{ name: "HF_TOKEN", fault: "is not set" }],
      }),
    ).toEqual([
      { verdict: "refused", message: "Nothing can be written in /b: no right to write in /." },
      {
        verdict: "refused",
        message:
          "HF_TOKEN is not set, but a secret file takes its value from it. Set it in this shell: `export HF_TOKEN=...`.",
      },
    ]);
  });

  it("refuses when the declared total is not the machine's", () => {
    expect(judged({ memory: { totalGiB: 128, availableGiB: 100 } })).toEqual([
      {
        verdict: "refused",
        message:
          "totalGiB is 121.63, but the machine has 128.00. Set `totalGiB: 128`. vLLM takes its share of the machine's memory, so the plan's figures are too small.",
        setting: "totalGiB",
        value: 128,
      },
    ]);
    expect(judged({}, { totalGiB: 121.69 })[0]?.message).toContain(
      "the machine has 121.63. Set `totalGiB: 121.63`. The plan counts 0.06 GiB that don't exist.",
    );
  });

  const model = { id: "org/model", family: "qwen3", weightsGB: 53 };
  const server = (more: Record<string, unknown>) => ({
    inferenceServers: { b: serverInput(more) },
  });

  it.each<[string, Partial<MachineFacts>, string, unknown, Record<string, unknown>]>([
    ["an instance A that is gone", { listeners: [] }, "instanceA", "none", { instanceA: "none" }],
    [
      "an instance A with more memory",
      { listeners: [{ port: 8000, argv: [...argvOf(0.3), "--kv-cache-memory=40G"] }] },
      "instanceA.gpuMemoryUtilization",
      0.63,
      { instanceA: { gpuMemoryUtilization: 0.63 } },
    ],
    [
      "too little free memory",
      { memory: { totalGiB: 121.63, availableGiB: 49.4 } },
      "inferenceServers.b.gpuMemoryUtilization",
      0.4,
      server({ gpuMemoryUtilization: 0.4 }),
    ],
  ])("names the value for %s with which it passes", (_, facts, setting, value, changed) => {
    expect(judged(facts)).toMatchObject([{ setting, value }]);
    expect(judged(facts, changed)).toEqual([]);
  });

  it("names the key of every service whose port is taken", () => {
    const listeners = [8001, 8787, 8080].map((port) => ({ port }));
    const machine = { bridge: BRIDGE, chatUi: CHAT_UI, instanceA: "none" };
    expect(judged({ listeners }, machine).map(({ setting }) => setting)).toEqual([
      "inferenceServers.b.port",
      "bridge.port",
      "chatUi.port",
    ]);
  });

  it("names no share where none suffices: the weights need more, or memory beside the share is the cause", () => {
    const free = { memory: { totalGiB: 121.63, availableGiB: 49.4 } };
    for (const more of [{ model }, { extraArgs: ["--cpu-offload-gb", "20"] }]) {
      const [found] = judged(free, server(more));
      expect(found?.message).toContain(
        "Free memory: lowering one `gpuMemoryUtilization` is not enough.",
      );
      expect(found).not.toHaveProperty("setting");
    }
  });

  it("names the model cache that can't be used", () => {
    const directories = [{ path: "/models", problem: "no right to write in /" }];
    expect(judged({ directories })).toMatchObject([{ setting: "modelCache" }]);
  });
});
