import { expect, it } from "vitest";
import { refusedUnread, releaseRefusal } from "../../../cli/pin/judgeImage";

const entry = (block: string, image: string) => ({ machine: "dgx", path: [block, "b"], image });

it.each([
  ["inferenceServers", "vllm/vllm-openai:v0.30.0", "v0.10.0", /^it is below 0\.26\.0/],
  ["inferenceServers", "vllm/vllm-openai:v0.30.0", "v0.31.0", undefined],
  ["inferenceServers", "me/vllm-spark:1.4.0", "0.2.0", undefined],
  ["inferenceServers", "me/vllm-spark:1.4.0", "vllm0.10.0", /^it is below 0\.26\.0/],
  ["bridge", "mirror.local/gateway:v1.103.0", "v1.82.7", /compromised/],
  ["inferenceServers", "no image", "v0.10.0", undefined],
])("%s, %s: the tag %s", (block, image, tag, why) => {
  const found = releaseRefusal(entry(block, image), tag);
  if (why === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(why);
});

it.each([
  [
    "vllm/vllm-openai:v0.22.1",
    undefined,
    ["It can't be used: its tag says vllm 0.22.1, below 0.26.0. Pin vllm 0.26.0 or newer."],
  ],
  [
    "nvcr.io/nvidia/vllm:26.05-py3",
    undefined,
    [
      "It can't be used: its tag says 26.05, and nvcr.io/nvidia/vllm up to 26.05 holds vllm 0.20.1 or older, below 0.26.0. Pin vllm 0.26.0 or newer.",
    ],
  ],
  ["nvcr.io/nvidia/vllm:26.10-py3", undefined, []],
  [
    "ollama/ollama:0.20.0",
    entry("inferenceServers", "vllm/vllm-openai:v0.30.0"),
    ["It can't be used: its name says Ollama. Ollama belongs in `simpleServer`."],
  ],
  ["ollama/ollama:0.20.0", undefined, []],
  [
    "ghcr.io/berriai/litellm:main-v1.82.8-stable",
    entry("bridge", "ghcr.io/berriai/litellm:v1.103.0"),
    [
      "It holds litellm 1.82.8: these releases were compromised (BerriAI/litellm issue 24512, OSV MAL-2026-2144). Take 1.84.0 or newer, and change every key that such a release may have seen.",
    ],
  ],
  [
    "vllm/vllm-openai:v0.27.1",
    {
      ...entry("inferenceServers", "vllm/vllm-openai:v0.30.0"),
      model: "nvidia/Qwen3.8-27B-NVFP4",
    },
    ["nvidia/Qwen3.8-27B-NVFP4 needs vLLM 0.28.0 or newer, by the catalogue."],
  ],
  ["vllm/vllm-openai:nightly", undefined, []],
  [`vllm/vllm-openai:v0.20.0@sha256:${"0".repeat(64)}`, undefined, []],
  ["nginx:1.29.0", undefined, []],
])("what is said of %s before it is pulled", (image, of, reasons) => {
  expect(refusedUnread(image, of)).toEqual(reasons);
});
