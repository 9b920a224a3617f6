// Machines made up as devices, from what they show to a plan. Recorded (sources: devices.json): the
// MemTotal of a DGX Spark, the names NVIDIA GB10, NVIDIA Thor and NVIDIA GH200 480GB, the device
// tree of a Jetson Thor, `[N/A]` for shared memory, 81,559 MiB of an H100. Made up: every other
// product name, PCI id, MemTotal, process and container.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { whyNoServer } from "@local-serving/machines/devices/devices";
import { afterEach, describe, expect, it, vi } from "vitest";
import { choose } from "../../../cli/init/choose";
import { readHost } from "../../../cli/sees/computer/computer";
import { httpServer } from "../../layers/httpServer";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { inspected } from "../fakeDocker";
import { runServing } from "../runServing";
import { type Made, madeMachine } from "./madeMachine";

afterEach(() => void vi.unstubAllEnvs());

const folder = temporaryFolder("made-devices-");
const MODEL = "nvidia/Qwen3.6-35B-A3B-NVFP4";
const KIB = 1024 ** 2;
const gib = (size: number) => Math.round(size * KIB);
const SPARK = 127_600_592;
const besideA = (share: number) => Math.round(SPARK * (1 - share) - 7 * KIB);
const vllm = (share: number): NonNullable<Made["listening"]> => ({
  8000: {
    argv: [
      ...["/opt/vllm/bin/python3", "/opt/vllm/bin/vllm", "serve", "org/model-a"],
      ...["--served-model-name=model-a", `--gpu-memory-utilization=${share}`],
      ...["--enable-auto-tool-choice", "--tool-call-parser=hermes"],
    ],
    unit: "vllm.service",
  },
});
const NO_DRIVER = "The NVIDIA driver shows no GPU";
const NONE = "this machine has none: there is no server B. ";
const ASSUMED = "planned as a DGX Spark";
const MARK = ": a DGX Spark's";

