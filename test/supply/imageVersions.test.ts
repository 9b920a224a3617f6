import { imageReference, referenceFault } from "@local-serving/machines/docker/imageReference";
import { describe, expect, it } from "vitest";
import images from "../../components/supply/images.json";
import { believedVllm, judgeServerImage, vllmOf } from "../../components/supply/imageVersions";
import { isPep440, sameRelease } from "../../components/supply/releases/releases";
import { versionInTag } from "../../components/supply/tagVersion";
import { DIGEST } from "../fixtures/machine";

const KNOWN = "sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90";
const KNOWN_028 = "sha256:61fc8a896b0a4fbbbdc063bc4b0dbc25ce98e02b5050c24aeb7830ac02039b14";
const LITELLM = "sha256:bd089afdcd35b894b14a93f9743cdc8b591f82da1a38dd43a010a7b0c9de5fd7";
const OTHER = `sha256:${"1".repeat(64)}`;
const OURS = "vllm/vllm-openai";

const V030 = { vllm: "0.30.0", transformers: "5.10.4" };
const of = (
  digest: string | undefined,
  versions: Record<string, string> = V030,
  evidence = "read",
) => ({
  record: { of: digest, versions, evidence },
});

describe("the list of images", () => {
  it("gives each release its digest, a tag that agrees, and a source", () => {
    expect(new Set(images.releases.map(({ digest }) => digest)).size).toBe(images.releases.length);
    for (const { digest, image, versions, source } of images.releases) {
      const [reference = ""] = image.split(",");
      expect(referenceFault(`${reference}@${digest}`)).toBeUndefined();
      const [first = ""] = Object.values(versions);
      expect(sameRelease(versionInTag(imageReference(reference)?.tag ?? "") ?? "", first)).toBe(
        true,
      );
      expect(Object.values(versions).every(isPep440)).toBe(true);
      expect(source).toMatch(/^seen .*\d{4}-\d\d/);
    }
  });

  it("names each repository as Docker Hub does, and says where each engine belongs", () => {
    for (const { repository, tags, source } of images.repositories) {
      expect(referenceFault(repository)).toBeUndefined();
      expect(["version", "date"]).toContain(tags);
      expect(source).not.toBe("");
    }
    for (const { belongs } of images.engines)
      expect(belongs).toMatch(/`(simpleServer|otherGpuMemoryGiB)`.*\.$/);
  });
});

describe("a server's image is believed", () => {
  it.each<
    [string, Parameters<typeof judgeServerImage>[0], Record<string, string>, string, boolean]
  >([
    [
      "by a record of its digest",
      { image: `${OURS}:v0.30.0@${DIGEST}`, ...of(DIGEST) },
      V030,
      "read",
      false,
    ],
    [
      "by one that was published",
      { image: `${OURS}@${DIGEST}`, ...of(DIGEST, V030, "published") },
      V030,
      "published",
      false,
    ],
    [
      "without a record, by a known digest",
      { image: `${OURS}@${KNOWN}` },
      V030,
      "published",
      false,
    ],
    [
      "from a mirror, by a known digest",
      { image: `mirror.local/x@${KNOWN}` },
      V030,
      "published",
      false,
    ],
    [
      "as far as a known digest goes",
      { image: `${OURS}:v0.28.0@${KNOWN_028}` },
      { vllm: "0.28.0" },
      "published",
      false,
    ],
    [
      "by what was read of a known digest",
      { image: `${OURS}@${KNOWN}`, ...of(KNOWN, { ...V030, transformers: "5.12.1" }) },
      { ...V030, transformers: "5.12.1" },
      "read",
      false,
    ],
    [
      "by a record without a digest, as its tag says",
      { image: `${OURS}:v0.30.0@${DIGEST}`, ...of(undefined) },
      V030,
      "read",
      true,
    ],
    [
      "by one without a digest, as a known digest says",
      { image: `${OURS}@${KNOWN}`, ...of(undefined) },
      V030,
      "read",
      true,
    ],
    [
      "under an unknown name, once it was read",
      { image: `own/thing@${DIGEST}`, ...of(DIGEST) },
      V030,
      "read",
      false,
    ],
    [
      "beside a tag that names its track",
      { image: `${OURS}:v0.30@${DIGEST}`, ...of(DIGEST, { ...V030, vllm: "0.30.2" }) },
      { ...V030, vllm: "0.30.2" },
      "read",
      false,
    ],
    [
      "beside a tag of its local build",
      {
        image: `${OURS}:v0.30.0-cu130@${DIGEST}`,
        ...of(DIGEST, { ...V030, vllm: "0.30.0+cu130" }),
      },
      { ...V030, vllm: "0.30.0+cu130" },
      "read",
      false,
    ],
    [
      "beside NVIDIA's tag, which is a date",
      { image: `nvcr.io/nvidia/vllm:26.05.post1-py3@${DIGEST}`, ...of(DIGEST) },
      V030,
      "read",
      false,
    ],
    [
      "beside that on a mirror",
      { image: `mirror.local/nvidia/vllm:26.05-py3@${DIGEST}`, ...of(DIGEST) },
      V030,
      "read",
      false,
    ],
  ])("%s", (_, claim, versions, evidence, namesNoDigest) => {
    expect(judgeServerImage(claim)).toEqual({
      versions,
      evidence,
      doubts: [],
      lasting: [],
      namesNoDigest,
    });
  });
});

