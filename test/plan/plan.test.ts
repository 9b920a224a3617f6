import { parseMeminfo } from "@local-serving/machines/memory";
import { describe, expect, it } from "vitest";
import { readModels } from "../../components/evidence/readModels";
import { START_GATE } from "../../components/inference-server/startGate";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { loadStackFile } from "../../components/settings/load";
import { judge } from "../../policies/judge";
import { stack } from "../fixtures/machine";

const settings = loadStackFile("Pulumi.dgx.yaml");
const evidence = { home: "/home/me", models: readModels(settings, process.cwd(), "/home/me") };
const [only] = plan(settings, evidence).machines;

describe("the plan of the default stack", () => {
  it("runs instance B as the specification says", () => {
    const container = only?.containers[0];
    expect(container).toMatchObject({
      role: "inference-server",
      resource: "dgx-b",
      name: "vllm-qwen3.6-35b-a3b-8001",
      entrypoint: ["/bin/sh", "-c", START_GATE, "vllm-qwen3.6-35b-a3b-8001"],
      gpus: "all",
      ipc: "host",
      restart: "unless-stopped",
      network: "local-serving",
      hosts: ["host.docker.internal:host-gateway"],
      ports: [{ ip: "127.0.0.1", host: 8001, container: 8001 }],
      mounts: [
        {
          type: "bind",
          source: "/home/me/.cache/huggingface",
          target: "/root/.cache/huggingface",
          readOnly: false,
        },
        { type: "volume", source: "local-serving-b-jit", target: "/jit-cache", readOnly: false },
        {
          type: "bind",
          source: "/home/me/.local/share/local-serving/dgx/start-gate",
          target: "/run/local-serving",
          readOnly: true,
        },
        {
          type: "volume",
          source: "local-serving-gate",
          target: "/var/lib/local-serving",
          readOnly: false,
        },
      ],
      ulimits: [
        { name: "memlock", soft: -1, hard: -1 },
        { name: "stack", soft: 67108864, hard: 67108864 },
      ],
      secretEnv: [],
    });
    expect(container?.env).toEqual({
      FLASHINFER_WORKSPACE_BASE: "/jit-cache/flashinfer",
      MAX_JOBS: "2",
      NINJA_JOBS: "2",
      PYTORCH_CUDA_ALLOC_CONF: "expandable_segments:True",
      TORCHINDUCTOR_CACHE_DIR: "/jit-cache/inductor",
      TRITON_CACHE_DIR: "/jit-cache/triton",
      VLLM_CACHE_ROOT: "/jit-cache/vllm",
      VLLM_ENGINE_READY_TIMEOUT_S: "3600",
      VLLM_USE_FLASHINFER_MOE_FP4: "0",
    });
  });

  it("lets a first boot of more than 15 minutes live", () => {
    const health = only?.containers[0]?.healthcheck;
    expect(health?.test).toEqual([
      "CMD",
      "curl",
      "-fsS",
      "-o",
      "/dev/null",
      "http://127.0.0.1:8001/health",
    ]);
    expect(health?.startPeriodSeconds).toBe(45 * 60);
  });

  it("only declares instance A: no container, no file and no command of it", () => {
    expect(only?.hostInstance).toMatchObject({ port: 8000, gpuMemoryUtilization: 0.45 });
    expect(
      only?.containers.flatMap((container) => container.ports.map((port) => port.host)),
    ).not.toContain(8000);
    // Only what the start gate asks and the applied plan, a copy of all data, say anything about
    // it.
    const about = only?.files.filter((file) => /\b8000\b/.test(file.text)).map((file) => file.role);
    expect(about).toEqual(["start-gate", "applied-plan"]);
    expect(only?.commands.join("\n")).not.toMatch(/8000|vllm/);
  });

  it("warns of exactly what is expected", () => {
    expect(plan(settings, evidence).warnings.map((warning) => warning.code)).toEqual([
      "aggregate-high",
      "operating-system-unmeasured",
      "image-cache",
      "kv-queue",
      "simple-server-by-hand",
      "simple-server-on-loopback",
    ]);
    // What is at risk: the others are only good to know.
    const grave = plan(settings, evidence).warnings.filter(({ note }) => note !== true);
    expect(grave.map(({ code }) => code)).toEqual([
      "aggregate-high",
      "operating-system-unmeasured",
    ]);
    // The sixth is a policy's: versions that were published and not read in the image.
    const warned = judge(declaredResources(plan(settings, evidence))).filter(
      (each) => each.verdict !== "pass",
    );
    expect(warned.map((each) => [each.name, each.verdict])).toEqual([
      ["inference-image", "warned"],
    ]);
  });

  it("should fit by the specification's figures, and says that it has not been measured", () => {
    const said = (a: number) => {
      const machines = structuredClone(settings.machines);
      const { instanceA } = machines.dgx ?? {};
      if (typeof instanceA === "object") instanceA.gpuMemoryUtilization = a;
      const { warnings } = plan({ machines }, evidence);
      const of = (code: string) => warnings.find((each) => each.code === code)?.message;
      return { unproven: of("unproven"), high: of("aggregate-high") };
    };
    // One warning says both.
    expect(said(0.45)).toEqual({
      unproven: undefined,
      high: expect.stringMatching(
        /^The servers take 0\.90 of the memory, and above 0\.80 it may hang\. .* has not been measured yet\. After all have loaded and served a request, /,
      ),
    });
    expect(said(0.35).unproven).toMatch(
      /^The servers together fit on paper, and were not measured\. They take 97\.3 of 121\.6 GiB\. After all/,
    );
    // What is refused is not said to fit.
    expect(said(0.72).unproven).toBeUndefined();
    // Up to 0.80 nothing was seen to hang.
    expect(said(0.35).high).toBeUndefined();
    expect(said(0.3501).high).toContain("The servers take 0.8001 of the memory");
  });

  it("is the same bytes for the same input", () => {
    const once = JSON.stringify(plan(settings, evidence));
    expect(JSON.stringify(plan(settings, evidence))).toBe(once);
  });
});

