import { describe, expect, it } from "vitest";
import { SIGNS } from "../../../cli/rules/registry";
import { reportsOf } from "../../../cli/rules/report";
import { scanLog } from "../../../cli/sees/log/scanLog";
import { pinnedServer } from "../../../components/supply";
import { container } from "./cases";
import { ofLines } from "./ofLines";

const BUILD =
  "is a development build and not a release: nobody else runs it, and nobody can build it again.";
const LOW = "is below 0.26.0, the lowest that runs here";
const ONLY = "Only vLLM is planned here: start";
const MEMORY = "yourself, and declare its memory as the machine's `otherGpuMemoryGiB`.";

describe("the version comes first", () => {
  it.each([
    [
      "vLLM's own line",
      "INFO 11-02 08:00:01 [api_server.py:1971] vLLM API server version 0.22.1",
      `vLLM 0.22.1 ${LOW}.`,
    ],
    [
      "the picture at its start",
      "(APIServer pid=1) INFO [utils.py:299]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.19.2",
      `vLLM 0.19.2 ${LOW}.`,
    ],
    ["NVIDIA's words in front", "vLLM Version 0.10.2+9dd9ca32", `vLLM 0.10.2+9dd9ca32 ${LOW}.`],
    [
      "the engine's line",
      "INFO [core.py:93] Initializing a V1 LLM engine (v0.21.0) with config: model='org/m'",
      `vLLM 0.21.0 ${LOW}.`,
    ],
    ["what collect_env prints", "vLLM Version                 : 0.24.0", `vLLM 0.24.0 ${LOW}.`],
    ["a release candidate", "vLLM API server version 0.26.0rc1", `vLLM 0.26.0rc1 ${LOW}.`],
    [
      "a development build below the floor, all at once",
      "vLLM API server version 0.26.0rc2.dev5+g0123456",
      `vLLM 0.26.0rc2.dev5+g0123456 ${LOW}, and is a development build.`,
    ],
    [
      "a development build",
      "vLLM API server version 0.28.1.dev12+gabc1234de",
      `This vLLM (0.28.1.dev12+gabc1234de) ${BUILD}`,
    ],
    [
      "a build that counts from nothing",
      "vLLM API server version 0.1.dev3820+g27244b2.d20241225",
      `This vLLM (0.1.dev3820+g27244b2.d20241225) ${BUILD}`,
    ],
    ["one that was never installed", "vLLM API server version dev", `This vLLM (dev) ${BUILD}`],
    [
      "SGLang",
      "[2026-11-02 10:00:00] server_args=ServerArgs(model_path='org/m', port=30000)",
      "This is a log of SGLang, and not of vLLM.",
    ],
    [
      "llama.cpp",
      "build: 6721 (c1b187688) with cc (Ubuntu 13.3.0) for aarch64-linux-gnu",
      "This is a log of llama.cpp, and not of vLLM.",
    ],
    [
      "TensorRT-LLM",
      "[TensorRT-LLM] TensorRT LLM version: 1.2.0",
      "This is a log of TensorRT-LLM, and not of vLLM.",
    ],
  ])("%s", async (_, line, cause) => {
    expect((await ofLines(line)).map((each) => each.cause)).toEqual([cause]);
  });

  it("says where another engine belongs, and what to pin", async () => {
    const [sglang] = await ofLines("python3 -m sglang.launch_server --model-path org/m");
    expect(sglang?.advice).toBe(`${ONLY} SGLang ${MEMORY}`);
    const [low] = await ofLines("vLLM API server version 0.22.1");
    expect(low?.command).toBe(`serving pin ${pinnedServer().image.split("@")[0]}`);
    expect(low?.advice).toBe(
      "Pin vLLM 0.26.0 or newer and put the printed lines into the stack file. What follows is of the old release, and may be mended with it.",
    );
  });

  it("hides nothing else: what the program died of follows", async () => {
    const ended = "KeyError: 'layers.0.mlp.gate'";
    const found = await ofLines(
      "vLLM API server version 0.28.1.dev12+gabc1234de",
      "Traceback (most recent call last):",
      '  File "/x/vllm/v1/engine/core.py", line 880, in run',
      ended,
    );
    expect(found.map(({ id }) => id)).toEqual(["source-build-unpinned", "engine-said"]);
    const known = await ofLines(
      "vLLM API server version 0.22.0",
      "ValueError: max_num_batched_tokens (2048) must be greater than or equal to max_num_seqs (4096)",
    );
    expect(known.map(({ id }) => id)).toEqual(["version-too-low", "batch-below-sequences"]);
  });

  it.each([
    ["a release", ["vLLM API server version 0.30.0"]],
    ["NVIDIA's build of one", ["vLLM Version 0.31.0+1a2b3c4d.nv26.10"]],
    [
      "kernels of another engine",
      ["[TensorRT-LLM][INFO] cutlass", "vLLM API server version 0.31.0"],
    ],
    ["another program's version", ["INFO transformers version 4.57.1"]],
  ])("says nothing of %s", async (_, lines) => {
    expect(await ofLines(...lines)).toEqual([]);
  });

  it("reads the image of a container whose log doesn't say it", async () => {
    const log = await scanLog({ name: "x", kind: "file" }, ["Hello\n"], SIGNS);
    const image = "nvcr.io/nvidia/vllm:25.12-py3";
    const [found, ...others] = reportsOf({ logs: [log], containers: [container({ image })] });
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      id: "version-too-low",
      cause:
        "The image of vllm-qwen3.6-35b-a3b-8001 can't be used: its tag says 25.12, and nvcr.io/nvidia/vllm up to 26.05 holds vllm 0.20.1 or older, below 0.26.0.",
      evidence: `container vllm-qwen3.6-35b-a3b-8001: image ${image}`,
      advice: "Pin vllm 0.26.0 or newer.",
    });
  });
});