describe("a server's image is doubted", () => {
  it.each<[string, Parameters<typeof judgeServerImage>[0], (string | RegExp)[]]>([
    [
      "a record of another digest",
      { image: `${OURS}:v0.30.0@${DIGEST}`, ...of(OTHER) },
      [`its record is for another image, ${OTHER}`],
    ],
    [
      "that, with a tag below the floor",
      { image: `${OURS}:v0.10.0@${DIGEST}`, ...of(OTHER) },
      [/another image/, "its tag says vllm 0.10.0, below 0.26.0"],
    ],
    [
      "nothing recorded",
      { image: `${OURS}:v0.30.0@${DIGEST}` },
      ["the versions inside are not recorded"],
    ],
    [
      "a record without a digest, and a tag without a version",
      { image: `${OURS}:nightly@${DIGEST}`, ...of(undefined) },
      [/^its record names no digest/],
    ],
    [
      "a record without a digest, and no tag",
      { image: `${OURS}@${DIGEST}`, ...of(undefined) },
      [/^its record names no digest/],
    ],
    [
      "a record without a digest, and a date",
      { image: `nvcr.io/nvidia/vllm:26.05-py3@${DIGEST}`, ...of(undefined) },
      [
        /^its record names no digest/,
        "its tag says 26.05, and nvcr.io/nvidia/vllm up to 26.05 holds vllm 0.20.1 or older, below 0.26.0",
      ],
    ],
    [
      "a record without a digest, and a newer date",
      { image: `nvcr.io/nvidia/vllm:26.10-py3@${DIGEST}`, ...of(undefined) },
      [/^its record names no digest/],
    ],
    [
      "a tag that contradicts its record",
      { image: `${OURS}:v0.31.0@${DIGEST}`, ...of(DIGEST) },
      ["its tag says vllm 0.31.0, but its record says vllm 0.30.0"],
    ],
    [
      "a pre-release's tag",
      { image: `${OURS}:v0.30.0rc1@${DIGEST}`, ...of(DIGEST) },
      ["its tag says vllm 0.30.0rc1, but its record says vllm 0.30.0"],
    ],
    [
      "a tag that contradicts a record without a digest",
      { image: `${OURS}:v0.31.0@${DIGEST}`, ...of(undefined) },
      [/its tag says vllm 0.31.0/],
    ],
    [
      "a tag that contradicts a known digest",
      { image: `${OURS}:v0.31.0@${KNOWN}` },
      ["its tag says vllm 0.31.0, but its digest says vllm 0.30.0"],
    ],
    [
      "a record that contradicts a known digest",
      { image: `${OURS}:v0.30.0@${KNOWN}`, ...of(KNOWN, { ...V030, vllm: "0.31.0" }) },
      [`its record says vllm 0.31.0, but its digest is that of ${OURS}:v0.30.0`],
    ],
    [
      "that, without a digest in it",
      { image: `${OURS}:v0.30.0@${KNOWN}`, ...of(undefined, { ...V030, vllm: "0.31.0" }) },
      [/^its record says vllm 0.31.0/],
    ],
    [
      "an unknown name, published",
      { image: `own/thing@${DIGEST}`, ...of(DIGEST, V030, "published") },
      ["own/thing is not known to hold vLLM"],
    ],
    [
      "an unknown name, as its tag says",
      { image: `own/thing:v0.30.0@${DIGEST}`, ...of(undefined) },
      ["own/thing is not known to hold vLLM"],
    ],
    [
      "a mirror's own name",
      { image: `mirror.local/inference/vllm:v0.30.0@${DIGEST}`, ...of(undefined) },
      [/^mirror.local\/inference\/vllm is not known to hold vLLM/],
    ],
    [
      "no vLLM inside",
      { image: `own/thing@${DIGEST}`, ...of(DIGEST, { torch: "2.13.0" }) },
      ["no vLLM was found inside"],
    ],
    [
      "another program's digest",
      { image: `own/thing@${LITELLM}` },
      ["its digest is that of ghcr.io/berriai/litellm:v1.103.0"],
    ],
    [
      "llama.cpp",
      { image: `ghcr.io/ggml-org/llama.cpp:server-cuda@${DIGEST}`, ...of(DIGEST) },
      ["its name says llama.cpp"],
    ],
    [
      "SGLang in the tag",
      { image: `own/thing:sglang-v0.5@${DIGEST}`, ...of(DIGEST) },
      ["its name says SGLang"],
    ],
  ])("%s", (_, claim, doubts) => {
    const { versions, evidence, ...verdict } = judgeServerImage(claim);
    expect({ versions, evidence }).toEqual({ versions: {}, evidence: "none" });
    expect(verdict.doubts.map(({ why }) => why)).toEqual(
      doubts.map((each) => (typeof each === "string" ? each : expect.stringMatching(each))),
    );
  });

  it.each([
    ["lmsysorg/sglang:v0.5.9", "SGLang"],
    ["ollama/ollama:0.34.4", "Ollama"],
    ["own/vllm:ollama", "Ollama"],
    ["own/llama-cpp-python:1", "llama.cpp"],
    ["own/llamacpp:1", "llama.cpp"],
    ["nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc13", "TensorRT-LLM"],
    ["own/trtllm:1", "TensorRT-LLM"],
    ["ghcr.io/huggingface/text-generation-inference:3.3", "Text Generation Inference"],
    ["own/tgi:3", "Text Generation Inference"],
  ])("%s belongs elsewhere", (image, engine) => {
    const [first] = judgeServerImage({ image: `${image}@${DIGEST}`, ...of(DIGEST) }).doubts;
    expect(first?.why).toBe(`its name says ${engine}`);
    expect(first?.remedy).toContain("`");
  });

  it.each([
    "own/collama-vllm:1",
    "sglang.example.com/own/x:1",
    "own/artgi:1",
    "vllm/vllm-openai:v0.30.0",
  ])("%s names no other engine", (image) => {
    const { doubts } = judgeServerImage({ image: `${image}@${DIGEST}`, ...of(DIGEST) });
    expect(doubts).toEqual([]);
  });
});