describe("a plan", () => {
  it("publishes a port on the server's own address, on loopback where it names none", () => {
    const ports = (server: Record<string, unknown>) =>
      plan(stack({}, server), evidence).machines[0]?.containers[0]?.ports;
    expect(ports({ listen: "0.0.0.0", port: 8055 })).toEqual([
      { ip: "0.0.0.0", host: 8055, container: 8055 },
    ]);
    expect(ports({})).toEqual([{ ip: "127.0.0.1", host: 8001, container: 8001 }]);
  });

  it("names a container in letters that Docker takes, whatever the served name", () => {
    const name = plan(stack({}, { servedModelName: "Org/My Model".replace(" ", "_") }), evidence)
      .machines[0]?.containers[0]?.name;
    expect(name).toBe("vllm-org-my_model-8001");
  });

  it("counts the compile jobs that will really run", () => {
    const compiling = (jobs: { compileJobs?: number }) => {
      const weights = {
        model: { id: "org/model", weightsGB: 22 },
        gpuMemoryUtilization: 0.2,
        ...jobs,
      };
      const [machine] = plan(stack({}, weights), evidence).machines;
      return machine?.ledger.lines.find(({ name }) => name.endsWith("compiling"))?.gib;
    };
    // 20.49 + 6.7 + jobs x 8 GiB, less the 24.33 of its own budget.
    expect([compiling({}), compiling({ compileJobs: 8 })]).toEqual([18.86, 66.86]);
  });

  it("lets the operator's variables win over ours", () => {
    const env = plan(
      stack({}, { environment: { VLLM_CACHE_ROOT: "/c", NCCL_DEBUG: "INFO" } }),
      evidence,
    ).machines[0]?.containers[0]?.env;
    expect(env).toMatchObject({ VLLM_CACHE_ROOT: "/c", NINJA_JOBS: "2", NCCL_DEBUG: "INFO" });
  });

  describe("memory segments that grow", () => {
    const CONNECTOR = ["--kv-transfer-config", '{"kv_connector":"NixlConnector"}'];
    const server = (more: Record<string, unknown>) => plan(stack({}, more), evidence);
    const segments = (more: Record<string, unknown>) =>
      server(more).machines[0]?.containers[0]?.env.PYTORCH_CUDA_ALLOC_CONF;
    const codes = (more: Record<string, unknown>) =>
      server(more).warnings.map((warning) => warning.code);
    const GROWING = { PYTORCH_CUDA_ALLOC_CONF: "expandable_segments:True" };

    it("are the default, and the operator's own value wins", () => {
      expect(segments({})).toBe("expandable_segments:True");
      const own = { PYTORCH_CUDA_ALLOC_CONF: "max_split_size_mb:512" };
      expect(segments({ environment: own })).toBe("max_split_size_mb:512");
    });

    it.each([
      ["a connector", CONNECTOR],
      ["a connector by its keys", ["--kv-transfer-config.kv_connector", "NixlConnector"]],
      ["an offloaded cache", ["--kv-offloading-size", "4"]],
    ])("are left out beside %s", (_, extraArgs) => {
      expect(segments({ extraArgs })).toBeUndefined();
      expect(codes({ extraArgs })).not.toContain("segments-refused");
      expect(codes({ extraArgs, environment: GROWING })).toContain("segments-refused");
    });

    it("stay beside a connector whose cache has a pool of its own", () => {
      const extraArgs = [...CONNECTOR, "--enable-cumem-allocator"];
      expect(segments({ extraArgs })).toBe("expandable_segments:True");
      expect(codes({ extraArgs, environment: GROWING })).not.toContain("segments-refused");
    });
  });

  it.each([
    ["eager", { extraArgs: ["--enforce-eager"] }],
    ["random-weights", { loadFormat: "dummy" }],
    ["id-without-organization", { model: { id: "Meta-Llama-3-8B" } }],
    ["startup-plan", { environment: { VLLM_ENABLE_STARTUP_PLAN: "1" } }],
  ])("warns of what a server is better started without: %s", (code, more) => {
    const codes = (settings: Record<string, unknown>) =>
      plan(stack({}, settings), evidence).warnings.map((warning) => warning.code);
    expect(codes(more)).toContain(code);
    // What the warning advises brings none.
    expect(codes({})).not.toContain(code);
  });

  it("warns of no startup plan that is off", () => {
    const off = stack({}, { environment: { VLLM_ENABLE_STARTUP_PLAN: "0" } });
    expect(plan(off, evidence).warnings.map(({ code }) => code)).not.toContain("startup-plan");
  });

  it("warns of heavy weights by band, and of one parser under two names", () => {
    const codes = (weightsGB: number) =>
      plan(stack({}, { model: { id: "o/m", family: "qwen3", weightsGB } }), evidence)
        .warnings.filter((warning) => warning.code === "weights")
        .map((warning) => warning.message);
    expect(codes(45)).toEqual([]);
    expect([45.1, 90, 90.1, 100, 100.1].map((size) => codes(size)[0])).toEqual([
      "b: 45.1 GB of weights are above the comfortable 45 GB. They are possible with tuning and a reduced context (45 to 90 GB).",
      "b: 90 GB of weights are above the comfortable 45 GB. They are possible with tuning and a reduced context (45 to 90 GB).",
      "b: 90.1 GB of weights are above the comfortable 45 GB. They are untested on this machine (90 to 100 GB).",
      "b: 100 GB of weights are above the comfortable 45 GB. They are untested on this machine (90 to 100 GB).",
      "b: 100.1 GB of weights are above the comfortable 45 GB. They are too large for one machine (over 100 GB): two or more linked machines can share it (`nodes`).",
    ]);
    const byIndex = { "org/model": { source: "config.json", weightsGB: 60.04 } };
    expect(
      plan(stack(), { home: "/home/me", models: byIndex }).warnings.find(
        ({ code }) => code === "weights",
      )?.message,
    ).toContain("60 GB of weights are above");
    expect(
      plan(stack({}, { tools: { parser: "qwen3_xml" } }), evidence).warnings.map(
        (warning) => warning.code,
      ),
    ).toContain("same-parser");
    const kernels = (server: Record<string, unknown>) =>
      plan(stack({}, server), evidence).warnings.flatMap(({ code, message }) =>
        code === "inert-variable" ? [message] : [],
      );
    expect(kernels({})).toEqual([
      "b: `moeBackend` isn't set, so vLLM 0.30.0 chooses the kernels. If the model is a mixture of experts in NVFP4, set `moeBackend: marlin`, the sound choice on a GB10. Other models need nothing.",
    ]);
    expect(kernels({ moeBackend: "marlin" })).toEqual([]);
  });

  it.each([
    ["as much as the floor", { operatingSystemGiB: 8.29 }, {}, undefined],
    [
      "less",
      { operatingSystemGiB: 8.3 },
      {},
      "The plan leaves 1.99 GiB, less than the floor of 2 GiB. Free 0.01 GiB more, by lower shares, or lower the floor (`memoryFloorGiB`): with everything loaded, the start gate would stop a server.",
    ],
    [
      "less, the share lowered",
      { operatingSystemGiB: 8.3 },
      { gpuMemoryUtilization: 0.44 },
      undefined,
    ],
    ["less, the floor lowered", { operatingSystemGiB: 8.3, memoryFloorGiB: 1.99 }, {}, undefined],
    ["nothing", { operatingSystemGiB: 10.29 }, {}, expect.stringContaining("leaves 0.00 GiB")],
    ["less than nothing, which memory-sum says", { operatingSystemGiB: 10.3 }, {}, undefined],
    [
      "nothing, without a server of ours",
      { operatingSystemGiB: 65.96, inferenceServers: {} },
      {},
      undefined,
    ],
  ])("leaves %s for the floor of the start gate", (_, machine, server, message) => {
    const { warnings } = plan(stack(machine, server), evidence);
    expect(warnings.find(({ code }) => code === "memory-floor")?.message).toEqual(message);
  });

  it("of 400 machines stays linear", () => {
    const machines = (count: number) => {
      const [one] = Object.values(stack().machines);
      const models = { "org/model": Object.values(evidence.models)[0] };
      const many = Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`m${index}`, one]),
      );
      const input = [{ machines: many }, { ...evidence, models }] as unknown as Parameters<
        typeof plan
      >;
      // Processor time: what else the machine does meanwhile doesn't count.
      const before = process.cpuUsage();
      const planned = plan(...input);
      const { user, system } = process.cpuUsage(before);
      return { planned, microseconds: user + system };
    };
    const few = Math.min(...[1, 2, 3].map(() => machines(40).microseconds));
    const [first, second] = [machines(400), machines(400)];
    expect(
      first.planned.machines.filter((machine) => Object.values(machine.kv)[0] !== null),
    ).toHaveLength(400);
    // Ten times as many take ten times as long; a square would take a hundred times.
    expect(Math.min(first.microseconds, second.microseconds) / few).toBeLessThan(40);
  });

  it("plans each server of a fleet as it would alone", () => {
    const { dgx } = stack().machines;
    const windowOf = (maxModelLen: number) => ({
      ...dgx,
      inferenceServers: { b: { ...dgx?.inferenceServers.b, maxModelLen } },
    });
    const fleet = {
      ...{ one: windowOf(8192), like: windowOf(8192), longer: windowOf(65_536) },
      ...{ smaller: { ...windowOf(8192), totalGiB: 60 }, other: { ...dgx, device: "thor" } },
    };
    const models = { "org/model": Object.values(evidence.models)[0] };
    const kvOf = (machines: object) =>
      plan({ machines } as never, { ...evidence, models } as never).machines.map(({ kv }) => kv);
    const together = kvOf(fleet);
    expect(together).toEqual(
      Object.entries(fleet).flatMap(([name, each]) => kvOf({ [name]: each })),
    );
    const windows = together.map((kv) => Object.values(kv)[0]?.fullWindowsAtOnce);
    expect(windows[0]).toBe(windows[1]);
    expect(new Set(windows).size).toBe(4);
  });

  it("treats one machine and many alike", () => {
    const one = stack();
    const two = {
      machines: { ...one.machines, second: { ...one.machines.dgx, instanceA: "none" as const } },
    };
    const planned = plan(two as typeof one, evidence);
    expect(planned.machines.map((machine) => machine.name)).toEqual(["dgx", "second"]);
    expect(planned.machines[1]?.containers[0]?.resource).toBe("second-b");
    expect(planned.machines[1]?.hostInstance).toBe("none");
  });
});

describe("/proc/meminfo", () => {
  it("is read in GiB", () => {
    expect(
      parseMeminfo("MemTotal:       127600592 kB\nMemFree: 1 kB\nMemAvailable:   62914560 kB\n"),
    ).toEqual({
      totalGiB: 127600592 / 1048576,
      availableGiB: 60,
    });
  });

  it("is no meminfo where the figures can't be true", () => {
    expect(parseMeminfo("MemTotal: 100 kB\nMemAvailable: 101 kB\n")).toBeUndefined();
    expect(parseMeminfo("MemTotal: 0 kB\nMemAvailable: 0 kB\n")).toBeUndefined();
  });

  it("is no meminfo without both lines", () => {
    expect(parseMeminfo("MemTotal: 1 kB\n")).toBeUndefined();
    expect(parseMeminfo("")).toBeUndefined();
  });
});
