import { defined } from "@local-serving/base/faults/defined";
import { kvPlan, modelShape } from "@local-serving/kv";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import { expect } from "vitest";
import type { Picture, Stack } from "../../../cli/rules/picture";
import { SIGNS } from "../../../cli/rules/registry";
import { gpuIn } from "../../../cli/sees/gpu";
import QWEN from "../../../models/nvidia--Qwen3.6-35B-A3B-NVFP4/config.json";
import { CLIENTS, OLLAMA } from "./clientCases";
import { ON_DEMAND } from "./onDemandCases";
import { REAL_STARTS } from "./realStarts";
import { SAID } from "./saidCases";
import { withMachine, withServer } from "./stack";

/** One trouble as it is found, and what has to be said of it. */
export interface MatrixCase {
  readonly name: string;
  readonly files: { readonly log?: string; readonly dmesg?: string; readonly meminfo?: string };
  /** Every diagnosis that fires, its own first; empty where none may. */
  readonly ids: readonly string[];
  readonly edits?: readonly (readonly [string, unknown])[];
  /** What a second look still asks for, where one change is not the end of it. */
  readonly editsAgain?: readonly unknown[];
  readonly evidence: string;
  readonly change?: string;
  readonly cause?: string;
  /** The whole of it. */
  readonly advice?: string;
  /** What to run next, where that is not the usual. */
  readonly command?: string;
  readonly caughtBy?: string;
  /** It looks like trouble and is none. */
  readonly harmless?: true;
  /** Without a stack file it can't be told. */
  readonly needsStack?: true;
  readonly text?: string;
  readonly more?: Partial<Picture>;
  /** What holds of the plan once the change is applied. */
  readonly after?: (stack: Stack) => void;
}

const B = "inferenceServers.b";

/** A log of the container that shows this sign. */
function logWith(literal: string): Picture["logs"][number] {
  const sign = SIGNS.find(({ literals }) => literals[0] === literal);
  if (sign === undefined) throw new Error(`no sign begins with ${literal}`);
  const hit = { line: literal, groups: [], lineNumber: 1, firstLineNumber: 1, count: 1 };
  const name = `docker logs ${CONTAINER}`;
  return { name, kind: "container", container: CONTAINER, lines: 1, hits: new Map([[sign, hit]]) };
}

const BRIDGE_IMAGE = `ghcr.io/berriai/litellm:v1.101.0@sha256:${"ab".repeat(32)}`;

export const CONTAINER = "vllm-qwen3.6-35b-a3b-8001";

export function container(overlay: Partial<ContainerState> = {}): ContainerState {
  return {
    id: "0".repeat(64),
    name: CONTAINER,
    image: "vllm/vllm-openai:v0.30.0",
    imageId: "sha256:1",
    status: "running",
    exitCode: 0,
    startedAt: "2026-11-21T13:00:00Z",
    oomKilled: false,
    restartCount: 0,
    error: "",
    ports: [],
    mounts: [],
    labels: {},
    compileJobs: {},
    ...overlay,
  };
}

const utilizationOf = ({ settings }: Stack) =>
  settings.inferenceServers.b?.gpuMemoryUtilization ?? 0;

/** A case whose log bears its diagnosis' name. */
function own(id: string, evidence: string, more: Partial<MatrixCase> = {}): MatrixCase {
  return { name: id, files: { log: `${id}.log` }, ids: [id], evidence, ...more };
}