describe("the vLLM of a server", () => {
  const image = `${OURS}:v0.30.0@${DIGEST}`;
  it("is that of a record which counts", () => {
    expect(vllmOf({ image, versions: { vllm: "0.30.0", evidence: "read", digest: DIGEST } })).toBe(
      "0.30.0",
    );
    expect(vllmOf({ image: `${OURS}@${KNOWN}` })).toBe("0.30.0");
    expect(
      vllmOf({ image, versions: { vllm: "0.30.0", evidence: "read", digest: OTHER } }),
    ).toBeUndefined();
    expect(vllmOf({ image, versions: { evidence: "read", digest: DIGEST } })).toBeUndefined();
    expect(vllmOf({ image })).toBeUndefined();
  });

  it("is known of a planned server, by this version and by an earlier one", () => {
    const facts = {
      image,
      digest: DIGEST,
      versions: V030,
      evidence: "read",
      source: "test",
    } as const;
    expect(believedVllm(facts)).toBe("0.30.0");
    expect(believedVllm({ ...facts, recordedOf: "" })).toBe("0.30.0");
    expect(believedVllm({ ...facts, recordedOf: OTHER })).toBeUndefined();
    expect(
      believedVllm({ ...facts, versions: {}, evidence: "none", recordedOf: "" }),
    ).toBeUndefined();
  });
});