/** By facts, stack file, the list of models and the plan, as one text. */
async function shown(made: Made, lists = false) {
  const { sources, env } = madeMachine(made);
  vi.stubEnv("PATH", env.PATH ?? "");
  vi.stubEnv("DOCKER_HOST", "");
  const facts = await readHost(sources);
  const file = join(folder, "Pulumi.made.yaml");
  const factsFile = join(folder, "facts.json");
  writeFileSync(factsFile, JSON.stringify(facts));
  const choice = await choose(facts, { name: "made", project: process.cwd() });
  writeFileSync(file, choice.text);
  // The list takes the longest, so only what it says of a machine of its kind is looked at.
  const models = lists
    ? await runServing(["models", "--file", file])
    : { code: 0, err: "", out: "" };
  const plan = await runServing(["plan", "--file", file, "--full"]);
  expect([models.code, plan.code, models.err, plan.err]).toEqual([0, 0, "", ""]);
  const flat = (text: string) => text.replace(/\n *# +(?!- )/g, " ").replace(/\n +/g, " ");
  const said = [choice.text, ...choice.mend].map(flat).join("\n");
  return {
    rc: choice.refused.length > 0 || choice.mend.length > 0 ? 1 : 0,
    said: `${said}\n${flat(models.out)}\n${flat(plan.out)}`,
    device: /^ +device: (\S+)$/m.exec(choice.text)?.[1],
    model: choice.model,
    text: choice.text,
    models: models.out,
  };
}

interface Expected {
  readonly rc: 0 | 1;
  readonly device: string;
  readonly model: string | null;
  readonly there: readonly string[];
  readonly absent: readonly string[];
}

const UNCOUNTED = "The vLLM that runs here isn't counted";

const NO_SERVER: Expected = {
  rc: 1,
  device: "other",
  model: null,
  there: [NONE],
  absent: [NO_DRIVER, "NVIDIA driver", ASSUMED, "inferenceServers:", "Lower its"],
};

describe("from what a machine shows to its plan", () => {
  it.each<[string, Made, Expected]>([
    [
      "a DGX Spark",
      { smiMemory: "[N/A]", dmi: ["NVIDIA", "NVIDIA_DGX_Spark"] },
      {
        ...{ rc: 0, device: "gb10", model: MODEL },
        there: ["Device: a DGX Spark (NVIDIA NVIDIA_DGX_Spark)."],
        absent: [NO_DRIVER, NONE, ASSUMED, MARK, "Fix before"],
      },
    ],
    [
      "a DGX Spark of 64 GB, with NVIDIA's model for it",
      { totalKib: gib(60.7), availableKib: gib(56), smiMemory: "[N/A]" },
      {
        ...{ rc: 0, device: "gb10", model: "nvidia/Qwen3.8-27B-NVFP4" },
        there: ["Device: a DGX Spark of 64 GB.", MARK, "gpuMemoryUtilization 0.7 of 60.7 GiB"],
        absent: [NONE, ASSUMED, "names no device"],
      },
    ],
    [
      "an RTX Spark N1x",
      { totalKib: gib(61), availableKib: gib(56), gpus: ["NVIDIA RTX Spark N1X"] },
      {
        ...{ rc: 0, device: "n1x", model: MODEL },
        there: ["Device: an RTX Spark N1x.", MARK],
        absent: [NONE, ASSUMED, NO_DRIVER],
      },
    ],
    [
      "an ASUS Ascent GX10",
      { totalKib: gib(121.63), smiMemory: "[N/A]", dmi: ["ASUSTeK COMPUTER INC.", "GX10"] },
      {
        ...{ rc: 0, device: "gb10", model: MODEL },
        there: ["Device: a DGX Spark (ASUSTeK COMPUTER INC. GX10)."],
        absent: [NO_DRIVER, NONE, ASSUMED, MARK, "Fix before"],
      },
    ],
    [
      "a Spark beside A at 0.45",
      { availableKib: besideA(0.45), listening: vllm(0.45) },
      {
        ...{ rc: 0, device: "gb10", model: MODEL },
        there: ["takes 0.45 of the memory"],
        absent: ["there is no server B", "Lower its", "Fix before"],
      },
    ],
    [
      "a Spark beside A at 0.62",
      { availableKib: besideA(0.62), listening: vllm(0.62) },
      {
        ...{ rc: 1, device: "gb10", model: "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4" },
        there: ["Beside instance A, which takes 0.62 of the memory, nvidia/", " may not start: "],
        absent: ["there is no server B", NONE],
      },
    ],
    [
      "a Spark beside A at 0.72",
      { availableKib: besideA(0.72), listening: vllm(0.72) },
      {
        ...{ rc: 1, device: "gb10", model: "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4" },
        there: [
          "Beside instance A, which takes 0.72 of the memory, nvidia/",
          "Lower its --gpu-memory-utilization in vllm.service to 0.45",
        ],
        absent: ["there is no server B", NONE],
      },
    ],
    [
      "a Jetson Thor",
      {
        ...{ totalKib: gib(122.8), availableKib: gib(116), gpus: ["NVIDIA Thor"] },
        smiMemory: "[N/A]",
        tree: [
          "NVIDIA Jetson AGX Thor Developer Kit",
          ...["nvidia,p4071-0000+p3834-0008", "nvidia,p3834-0008", "nvidia,tegra264"],
        ],
      },
      {
        ...{ rc: 0, device: "jetson-thor", model: MODEL },
        there: ["Device: a Jetson Thor (NVIDIA Jetson AGX Thor", MARK, "was not seen to run on"],
        absent: [NO_DRIVER, NONE, ASSUMED],
      },
    ],
    [
      "an RTX 5090",
      {
        ...{ totalKib: gib(62.5), availableKib: gib(57), gpus: ["NVIDIA GeForce RTX 5090"] },
        ...{ smiMemory: "32607", pci: ["10de:2b85"] },
      },
      { ...NO_SERVER, there: [NONE, "31.84 GiB of its own memory"] },
    ],
    [
      "an RTX PRO 6000 with a vLLM",
      {
        ...{ totalKib: gib(125.5), availableKib: gib(118), listening: vllm(0.9) },
        gpus: ["NVIDIA RTX PRO 6000 Blackwell Workstation Edition"],
        smiMemory: "97887",
      },
      {
        ...NO_SERVER,
        there: [NONE, UNCOUNTED],
      },
    ],
    [
      "a GH200",
      {
        ...{ totalKib: gib(480), availableKib: gib(470), gpus: ["NVIDIA GH200 480GB"] },
        smiMemory: "97871",
      },
      NO_SERVER,
    ],
    [
      "an H100",
      {
        ...{ totalKib: gib(251), availableKib: gib(240), gpus: ["NVIDIA H100 80GB HBM3"] },
        smiMemory: "81559",
      },
      NO_SERVER,
    ],
    [
      "an AMD Strix Halo",
      { totalKib: gib(124.9), availableKib: gib(118), gpus: [], pci: ["1002:1586"] },
      NO_SERVER,
    ],
    [
      "a VM without a GPU, with a vLLM",
      {
        ...{ totalKib: gib(31.3), availableKib: gib(19), gpus: [], pci: ["1af4:1050"] },
        ...{ dmi: ["QEMU", "Standard PC (Q35 + ICH9, 2009)"], listening: vllm(0.3) },
      },
      { ...NO_SERVER, there: [NONE, UNCOUNTED] },
    ],
    [
      "an Intel Arc",
      { totalKib: gib(62.5), availableKib: gib(57), gpus: [], pci: ["8086:e20b"] },
      NO_SERVER,
    ],
    [
      "an Apple computer under Linux",
      {
        ...{ totalKib: gib(15.4), availableKib: gib(11), gpus: [] },
        tree: ["Apple Mac mini (M1, 2020)", "apple,j274", "apple,t8103"],
      },
      NO_SERVER,
    ],
    [
      "a VM without a GPU",
      {
        ...{ totalKib: gib(31.3), availableKib: gib(29), gpus: [], pci: ["1af4:1050"] },
        dmi: ["QEMU", "Standard PC (Q35 + ICH9, 2009)"],
      },
      NO_SERVER,
    ],
    [
      "a process that holds GPU memory",
      {
        ...{ availableKib: gib(100), smiMemory: "[N/A]" },
        gpuProcesses: "812, /usr/bin/python3, 14540\n",
        cgroups: { 812: "0::/system.slice/comfyui.service" },
      },
      {
        ...{ rc: 0, device: "gb10", model: MODEL },
        there: [
          "GPU memory is held by comfyui.service (14.2 GiB).",
          "What comfyui.service (14.2 GiB) took when this was written.",
          "otherGpuMemoryGiB: 14.2",
        ],
        absent: [NONE, ASSUMED, "memory in use are unexplained"],
      },
    ],
    [
      "a machine with 40 GiB in use that nothing explains",
      { availableKib: SPARK - gib(40) },
      {
        ...{ rc: 1, device: "gb10", model: MODEL },
        there: ["40 GiB of memory in use are unexplained"],
        absent: ["operatingSystemGiB: 40"],
      },
    ],
  ])("%s", async (_, made, { rc, device, model, there, absent }) => {
    const found = await shown(made, model === null || there.some((each) => each.includes("0.72")));
    expect({ rc: found.rc, device: found.device, model: found.model }).toEqual({
      ...{ rc, device, model },
    });
    for (const sentence of there) expect(found.said).toContain(sentence);
    for (const sentence of absent) expect(found.said).not.toContain(sentence);
    // The list of models says of server B's model what init said.
    if (model === null)
      expect(found.models).toMatch(/^Machine made, server b, [^\n]*:\n\nThis project [^\n]*\n$/);
    if (found.models !== "" && model !== null)
      expect(found.models).toMatch(/nemotron-3-nano-30b-a3b +maybe +0\.18 /);
  });

  it("an NVIDIA GPU without its driver is told to install that, and nothing else", async () => {
    const { rc, device, model, said } = await shown({ gpus: [], pci: ["10de:2b85"] });
    expect({ rc, device, model }).toEqual({ rc: 1, device: undefined, model: null });
    expect(said).toContain(`${NO_DRIVER}: install the driver, or no vLLM starts here.`);
    expect(said).not.toContain("Ollama serves");
  });

  it("an NVIDIA GPU that Docker alone lists is no computer without one, and no more is said of it", async () => {
    const listing = (id: string) => ({
      info: { out: JSON.stringify({ DiscoveredDevices: [{ Source: "cdi", ID: id }] }) },
      "network inspect": { out: "lo\n" },
      ps: {},
    });
    const { rc, device, model, said } = await shown({
      ...{ gpus: [], docker: listing("nvidia.com/gpu=all") },
    });
    expect({ rc, device, model }).toEqual({ rc: 1, device: undefined, model: null });
    expect(said).toContain(`${NO_DRIVER}: install the driver, or no vLLM starts here.`);
    expect(said).not.toContain("Ollama serves");
    const other = await shown({ gpus: [], docker: listing("vendor.example/gpu=0") });
    expect([other.device, other.said.includes(NO_DRIVER)]).toEqual(["other", false]);
    const amd = { gpus: [], pci: ["1002:1586"], docker: listing("nvidia.com/gpu=all") };
    expect((await shown(amd)).device).toBe("other");
  });

  const OLLAMA: Record<string, string> = {
    "/api/version": '{"version":"0.34.4"}',
    "/api/tags": '{"models":[{"name":"qwen3:8b","size":5200000000}]}',
    "/api/ps": '{"models":[{"name":"qwen3:8b","size":10307921510}]}',
  };
  const ollama = () => httpServer((request, response) => response.end(OLLAMA[request.url ?? ""]));

  it("an Ollama without a unit is counted with what it has loaded, and not managed", async () => {
    const { url, port } = await ollama();
    const { rc, model, text, said } = await shown({
      ...{ availableKib: gib(105), ollamaUrl: url, listening: { [port]: "unseen" } },
    });
    expect({ rc, model }).toEqual({ rc: 0, model: MODEL });
    expect(text).toContain("otherGpuMemoryGiB: 9.6\n");
    expect(text).not.toContain("simpleServer:");
    expect(said).toContain("without a systemd unit: what it has loaded is counted, and its");
  });

  it("an Ollama in a container is named, and counted once", async () => {
    const { url, port } = await ollama();
    const id = "f".repeat(64);
    const container = {
      ...inspected({ name: "ollama", image: "ollama/ollama:0.34.4" }),
      HostConfig: {
        PortBindings: { "11434/tcp": [{ HostIp: "127.0.0.1", HostPort: String(port) }] },
      },
    };
    const { text, said } = await shown({
      ...{ availableKib: gib(105), ollamaUrl: url, listening: { [port]: "unseen" } },
      ...{ smiMemory: "[N/A]", gpuProcesses: "812, /usr/bin/ollama, 9800\n" },
      cgroups: { 812: `0::/system.slice/docker-${id}.scope` },
      docker: {
        info: { out: '{"Runtimes":{"nvidia":{}}}' },
        "network inspect": { out: "lo\n" },
        ps: { out: "a\n" },
        inspect: { out: JSON.stringify([container]) },
      },
    });
    expect(said).toContain("Ollama 0.34.4 on 127.0.0.1:11434, in container ollama: what it has");
    expect(text).toContain("otherGpuMemoryGiB: 9.6\n");
    expect(text).toContain("# What Ollama in container ollama (9.6 GiB) took when this was");
  });

  it("Open WebUI's own Ollama is named by its container", async () => {
    const id = "f".repeat(64);
    const { text, said } = await shown({
      ...{ availableKib: gib(105), smiMemory: "[N/A]" },
      gpuProcesses: "812, /usr/bin/ollama, 9830\n",
      cgroups: { 812: `0::/system.slice/docker-${id}.scope` },
      docker: {
        info: { out: '{"Runtimes":{"nvidia":{}}}' },
        "network inspect": { out: "lo\n" },
        ps: { out: "a\n" },
        inspect: {
          out: JSON.stringify([
            inspected({ name: "webui", image: "ghcr.io/open-webui/open-webui:ollama" }),
          ]),
        },
      },
    });
    expect(said).toContain("GPU memory is held by Open WebUI's own Ollama in container webui");
    expect(text).toContain("otherGpuMemoryGiB: 9.6\n");
  });

  it("is asked about at a terminal: what holds memory, and what nothing explains", async () => {
    const { sources, env } = madeMachine({
      ...{ availableKib: SPARK - gib(50), smiMemory: "[N/A]" },
      gpuProcesses: "812, /usr/bin/python3, 14540\n",
    });
    vi.stubEnv("PATH", env.PATH ?? "");
    const facts = await readHost(sources);
    const asked: string[] = [];
    const answers = ["y", "12", "0", "n", ""];
    const { text, mend } = await choose(
      facts,
      { name: "made", project: process.cwd() },
      { ask: async (question) => answers[asked.push(question) - 1] ?? "" },
    );
    expect(asked.slice(0, 2)).toEqual([
      "python3 (process 812) holds 14.2 GiB of GPU memory. Shall the plan count it? [Y/n]",
      "35.8 GiB of memory in use are unexplained. How many of them does the operating system always take (GiB)? [not known]",
    ]);
    expect(text).toContain("operatingSystemGiB: 12\n");
    expect(text).toContain("otherGpuMemoryGiB: 14.2\n");
    expect(mend).toEqual([]);
  });

  it("ends with exit code 1 where something is to be mended, and says so", async () => {
    const { sources, env } = madeMachine({ gpus: [], pci: ["1002:1586"], totalKib: gib(124.9) });
    vi.stubEnv("PATH", env.PATH ?? "");
    const facts = join(folder, "amd.json");
    writeFileSync(facts, JSON.stringify(await readHost(sources)));
    const project = temporaryFolder("made-devices-project-");
    writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\nruntime: nodejs\n");
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(project);
    const { code, out } = await runServing(["init", "--from", facts, "--yes", "--name", "amd"]);
    cwd.mockRestore();
    expect(code).toBe(1);
    expect(out).toContain("Fix first:\n  - This project runs vLLM on NVIDIA GPUs");
    expect(readFileSync(join(project, "Pulumi.amd.yaml"), "utf8")).toContain("device: other\n");
  });
});

describe("a stack file without a server", () => {
  const file = join(folder, "Pulumi.bare.yaml");
  const bare = (device: string, totalGiB: number) =>
    writeFileSync(
      file,
      `config:\n  local-serving:machines:\n    bare:\n      totalGiB: ${totalGiB}\n      device: ${device}\n      instanceA: none\n`,
    );
  const use = () => runServing(["models", "use", MODEL, "--file", file, "--write"]);

  it("gets one by `models use`, with the image that init would take, and plans", async () => {
    bare("gb10", 121.69);
    expect(await use()).toMatchObject({ code: 0, err: "" });
    const text = readFileSync(file, "utf8");
    expect(text).toMatch(/inferenceServers:\s+b:/);
    expect(text).toContain(`id: ${MODEL}`);
    expect(text).toContain("vllm/vllm-openai:v0.30.0@sha256:");
    expect(text).not.toContain("org/model");
    expect(await runServing(["plan", "--file", file])).toMatchObject({ code: 0, err: "" });
  });

  it("gets none where the GPU has a memory of its own, and is told why alone", async () => {
    bare("geforce", 62.5);
    const { code, err } = await use();
    expect(code).toBe(1);
    expect(err).toContain(`${MODEL}: ${whyNoServer("other")}\n`);
    expect(err).not.toMatch(/smaller model|run it alone/);
    expect(readFileSync(file, "utf8")).not.toContain("inferenceServers");
  });
});