export const cases: readonly MatrixCase[] = [
  { name: "a healthy log", files: { log: "healthy.log" }, ids: [], evidence: "" },
  {
    name: "a server that was asked to stop",
    files: { log: "vllm-0.30.0/stopped.log" },
    ids: [],
    evidence: "",
  },
  {
    name: "a refusal that a later start made good",
    files: { log: "past-refusal.log" },
    ids: [],
    evidence: "",
  },
  own("admission-refused", "(50.10/121.63 GiB)", {
    edits: [[`${B}.gpuMemoryUtilization`, 0.41]],
    change: "+          gpuMemoryUtilization: 0.41",
    // vLLM's own rule: what is asked for is there.
    after: (stack) => expect(utilizationOf(stack) * 121.63).toBeLessThanOrEqual(50.1),
  }),
  {
    ...own("admission-refused", "(2.6/121.63 GiB)", { change: "Free the memory" }),
    name: "admission-refused, nothing fits",
    files: { log: "admission-hopeless.log" },
  },
  {
    ...own("memory-released-late", "(50.10/121.63 GiB)", { change: "Start it again" }),
    files: { log: "admission-refused.log", meminfo: "meminfo-free" },
  },
  own("no-kv-room", "-1.75 GiB", {
    needsStack: true,
    edits: [[`${B}.gpuMemoryUtilization`, 0.5]],
    // The cache gets what was missing and some room.
    after: (stack) =>
      expect((utilizationOf(stack) - 0.45) * 121.63).toBeGreaterThanOrEqual(1.75 + 4),
  }),
  {
    ...own("no-kv-room", "-1.75 GiB", { change: "Lower instance A" }),
    name: "no-kv-room, where the neighbours leave nothing",
    text: withMachine(["instanceA.gpuMemoryUtilization", 0.45]),
  },
  own("window-too-long", "is 199120.", {
    edits: [[`${B}.maxModelLen`, 199120]],
    change: "+          maxModelLen: 199120",
    after: ({ settings }) => {
      // The KV plan agrees with the log: the old window does not fit what was there, the new one
      // does.
      const fits = (maxModelLen: number) =>
        kvPlan(
          modelShape(QWEN),
          { vllmVersion: "0.30.0", kvCacheDtype: "fp8", maxModelLen },
          2.05 * 1024 ** 3,
        ).fits;
      expect([fits(262144), fits(settings.inferenceServers.b?.maxModelLen ?? 0)]).toEqual([
        false,
        true,
      ]);
    },
  }),
  {
    ...own("window-too-long", "is 114688.", { edits: [[`${B}.maxModelLen`, 114688]] }),
    name: "window-too-long in an older layout",
    files: { log: "window-too-long-old.log" },
  },
  own("too-many-sequences", "(9)", {
    edits: [[`${B}.maxNumSeqs`, 9]],
    change: "+          maxNumSeqs: 9",
  }),
  own("window-reduced", "to 180,224", { edits: [[`${B}.maxModelLen`, 180224]] }),
  own("profiling-race", "current free memory 71.90 GiB", { change: "one server at a time" }),
  own("out-of-memory-loading", "CUDA out of memory", { change: "smaller" }),
  {
    ...own("out-of-memory-loading", "CUDA out of memory", {}),
    name: "out-of-memory-loading, more than the share holds",
    // The plan has its say, too.
    ids: ["out-of-memory-loading", "plan-refused"],
    text: withServer(["model.weightsGB", 40], ["gpuMemoryUtilization", 0.3]),
    cause: "40 GB of weights are more than a share of 36.49 GiB holds.",
  },
  own("out-of-memory-warming-up", "256 dummy requests", {
    edits: [[`${B}.maxNumSeqs`, 128]],
  }),
  own("out-of-memory-serving", "2.25 GiB", {
    edits: [[`${B}.maxNumBatchedTokens`, 4096]],
    after: ({ settings }) => expect(settings.inferenceServers.b?.maxNumBatchedTokens).toBe(4096),
  }),
  {
    ...own("out-of-memory-serving", "2.25 GiB", { edits: [[`${B}.maxNumBatchedTokens`, 4096]] }),
    name: "out-of-memory-serving, and started again since",
    files: { log: "out-of-memory-restarted.log" },
  },
  {
    name: "out of memory while loading, and started well since",
    files: { log: "past-out-of-memory.log" },
    ids: [],
    evidence: "",
  },
  {
    name: "words that only look like trouble",
    files: { log: "internet-timeout.log" },
    ids: [],
    evidence: "",
  },
  own("pinned-kv-cache", "2.25 GiB", {
    text: withServer(["kvCacheMemoryBytes", 21474836480]),
    edits: [[`${B}.kvCacheMemoryBytes`, undefined]],
    after: ({ settings }) =>
      expect(settings.inferenceServers.b?.kvCacheMemoryBytes).toBeUndefined(),
  }),
  {
    ...own("nv-err-no-memory", "NV_ERR_NO_MEMORY", {
      edits: [[`${B}.gpuMemoryUtilization`, 0.4]],
      needsStack: true,
    }),
    files: { dmesg: "nv-err-no-memory.dmesg" },
    editsAgain: [expect.objectContaining({ value: 0.35 })],
  },
  {
    name: "nv-err-no-memory beside a server that is well",
    files: { dmesg: "nv-err-no-memory.dmesg", log: "healthy.log" },
    ids: [],
    evidence: "",
  },
  {
    ...own("killed-for-memory", "VLLM::EngineCor", {
      edits: [[`${B}.gpuMemoryUtilization`, 0.4]],
      needsStack: true,
    }),
    files: { dmesg: "killed-for-memory.dmesg" },
    editsAgain: [expect.objectContaining({ value: 0.35 })],
  },
  own("stopped-at-the-floor", "1.20 GiB are available", {
    edits: [[`${B}.gpuMemoryUtilization`, 0.4]],
    needsStack: true,
    editsAgain: [expect.objectContaining({ value: 0.35 })],
  }),
  own("start-gate-closed", "closed: 3 starts within an hour failed", {
    change: "Fix what made them fail",
  }),
  {
    ...own("admission-refused", "(50.10/121.63 GiB)", {
      edits: [[`${B}.gpuMemoryUtilization`, 0.41]],
    }),
    name: "a start gate that was closed by starts that failed",
    files: { log: "admission-refused-and-closed.log" },
    ids: ["admission-refused", "start-gate-closed"],
  },
  own("start-gate-waits", "31.40 GiB are available", {
    change: "opens by itself once that much is available",
  }),
  {
    ...own("start-gate-waits", "does not answer", {
      change: "If A is gone, declare `instanceA: none`.",
    }),
    name: "start-gate-waits, for instance A",
    files: { log: "start-gate-waits-for-a.log" },
  },
  {
    ...own("start-gate-waits", "`npm run up` writes", {
      change: "No setting to change: apply the stack file.",
    }),
    name: "start-gate-waits, for its file",
    files: { log: "start-gate-waits-for-its-file.log" },
  },
  {
    ...own("start-gate-waits", "a number or a name in it is damaged", {
      change: "No setting to change: write the file again.",
      cause: "`serving drift` names the command that writes it anew",
    }),
    name: "start-gate-waits, for its file, which is damaged",
    files: { log: "start-gate-waits-for-a-damaged-file.log" },
  },
  {
    ...own("start-gate-closed", "closed: 3 starts within an hour failed", {
      change: "Fix what made them fail",
    }),
    name: "start-gate-closed, by one that ends with its budget",
    files: { log: "start-gate-ended.log" },
  },
  {
    name: "stopped at the floor, and started well since",
    files: { log: "past-floor.log" },
    ids: [],
    evidence: "",
  },
  own("killed", "exited with code 137", { change: "--dmesg" }),
  {
    ...own("killed", "open after 60 s, 60.00 GiB are available: the start before it broke off", {}),
    name: "killed, by a log that breaks off before Docker's next start",
    files: { log: "killed-and-restarted.log" },
  },
  {
    ...own("killed", "vLLM ended after 5025 s, by signal 9 (KILL)", { change: "--dmesg" }),
    name: "killed, by what the start gate says of its end",
    files: { log: "killed-gate-says.log" },
  },
  {
    name: "stops of a server in service, of one that loads, and of one that takes too long",
    files: { log: "stopped-gate-says.log" },
    ids: [],
    evidence: "",
  },
  {
    name: "ends with a code and without a word, between two starts: nothing killed it",
    files: { log: "ended-gate-says.log" },
    ids: [],
    evidence: "",
  },
  {
    ...own("killed", "engine core exited unexpectedly", { change: "--dmesg" }),
    name: "killed, by the engine's process that was killed with SIGKILL",
    files: { log: "vllm-0.30.0/engine-killed.log" },
  },
  {
    ...own("killed", "exit code 137, OOMKilled", {}),
    name: "killed, by the container's state",
    files: {},
    more: { containers: [container({ status: "exited", exitCode: 137, oomKilled: true })] },
  },
  {
    ...own("memory-exhausted", "1048576 kB", { edits: [[`${B}.gpuMemoryUtilization`, 0.4]] }),
    needsStack: true,
    files: { meminfo: "meminfo-exhausted" },
    editsAgain: [expect.objectContaining({ value: 0.35 })],
  },
  own("jit-killed", "code=137", {
    edits: [[`${B}.compileJobs`, 1]],
    needsStack: true,
    after: ({ plan }) => {
      expect(plan.containers[0]?.env.MAX_JOBS).toBe("1");
      expect(plan.containers[0]?.env.NINJA_JOBS).toBe("1");
    },
  }),
  {
    ...own("jit-killed", "nvcc", { edits: [[`${B}.compileJobs`, 2]] }),
    name: "jit-killed, the log ends and eight jobs were allowed",
    files: { log: "jit-killed-silent.log" },
    text: withServer(["compileJobs", 8]),
    editsAgain: [expect.objectContaining({ value: 1 })],
    after: ({ plan }) =>
      expect(plan.ledger.lines.some(({ name }) => name.endsWith(": compiling"))).toBe(false),
  },
  {
    ...own("jit-killed", "(cicc)", {
      edits: [[`${B}.compileJobs`, 2]],
    }),
    name: "jit-killed, by the kernel and with a bound of the operator's own",
    files: { dmesg: "jit-killed.dmesg" },
    text: withServer(["compileJobs", 16]),
    editsAgain: [expect.objectContaining({ value: 1 })],
    after: ({ plan }) => expect(plan.containers[0]?.env.MAX_JOBS).toBe("2"),
  },
  own("first-boot", "nvcc", { change: "do not kill it" }),
  own("engine-ready-timeout", "Waited 600s", {
    text: withServer(["environment", { VLLM_ENGINE_READY_TIMEOUT_S: "600" }]),
    edits: [[`${B}.environment.VLLM_ENGINE_READY_TIMEOUT_S`, undefined]],
    after: ({ plan }) => expect(plan.containers[0]?.env.VLLM_ENGINE_READY_TIMEOUT_S).toBe("3600"),
  }),
  {
    ...own("engine-ready-timeout", "Waited 600s", { change: "has it already" }),
    name: "engine-ready-timeout of an older container",
  },
  own("externally-managed-environment", "externally", { change: "virtual environment" }),
  own("numa-header-missing", "numa.h", {}),
  own("sm121-arch-list", "sm_121", {
    edits: [[`${B}.environment.TORCH_CUDA_ARCH_LIST`, "12.1a"]],
    after: ({ plan }) => expect(plan.containers[0]?.env.TORCH_CUDA_ARCH_LIST).toBe("12.1a"),
  }),
  own("no-kernel-image", "no kernel image", {}),
  own("source-build-unpinned", "0.30.1.dev0", {}),
  own("version-too-low", "0.19.2", {}),
  own("other-engine", "ServerArgs(", { command: "serving plan" }),
  own("unknown-vllm-variable", "VLLM_ATTENTION_BACKEND", {
    // A warning that vLLM survives.
    harmless: true,
    text: withServer(["environment", { VLLM_ATTENTION_BACKEND: "FLASHINFER" }]),
    edits: [
      [`${B}.environment.VLLM_ATTENTION_BACKEND`, undefined],
      [`${B}.attentionBackend`, "FLASHINFER"],
    ],
    after: ({ plan }) => {
      expect(plan.containers[0]?.env.VLLM_ATTENTION_BACKEND).toBeUndefined();
      expect(plan.containers[0]?.command).toEqual(
        expect.arrayContaining(["--attention-backend", "FLASHINFER"]),
      );
    },
  }),
  own("fp4-variable-without-backend", "VLLM_USE_FLASHINFER_MOE_FP4", {
    text: withServer(["moeBackend", undefined]),
    edits: [[`${B}.moeBackend`, "marlin"]],
  }),
  {
    ...own("inert-fp4-variable", "VLLM_USE_FLASHINFER_MOE_FP4", {
      change: "No setting to change.",
    }),
    name: "inert-fp4-variable, where the backend says what it meant",
    files: { log: "fp4-variable-without-backend.log" },
    harmless: true,
  },
  {
    ...own("thinking-parameter-refused", "Unknown parameter: 'thinking'", { change: "asks again" }),
    name: "thinking-parameter-refused, the other parameter",
    files: { log: "thinking-parameter-unknown.log" },
  },
  own("torch-mismatch", "but you have torch 2.13.0", { change: "fresh virtual environment" }),
  {
    ...own("torch-mismatch", "undefined symbol: _ZN3c104cuda", {}),
    name: "torch-mismatch, when the module is loaded",
    files: { log: "torch-symbol.log" },
  },
  {
    ...own("tool-parser-mismatch", "tool_calls: [] with XML in content", {
      change: "one parser",
    }),
    name: "tool-parser-mismatch, in somebody's words",
    files: { log: "tool-parser-words.log" },
  },
  {
    ...own("tool-parser-mismatch", "content='<tool_call>", {
      change: "one parser",
    }),
    name: "tool-parser-mismatch, as Python prints an answer",
    files: { log: "tool-parser-python.log" },
  },
  {
    ...own("tokenizer-truncation", "model_max_length", { change: "tokenizer.json" }),
    name: "tokenizer-truncation in tokenizer_config.json",
    files: { log: "tokenizer-config-truncation.log" },
  },
  {
    ...own("ollama-models-in-volume", "/var/lib/docker/volumes/open-webui-ollama/_data", {}),
    name: "ollama-models-in-volume, by the path that models are written to",
    files: { log: "ollama-volume-path.log" },
  },
  {
    ...own("prefix-cache-cold", "Prefix cache hit rate: 0.0%", {
      edits: [
        [
          "clients.claudeCode",
          { via: "native", environment: { CLAUDE_CODE_ATTRIBUTION_HEADER: "0" } },
        ],
      ],
    }),
    name: "prefix-cache-cold, with the header in sight",
    files: { log: "prefix-cache-header.log" },
  },
  {
    ...own("prefix-cache-cold", "probe prefix-reuse: 0 %", {
      edits: [[`${B}.prefixCaching`, true]],
    }),
    name: "prefix-cache-cold, by its probe where it is off",
    files: { log: "prefix-cache-probe.log" },
    text: withServer(["prefixCaching", false]),
    needsStack: true,
    after: ({ plan }) => expect(plan.containers[0]?.command).toContain("--enable-prefix-caching"),
  },
  {
    name: "a cold prefix cache by the probe alone, where it is on",
    files: { log: "prefix-cache-probe.log" },
    ids: [],
    evidence: "",
  },
  own("thinking-parameter-refused", "chat_template_kwargs", { change: "asks again" }),
  own("gated-model", "gated repo", {
    edits: [[`${B}.huggingFaceTokenVariable`, "HF_TOKEN"]],
  }),
  own("model-not-in-cache", "huggingface.co", {}),
  own("transformers-too-old", "does not recognize", {}),
  own("no-gpu-runtime", "select device driver", {}),
  own("image-not-found", "manifest unknown", {}),
  {
    ...own("docker-unreachable", "permission denied", {}),
    files: {},
    more: { dockerProblem: "docker ps failed: permission denied" },
  },
  {
    ...own("gpu-slowed", "96 % busy, 870 of 3003 MHz", {
      cause: "a state of low power",
      change: "plug",
    }),
    files: {},
    more: defined({
      gpu: gpuIn("96, 870, 3003, 62, 31.4, Not Active, Not Active, Not Active, Not Active"),
    }),
  },
  {
    ...own("gpu-slowed", "92 °C", { cause: "heat (the driver's limit)", change: "-lgc" }),
    name: "gpu-slowed, by heat",
    files: {},
    more: defined({
      gpu: gpuIn("96, 1800, 3003, 92, 31.4, Not Active, Not Active, Active, Not Active"),
    }),
  },
  {
    name: "a GPU that nothing holds back",
    files: {},
    ids: [],
    evidence: "",
    more: defined({
      gpu: gpuIn("96, 2405, 3003, 71, 58.2, Not Active, Not Active, Not Active, Not Active"),
    }),
  },
  {
    ...own("other-stack", "containers: open-webui-8080; network: local-serving", {
      cause:
        "Another stack is applied here, which calls this machine `spark`. It has `open-webui-8080`, the network `local-serving`.",
      change: "Edit the stack file of that machine, or run `serving down` in its folder first.",
    }),
    files: {},
    more: {
      otherStack: {
        machines: ["spark"],
        containers: ["open-webui-8080"],
        network: "local-serving",
      },
    },
  },
  {
    ...own("other-stack", "containers: none; network: local-serving", {
      change: "run `docker network rm local-serving`",
    }),
    name: "other-stack, whose network alone is left",
    files: {},
    more: { otherStack: { machines: [], containers: [], network: "local-serving" } },
  },
  {
    ...own("container-not-running", "containers: open-webui", { change: "apply the stack file" }),
    files: {},
    more: { containers: [container({ name: "open-webui" })], allContainers: true },
  },
  {
    ...own("container-not-running", "exited, exit code 143", {
      command: "serving start b && serving status --wait",
      caughtBy:
        "`serving status` and `serving status --against applied`; a preview warns of one that is stopped",
    }),
    name: "container-not-running, stopped by hand",
    files: {},
    more: { containers: [container({ status: "exited", exitCode: 143 })], allContainers: true },
  },
  {
    ...own("container-not-running", "exited, exit code 0", {
      cause: "but its engine had died before",
    }),
    name: "container-not-running, that ended with 0 because its engine had died",
    files: {},
    more: {
      logs: [logWith("EngineDeadError")],
      containers: [container({ status: "exited", exitCode: 0 })],
      allContainers: true,
    },
  },
  {
    name: "containers that were given and are not all there are",
    files: {},
    ids: [],
    evidence: "",
    more: { containers: [container({ name: "open-webui" })] },
  },
  {
    ...own("network-off", "not on local-serving: vllm-b", {
      cause: "vllm-b isn't on the Docker network local-serving, so nothing on it reaches it.",
      change: "`serving status --against applied` prints what joins the network again.",
      command: "serving status --against applied",
    }),
    files: {},
    more: {
      offNetworks: [{ container: "vllm-b", network: "local-serving", removed: false, runs: true }],
    },
  },
  {
    ...own("network-off", "not on local-serving: vllm-b", {
      cause: "The Docker network local-serving was removed, so nothing reaches vllm-b.",
      command: "serving up --refresh",
    }),
    name: "network-off, removed",
    files: {},
    more: {
      offNetworks: [{ container: "vllm-b", network: "local-serving", removed: true, runs: true }],
    },
  },
  {
    ...own("stale-file", "50-local-serving.conf: missing", {
      change: "commands that the plan prints",
    }),
    name: "stale-file, root's",
    files: {},
    more: {
      files: [
        {
          role: "simple-server-dropin",
          path: "/etc/systemd/system/ollama.service.d/50-local-serving.conf",
          state: "missing",
        },
      ],
    },
  },
  {
    ...own("stale-file", "/home/me/.local-serving/clients/client.env: different", {}),
    files: {},
    more: {
      files: [
        {
          role: "client-env",
          path: "/home/me/.local-serving/clients/client.env",
          state: "different",
        },
      ],
    },
  },
  {
    ...own("stale-file", "/home/me/x.env: different", {
      cause: "The stack file has changes that aren't applied: a file is as the last `up` wrote it.",
      command: "serving plan --against applied && serving up",
    }),
    name: "stale-file, as it was applied",
    files: {},
    more: {
      files: [{ role: "client-env", path: "/home/me/x.env", state: "different" }],
      filesAsApplied: ["/home/me/x.env"],
    },
  },
  {
    ...own("aggregate-above-limit", "0.92", { edits: [[`${B}.gpuMemoryUtilization`, 0.54]] }),
    files: {},
    text: withServer(["gpuMemoryUtilization", 0.56]),
    after: ({ plan }) => expect(plan.ledger.aggregateUtilization).toBeLessThanOrEqual(0.9),
  },
  {
    name: "stack-file-faulty",
    files: {},
    ids: ["stack-file-faulty"],
    evidence: "Pulumi.dgx.yaml:7:3 machines.dgx.x: Unknown key",
    change: "Fix these faults first.",
    more: {
      stackProblem: {
        file: "/stacks/Pulumi.dgx.yaml",
        faults: ["Pulumi.dgx.yaml:7:3 machines.dgx.x: Unknown key `x`."],
      },
    },
  },
  {
    ...own("plan-refused", "slash", {}),
    files: {},
    text: withServer(["servedModelName", "org/model"]),
  },
  {
    ...own("total-memory-differs", "MemTotal", { edits: [["totalGiB", 62.5]] }),
    files: { meminfo: "meminfo-other-machine" },
    needsStack: true,
    after: ({ plan }) => expect(plan.ledger.totalGiB).toBe(62.5),
  },
  own("tool-parser-mismatch", "<function=get_weather>", { change: "one parser" }),
  {
    ...own("tool-parser-mismatch", "<function=get_weather>", {
      text: withServer(["tools.parser", "hermes"]),
      edits: [[`${B}.tools.parser`, "qwen3_coder"]],
      after: ({ plan }) =>
        expect(plan.containers[0]?.command).toEqual(
          expect.arrayContaining(["--tool-call-parser", "qwen3_coder"]),
        ),
    }),
    name: "tool-parser-mismatch, of another parser",
  },
  {
    ...own("tool-parser-mismatch", "Error in extracting tool call", {
      text: withServer(["tools.parser", "hermes"]),
      edits: [[`${B}.tools.parser`, "auto"]],
    }),
    name: "tool-parser-mismatch, vLLM's parser fails while the server goes on",
    files: { log: "tool-parser-raises.log" },
  },
  {
    ...own("tool-parser-mismatch", "Error in extracting tool call", {
      text: withServer(["tools.parser", "hermes"], ["model.family", "other"]),
      change: "set `tools.parser` to the parser that reads it",
    }),
    name: "tool-parser-mismatch, of a family that is not known",
    files: { log: "tool-parser-raises.log" },
  },
  {
    ...own("tool-parser-mismatch", "get_weather", { edits: [[`${B}.tools.parser`, "hermes"]] }),
    name: "tool-parser-mismatch, the calls are JSON",
    files: { log: "tool-parser-hermes.log" },
  },
  {
    ...own("tool-parser-mismatch", "<function=get_weather>", {
      edits: [[`${B}.tools.autoChoice`, true]],
    }),
    name: "tool-parser-mismatch, automatic choice is off",
    text: withServer(["tools.autoChoice", false]),
  },
  {
    ...own("tool-parser-mismatch", "<tool_call>", { edits: [[`${B}.tools.parser`, "hermes"]] }),
    name: "tool-parser-mismatch, an answer without the field tool_calls",
    files: { log: "tool-parser-no-field.log" },
    cause: "tool calls came as text",
  },
  {
    ...own("tool-parser-mismatch", '"content":null', {
      change: "one parser",
    }),
    name: "tool-parser-mismatch, the call was swallowed",
    files: { log: "tool-parser-swallowed.log" },
    cause: "tool calls never came",
  },
  {
    ...own("reasoning-parser-intercepts", '"content":null', {
      edits: [[`${B}.model.thinking`, false]],
    }),
    name: "reasoning-parser-intercepts, all of an answer",
    files: { log: "reasoning-parser-takes-answer.log" },
    cause: "takes the model's answers for reasoning",
  },
  own("reasoning-parser-intercepts", "I will look it up", {
    edits: [[`${B}.model.thinking`, false]],
    after: ({ plan }) => expect(plan.containers[0]?.command).not.toContain("--reasoning-parser"),
  }),
  own("unknown-parser", "qwen4", {
    ids: ["unknown-parser", "plan-refused"],
    text: withServer(["tools.parser", "qwen4"]),
    edits: [[`${B}.tools.parser`, "auto"]],
    after: ({ plan }) =>
      expect(plan.containers[0]?.command).toEqual(
        expect.arrayContaining(["--tool-call-parser", "qwen3_coder"]),
      ),
  }),
  own("tool-choice-without-parser", "--tool-call-parser", {
    text: withServer(["model.family", "qwen3-next-instruct"], ["tools.parser", "auto"]),
    edits: [[`${B}.tools.parser`, "hermes"]],
  }),
  own("thinking-in-content", "</think>", {
    text: withServer(["model.thinking", false]),
    edits: [[`${B}.model.thinking`, true]],
    after: ({ plan }) =>
      expect(plan.containers[0]?.command).toEqual(
        expect.arrayContaining(["--reasoning-parser", "qwen3"]),
      ),
  }),
  own("system-role-refused", "must be at the beginning", {
    edits: [
      ["bridge.image", expect.stringMatching(/litellm:v1\.103\.0@sha256:/)],
      ["clients.claudeCode.via", "bridge"],
    ],
    after: ({ plan }) => expect(plan.bridge?.container.image).toContain("litellm:v1.103.0"),
  }),
  {
    ...own("system-role-refused", "'user' or 'assistant'", {
      edits: [
        ["bridge.image", expect.stringMatching(/litellm:v1\.103\.0@sha256:/)],
        ["clients.claudeCode.via", "bridge"],
      ],
    }),
    name: "system-role-refused by the schema",
    files: { log: "system-role-refused-schema.log" },
  },
  own("native-path-fails", "end_turn", {
    edits: [
      ["bridge.image", expect.stringMatching(/litellm:v1\.103\.0@sha256:/)],
      ["clients.claudeCode.via", "bridge"],
    ],
    change: "+          via: bridge",
  }),
  {
    ...own("probe-failed", "probe chat-tools: no call", {}),
    name: "a native path that fails where tools work nowhere",
    files: { log: "native-path-fails.log" },
    more: { probes: [{ name: "chat-tools", status: "fail", detail: "no call", fix: "" }] },
  },
  own("prefix-cache-cold", "Prefix cache hit rate: 0.2%", {
    text: withServer(["prefixCaching", false]),
    edits: [[`${B}.prefixCaching`, true]],
    editsAgain: [
      expect.objectContaining({
        value: { via: "native", environment: { CLAUDE_CODE_ATTRIBUTION_HEADER: "0" } },
      }),
    ],
    after: ({ plan }) => expect(plan.containers[0]?.command).toContain("--enable-prefix-caching"),
  }),
  own("bridge-generic-prefix", "212 validation errors", {
    change: "write `model: hosted_vllm/<served name>`",
  }),
  own("bridge-without-key", "refused to start", { change: "LITELLM_MASTER_KEY" }),
  own("bridge-wrong-key", "No connected db", {}),
  own("bridge-cooldown", "No deployments available", {}),
  own("bridge-upstream-down", `${CONTAINER}:8001`, {}),
  {
    ...own("bridge-upstream-down", `${CONTAINER}:8001`, { change: "Nothing to change." }),
    name: "bridge-upstream-down, while the server was replaced",
    cause: `Nothing answered the bridge at ${CONTAINER}:8001 while the server was down or starting; it is healthy now.`,
    more: { containers: [container({ health: "healthy" })] },
  },
  own("bridge-compromised", "1.82.7", {}),
  own("unpinned-tier", "claude-haiku-5-5", {
    edits: [["clients.claudeCode", { via: "native" }]],
  }),
  {
    name: "the tier that `serving verify` asks for, to be refused",
    files: { log: "asked-by-verify.log" },
    ids: [],
    evidence: "",
  },
  own("wrong-base-url", "/v1/v1/messages", {}),
  {
    ...own("window-exceeded", "at least 32769 input tokens", { change: "Raise `maxModelLen`" }),
    name: "window-exceeded by a prompt that was not counted to its end",
    files: { log: "window-exceeded-at-least.log" },
    text: withServer(["maxModelLen", 32768]),
  },
  {
    ...own("window-exceeded", "contains 1310778 characters", { change: "Raise `maxModelLen`" }),
    name: "window-exceeded by a prompt whose characters alone were counted",
    files: { log: "window-exceeded-characters.log" },
    text: withServer(["maxModelLen", 65536]),
  },
  {
    ...own("other-window", "maximum context length is 65536 tokens", {
      cause: "The server runs with a window of 65536 tokens, but the stack file says 262144.",
      change: "Apply the stack file: `serving up`.",
    }),
    name: "other-window: a window that is smaller than the declared one isn't to be raised",
    files: { log: "window-exceeded-characters.log" },
    needsStack: true,
  },
  own("window-exceeded", "262144 tokens", {
    edits: [[`${B}.maxModelLen`, 272384]],
    after: ({ settings }) =>
      expect(settings.inferenceServers.b?.maxModelLen).toBeGreaterThanOrEqual(272000),
  }),
  own("client-key-unset", "LOCAL_SERVING_API_KEY", {}),
  own("client-wire-api", "wire_api", {}),
  own("tokenizer-truncation", "2048", { change: "tokenizer.json" }),
  {
    ...own("update-refused", "preflight of dgx: /srv/models can't be used.", {
      command: "serving up",
      caughtBy: "the preflight of `up`",
    }),
    files: {},
    more: {
      update: { refused: ["preflight of dgx: /srv/models can't be used."], isApplied: false },
    },
  },
  own("ollama-on-loopback", "192.168.1.50:11434", {
    edits: [["simpleServer", { mode: "host", listen: "172.17.0.1" }]],
    advice:
      "172.17.0.1 is the address of Docker's own bridge (`ip -4 address show docker0`). Ollama asks for no key, so the network stays closed to it: other computers reach its models through the bridge, with a key (`bridge.listen: 0.0.0.0`, `bridge.keyVariable`).",
  }),
  {
    ...own("ollama-on-loopback", "192.168.1.50:11434", {
      edits: [["simpleServer.listen", "172.17.0.1"]],
    }),
    name: "ollama-on-loopback, declared so",
    text: withMachine(["simpleServer", { mode: "host", listen: "127.0.0.1" }]),
    after: ({ plan }) =>
      expect(plan.files.find(({ role }) => role === "simple-server-dropin")?.text).toContain(
        "OLLAMA_HOST=172.17.0.1:11434",
      ),
  },
  {
    ...own("ollama-on-loopback", "192.168.1.50:11434", {
      cause: "Ollama listens on 172.17.0.1, which our containers reach and other computers don't.",
      change: "through the bridge, with a key",
    }),
    name: "ollama-on-loopback, asked from the network as doctor has it",
    text: withMachine(["simpleServer", { mode: "host", listen: "172.17.0.1" }]),
  },
  {
    ...own("ollama-on-loopback", "127.0.0.1:11434 is all that listens", { change: "drop-in" }),
    name: "ollama-on-loopback, by its socket and against the declaration",
    files: {},
    text: withMachine(["simpleServer", { mode: "host", listen: "0.0.0.0" }]),
    more: { sockets: [{ address: "127.0.0.1", port: 11434 }] },
  },
  {
    name: "an Ollama on loopback, by choice",
    files: {},
    ids: [],
    evidence: "",
    text: withMachine(["simpleServer", { mode: "host", listen: "127.0.0.1" }]),
    more: { sockets: [{ address: "127.0.0.1", port: 11434 }] },
  },
  own("port-taken", "11434", {}),
  {
    ...own("port-taken", "127.0.0.1:8001", {}),
    name: "port-taken of a container",
    files: { log: "port-taken-docker.log" },
  },
  own("ollama-models-in-volume", "/root/.ollama/models", {}),
  {
    ...own("ollama-models-in-volume", "open-webui-ollama at /root/.ollama", {}),
    name: "ollama-models-in-volume, by a container that runs",
    files: {},
    more: {
      containers: [
        container(),
        container({
          name: "open-webui",
          image: "ghcr.io/open-webui/open-webui:ollama",
          mounts: [{ type: "volume", source: "open-webui-ollama", target: "/root/.ollama" }],
        }),
      ],
    },
  },
  own("ollama-on-cpu", "library=cpu", {}),
  own("ollama-models-unreachable", "/data/models", {}),
  own("address-changed", "192.168.1.50", { edits: [["clients.host", "dgx.local"]] }),
  {
    ...own("address-changed", "the machine has 127.0.0.1, 192.168.1.77", {
      edits: [
        ["clients.host", "dgx.local"],
        ["bridge.listen", "0.0.0.0"],
        ["inferenceServers.b.listen", "127.0.0.1"],
      ],
    }),
    name: "address-changed, by the machine's own addresses: the bridge is published, the server is not",
    files: {},
    text: withMachine(
      ["inferenceServers.b.listen", "192.168.1.50"],
      ["bridge", { image: BRIDGE_IMAGE, listen: "192.168.1.50", keyVariable: "BRIDGE_KEY" }],
      ["clients", { host: "192.168.1.50", codex: { via: "bridge" } }],
    ),
    more: { addresses: ["127.0.0.1", "192.168.1.77"] },
    after: ({ plan }) => {
      const published = plan.containers.map(({ role, ports }) => [
        role,
        ...ports.map(({ ip }) => ip),
      ]);
      expect(published).toEqual([
        ["inference-server", "127.0.0.1"],
        ["bridge", "0.0.0.0"],
      ]);
    },
  },
  {
    ...own("system-role-refused", "must be at the beginning", {
      edits: [
        ["bridge.messagesPath", "translate"],
        ["clients.claudeCode.via", "bridge"],
      ],
    }),
    name: "system-role-refused, with a bridge that passes through",
    text: withMachine(
      ["bridge", { image: BRIDGE_IMAGE, messagesPath: "passThrough" }],
      ["clients", { claudeCode: { via: "native" } }],
    ),
  },
  {
    ...own("native-path-fails", "end_turn", { edits: [["clients.claudeCode.via", "bridge"]] }),
    name: "native-path-fails, with a bridge",
    text: withMachine(
      ["bridge", { image: BRIDGE_IMAGE }],
      ["clients", { claudeCode: { via: "native" } }],
    ),
  },
  {
    ...own("bridge-compromised", "1.82.7", { change: "v1.103.0" }),
    name: "bridge-compromised, ours",
    text: withMachine(["bridge", { image: BRIDGE_IMAGE }]),
    edits: [["bridge.image", expect.stringContaining("litellm:v1.103.0@sha256:")]] as const,
  },
  {
    ...own("unpinned-tier", "claude-haiku-5-5", {
      edits: [["clients.claudeCode.environment.ANTHROPIC_DEFAULT_HAIKU_MODEL", undefined]],
    }),
    name: "unpinned-tier, pinned to something else",
    // Here the plan knows it too, and has nothing against it any more once it is changed.
    ids: ["unpinned-tier", "plan-refused"],
    text: withMachine([
      "clients",
      {
        claudeCode: {
          via: "native",
          environment: { ANTHROPIC_DEFAULT_HAIKU_MODEL: "claude-haiku-5-5" },
        },
      },
    ]),
  },
  {
    ...own("window-exceeded", "262144 tokens", {
      edits: [["clients.claudeCode.maxOutputTokens", 22144]],
    }),
    name: "window-exceeded by a client that is bounded",
    text: withMachine(["clients", { claudeCode: { via: "native" } }]),
  },
  {
    ...own("address-changed", "the machine has 127.0.0.1, 192.168.1.77", {
      edits: [["simpleServer.listen", "172.17.0.1"]],
      advice:
        "Give the machine a DHCP reservation, or use its mDNS name (here `dgx.local`; `hostname` says which). 172.17.0.1 is the address of Docker's own bridge (`ip -4 address show docker0`). Ollama asks for no key, so the network stays closed to it: other computers reach its models through the bridge, with a key (`bridge.listen: 0.0.0.0`, `bridge.keyVariable`).",
    }),
    name: "address-changed, of Ollama: it isn't opened to every network",
    files: {},
    text: withMachine(["simpleServer", { mode: "host", listen: "192.168.1.50" }]),
    more: { addresses: ["127.0.0.1", "192.168.1.77"] },
  },
  {
    ...own("dockers-bridge-elsewhere", "the machine has 127.0.0.1, 10.200.0.1", {
      change: "write the address of `docker0` as `simpleServer.listen`",
    }),
    files: {},
    text: withMachine(["simpleServer", { mode: "host", listen: "172.17.0.1" }]),
    more: { addresses: ["127.0.0.1", "10.200.0.1"] },
  },
  {
    name: "an Ollama on Docker's own bridge, as it should be",
    files: {},
    ids: [],
    evidence: "",
    text: withMachine(["simpleServer", { mode: "host", listen: "172.17.0.1" }]),
    more: { addresses: ["127.0.0.1", "172.17.0.1"] },
  },
  {
    ...own("bridge-interface-address", "172.17.0.1", { edits: [["clients.host", "dgx.local"]] }),
    files: {},
    text: withMachine(["clients.host", "172.17.0.1"]),
  },

  ...Object.entries(REAL_STARTS).map(([name, { id, ...more }]) => ({
    name: `${name}, as vLLM 0.30.0 logs it`,
    files: { log: `vllm-0.30.0/${name}.log` },
    ids: [id],
    ...more,
  })),

  {
    name: "adapter-rank where the stack file says the rank of the slots",
    files: { log: "vllm-0.30.0/adapter-rank.log" },
    ids: ["adapter-rank"],
    evidence: "LoRA rank 16 is greater than max_lora_rank 8",
    text: withServer(
      ["adapters", [{ name: "mine", path: "/data/mine", rank: 8 }]],
      ["maxLoraRank", 8],
    ),
    edits: [["inferenceServers.b.maxLoraRank", undefined]],
  },

  ...CLIENTS,
  ...OLLAMA,
  ...ON_DEMAND,
  ...SAID,

  own("rank-gone", "Connection reset by peer", { cause: "(10.77.0.2)" }),
  {
    ...own("rank-gone", '"should dump" flag on TCPStore', {}),
    name: "rank-gone, as torch's store says it",
    files: { log: "rank-gone-store.log" },
  },
  {
    ...own("rank-gone", "stopped for the rank on dgx2", {
      cause: "(the rank on dgx2: it has ended)",
    }),
    name: "rank-gone, as the start gate says it",
    files: { log: "rank-gone-gate.log" },
  },
  own("rank-orphaned", "Connection closed by peer [10.77.0.1]", {
    change: "ends it after a minute",
  }),
  {
    ...own("rank-orphaned", "has not answered for 60 s", {}),
    name: "rank-orphaned, as the start gate says it",
    files: { log: "rank-orphaned-gate.log" },
  },
  own("rank-waits", "192.168.100.12:29502 does not answer", { change: "Start that machine" }),
  {
    ...own("rank-waits", "it has other arguments", {
      change: "No setting to change: apply the stack file",
    }),
    name: "rank-waits, for one with another mark",
    files: { log: "rank-waits-mark.log" },
  },
  {
    ...own("rank-waits", "it does not see this one", { change: "in both directions" }),
    name: "rank-waits, for one that a firewall keeps apart",
    files: { log: "rank-waits-firewall.log" },
  },
  {
    ...own("rank-waits", "it can't start", { change: "That rank's log says what it waits for" }),
    name: "rank-waits, for one without memory",
    files: { log: "rank-waits-memory.log" },
  },
  {
    ...own("rank-waits", "enp1s0f1np1 is down", { change: "Look at the cable" }),
    name: "rank-waits, for its link",
    files: { log: "rank-waits-link.log" },
  },
  {
    ...own("rank-waits", "the gate can't listen on 192.168.100.11:29502", {
      change: "`link.address`",
    }),
    name: "rank-waits, for an address that isn't there",
    files: { log: "rank-waits-address.log" },
  },
  {
    name: "a rank that waited for another and started since",
    files: { log: "rank-waited.log" },
    ids: [],
    evidence: "",
  },
  ...["head", "worker"].map((rank) => ({
    name: `a healthy ${rank} of two ranks, with lines that look like trouble`,
    files: { log: `two-ranks-${rank}.log` },
    ids: [],
    evidence: "",
  })),
  own("rank-never-came", "1/2 clients joined", { cause: "Only 1 of 2 ranks came within 1801 s" }),
  own("rank-address-wrong", "using 0.0.0.0 by default", {
    text: withServer(["environment", { VLLM_HOST_IP: "127.0.0.1" }]),
    edits: [[`${B}.environment.VLLM_HOST_IP`, undefined]],
    after: ({ plan }) => expect(plan.containers[0]?.env.VLLM_HOST_IP).toBeUndefined(),
  }),
  {
    ...own("rank-address-wrong", "CustomAllreduce is disabled", {
      text: withServer(["environment", { VLLM_HOST_IP: "192.168.1.50" }]),
      edits: [[`${B}.environment.VLLM_HOST_IP`, undefined]],
    }),
    name: "rank-address-wrong, by a log that ends where the ranks are to meet",
    files: { log: "rank-address-silent.log" },
  },
  own("link-pairing", "ibv_modify_qp failed with 110", { change: "`link.hcas`" }),
  own("link-pinned-memory", "ibv_reg_mr_iova2", { change: "kho=off" }),
  own("link-gid", "vendor err 129", { change: "`link.gidIndex`" }),
  {
    ...own("link-gid", "unhandled system error", { change: "`link.gidIndex`" }),
    name: "link-gid, where NCCL says no more",
    files: { log: "link-gid-nccl.log" },
  },
  {
    ...own("link-card-lost", "mlx5_pci_slot_reset", { change: "reboot" }),
    files: { dmesg: "link-card-lost.dmesg" },
  },
  own("ranks-differ", "could not broadcast input array", {
    change: "Apply it, which replaces them",
  }),
  {
    ...own("ranks-differ", "KV cache specs for the same layer", {}),
    name: "ranks-differ, by their models",
    files: { log: "ranks-differ-model.log" },
  },
  own("rank-stalled", "RPC call to sample_tokens timed out", {
    change: "see as well whether the link is up",
  }),
  {
    ...own("rank-stalled", "RPC call to sample_tokens timed out", {
      edits: [[`${B}.environment.VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS`, undefined]],
    }),
    name: "rank-stalled, with a bound of the operator's own",
    text: withServer(["environment", { VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS: "300" }]),
  },
  {
    ...own("rank-stalled", "probe ranks-answer: stalled", {
      cause: "(no token) did not end in time",
    }),
    name: "rank-stalled, as `serving verify` finds it",
    files: { log: "rank-stalled-probe.log" },
  },
  own("worker-process-died", "VllmWorker-0 died unexpectedly", {
    change: "lower `gpuMemoryUtilization`",
  }),
  own("world-size-above-gpus", "World size (2)", { cause: "over 2 GPUs, and this machine has 1" }),
  own("ray-executor", "ray: command not found", { change: "`nodes`" }),
  {
    ...own("ray-executor", "creating a placement group of specs for 640 seconds", {
      cause: "640 s for a GPU on the node 192.168.100.11, which is what vLLM takes",
      change: "set VLLM_HOST_IP on each machine",
    }),
    name: "ray-executor, that waits for a placement group",
    files: { log: "ray-placement-group.log" },
  },
  {
    ...own("ray-executor", "Overwriting environment variable NCCL_IB_HCA", {}),
    name: "ray-executor, that overwrites a machine's variables",
    files: { log: "ray-variables.log" },
  },
  own("vllm-port-set", "ZMQError: Address already in use", {
    text: withServer(["environment", { VLLM_PORT: "40043" }]),
    edits: [[`${B}.environment.VLLM_PORT`, undefined]],
  }),
  {
    ...own("engine-said", "Address already in use (addr='tcp://*:5557')", {
      text: withServer(["environment", { VLLM_PORT: "40043" }]),
    }),
    name: "a port of all interfaces, which an argument named",
    files: { log: "said/events-port.log" },
  },
  own("semaphores-removed", "SemLock._rebuild", { change: "--ipc=host" }),
  own("page-cache-counted", "exceeds device memory budget", { change: "drop the page cache" }),
  {
    ...own("batch-below-window", "max_num_batched_tokens (8192)", {
      text: withServer(["chunkedPrefill", false]),
      edits: [[`${B}.chunkedPrefill`, true]],
    }),
    ids: ["batch-below-window", "plan-refused"],
  },
  own("attention-kernel-missing", "pe_dim must be 64", { change: "built for the model" }),
  own("permission-denied", "/models/dense/model.safetensors", { change: "give the files" }),
  own("cuda-illegal-access", "illegal memory access", { change: "pin another release" }),
  {
    ...own("cuda-illegal-access", "illegal memory access", {
      edits: [[`${B}.speculative`, undefined]],
    }),
    name: "cuda-illegal-access, with speculative decoding",
    text: withServer(["speculative", { method: "mtp", numSpeculativeTokens: 2 }]),
  },
  {
    ...own("cuda-illegal-access", "device-side assert triggered", {
      change:
        "(mtp, 3 tokens a step), with which this was seen more often than without: start it without `speculative`",
    }),
    name: "cuda-illegal-access, with drafts that the log alone shows",
    files: { log: "cuda-assert-with-drafts.log" },
  },
  own("unknown", "EngineCore is not there", { change: "docker inspect" }),
  own("engine-said", "flux capacitor", {
    cause: "vLLM ended: the flux capacitor is misaligned.",
    change: "Look at line 6 of EngineCore pid=274",
  }),
  {
    ...own("engine-said", "flux capacitor", {}),
    name: "engine-said, beside a variable that does nothing",
    files: { log: "engine-said-beside-variable.log" },
    ids: ["engine-said", "fp4-variable-without-backend"],
    text: withServer(["moeBackend", undefined]),
  },
  {
    ...own("engine-said", "flux capacitor", {}),
    name: "engine-said, beside a bridge that found no server",
    files: { log: "engine-said-beside-bridge.log" },
    ids: ["engine-said", "bridge-upstream-down"],
  },
  {
    ...own("engine-said", "RuntimeError: the flux capacitor", {
      cause: "vLLM served, then ended: the flux capacitor is misaligned.",
    }),
    name: "engine-said, by the cause and not by what points to it",
    files: { log: "engine-dead.log" },
  },
  {
    ...own("unknown", "exit code 3", { change: "docker inspect" }),
    name: "unknown, by the container's state alone",
    files: {},
    more: { containers: [container({ status: "restarting", exitCode: 3, restartCount: 12 })] },
  },
];
