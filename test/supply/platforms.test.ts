import { type ImageReference, imageReference } from "@local-serving/machines/docker/imageReference";
import { describe, expect, it } from "vitest";
import { judgeServerImage, taggedVersion } from "../../components/supply/imageVersions";
import { otherPlatformOf, otherPlatforms } from "../../components/supply/platforms";
import list from "../../components/supply/platforms.json";

const read = (image: string): ImageReference =>
  imageReference(image) ?? expect.fail(`${image} is no reference`);

describe("an image's name says other hardware", () => {
  it.each([
    ["rocm/vllm-dev:open-mi300-08052025", "rocm"],
    ["rocm/vllm:rocm7.0.0_vllm_0.30.0_20261110", "rocm"],
    ["own/vllm:open-mi355x", "mi355x"],
    ["kyuz0/vllm-therock-gfx1151:latest", "therock"],
    ["own/vllm-gfx90a", "gfx90a"],
    ["intel/llm-scaler-vllm:0.21.0-b3", "intel"],
    ["own/vllm:0.17.0-xpu", "xpu"],
    ["own/vllm-gaudi:1.22", "gaudi"],
    ["vault.habana.ai/docker/vllm-hpu:1.22", "hpu"],
    ["quay.io/ascend/vllm-ascend:v0.18.0rc1", "ascend"],
    ["own/vllm_npu:v1", "npu"],
    ["vllm/vllm-tpu:v0.30.0", "tpu"],
    ["public.ecr.aws/neuron/pytorch-inference-vllm-neuronx:0.13.0", "neuronx"],
    ["public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.12.0", "cpu"],
    ["public.ecr.aws/q9t5s3a7/vllm-arm64-cpu-release-repo:v0.30.0", "cpu"],
    ["quay.io/higginsd/vllm-cpu:65393ee064", "cpu"],
    ["vllm/vllm-openai:v0.30.0-x86_64", "x86_64"],
    ["vllm/vllm-openai:v0.30.0-x86_64-cu129-ubuntu2404", "x86_64"],
    ["own/vllm-amd64:v0.30.0", "amd64"],
  ])("%s by %s", (image, says) => {
    expect(otherPlatforms(read(image)).map((each) => each.says)).toEqual([says]);
  });

  it.each([
    "vllm/vllm-openai:v0.30.0",
    "vllm/vllm-openai:v0.30.0-aarch64-cu129-ubuntu2404",
    "vllm/vllm-openai:latest-cu130",
    "registry.amd64.local:5000/own/vllm:v0.30.0",
    "rocm.example.com/own/vllm:v0.30.0",
    "own/vllm-multiarch:v0.30.0-amd64-arm64",
    "own/vllm-cpu-offload:v0.30.0",
    "own/vllm-gpu-cpu:v0.30.0",
    "own/vllm-cuda-rocm:v0.30.0",
    "own/vllm-input:v0.30.0",
    "own/vllm-output-tpuffer:1",
    "own/vllm-mini300:v1",
    "own/procmon-vllm:v1",
    "lambda/amdahl-vllm:v1",
    "own/intelligent-vllm:v1",
    "avarok/vllm-dgx-spark:v11",
    "ghcr.io/techprototyper/vllm-sm12x:sm121-dflash2-f4c27c0da",
    "nvcr.io/nvidia/vllm:26.10-py3",
    "registry.redhat.io/rhaiis/vllm-cuda-rhel9:3.0.0",
    "dustynv/vllm:0.30.0-r38.2-arm64-sbsa-cu130-24.04",
  ])("not %s", (image) => {
    expect(otherPlatforms(read(image))).toEqual([]);
  });

  it("is the first thing that is said of it, with a release below the floor behind it", () => {
    const { doubts, lasting } = judgeServerImage({ image: "intel/vllm:0.17.0-xpu" });
    expect(lasting).toEqual(doubts);
    expect(doubts).toEqual([
      {
        why: "its name says that it is made for Intel's GPUs and accelerators (`intel`), and servers here run on an NVIDIA GPU and an Arm processor (aarch64)",
        remedy: "Take an image of vLLM for these, such as vllm/vllm-openai:v0.30.0.",
        isOther: true,
      },
      {
        why: "its tag says vllm 0.17.0, below 0.26.0",
        remedy: "Pin vllm 0.26.0 or newer.",
      },
    ]);
  });

  it("counts for a digest that is known as another processor's", () => {
    const digest = "sha256:2286e8533ca8b6bc777594bae30524f1426ba46ca21797524e06df6a94b06635";
    const [doubt] = judgeServerImage({ image: `vllm/vllm-openai@${digest}` }).doubts;
    expect(doubt?.why).toMatch(
      /^its digest says that it is made for x86-64 processors \(`amd64`\)/,
    );
    const arm = "sha256:2a7cde230b59f3ce6cab33dd245ba6bee41aa87b38c9fe84f966ff24016813ce";
    expect(judgeServerImage({ image: `vllm/vllm-openai@${arm}` }).doubts).toEqual([]);
  });

  it.each([
    ["public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.12.0", "0.12.0"],
    ["intel/vllm:0.17.0-xpu", "0.17.0"],
    ["quay.io/ascend/vllm-ascend:v0.18.0rc1", "0.18.0rc1"],
    ["own/vllm-spark:0.12.0", undefined],
    ["own/cpu-vllm:1.4.0", undefined],
    ["intel/llm-scaler-vllm:1.2", undefined],
  ])("and %s is of vLLM %s", (image, version) => {
    expect(taggedVersion("vllm", read(image))).toBe(version);
  });
});

describe("what a container is given", () => {
  it.each([
    ["/dev/kfd", "for AMD GPUs"],
    ["/dev/kfd:/dev/kfd", "for AMD GPUs"],
    ["/dev/davinci0", "for Huawei's NPUs"],
    ["habana", "for Intel's GPUs and accelerators"],
    ["/dev/neuron0", "for AWS's Inferentia and Trainium"],
    ["linux/amd64", "for x86-64 processors"],
    ["amd64", "for x86-64 processors"],
    ["linux/386", "for x86-64 processors"],
  ])("%s is %s", (given, made) => {
    expect(otherPlatformOf(given)).toEqual({ says: given, made });
  });

  // A Quadlet's `-` leaves a device out where the machine lacks it.
  it.each([
    "-/dev/kfd",
    "/dev/dri",
    "/dev/infiniband",
    "nvidia",
    "linux/arm64",
    "nvidia.com/gpu=all",
  ])("%s is of no other hardware", (given) => {
    expect(otherPlatformOf(given)).toBeUndefined();
  });
});

it("has a source for each kind of hardware", () => {
  for (const { made, source } of list.platforms) {
    expect(made).toMatch(/^for /);
    expect(source).not.toBe("");
  }
});
