import { DIGEST } from "../../fixtures/machine";

/**
 * Digests of vLLM v0.30.0, v0.28.0, of LiteLLM and of Open WebUI as they were published, and one of
 * nobody.
 */
const KNOWN = "sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90";
const KNOWN_028 = "sha256:61fc8a896b0a4fbbbdc063bc4b0dbc25ce98e02b5050c24aeb7830ac02039b14";
const LITELLM = "sha256:bd089afdcd35b894b14a93f9743cdc8b591f82da1a38dd43a010a7b0c9de5fd7";
const OPEN_WEBUI = "sha256:41daa0cf2561a5d4c8d1ff31ee2a98d93ab4d3ac2605cac69366ff6a3374a933";
const OTHER = `sha256:${"9a69ffad".repeat(8)}`;
const OURS = "vllm/vllm-openai";

type Versions = Readonly<Record<string, string>> | undefined;

const record = (more: Record<string, string> = {}): Versions => ({
  ...{ vllm: "0.30.0", transformers: "5.10.4", evidence: "read", source: "test" },
  ...more,
});
/** As the shipped stack file has it. */
const SHIPPED = record({ evidence: "published", digest: KNOWN });
/** As stack files had it before records named a digest. */
const OLD = record();
/** What `serving pin` records of an image with vLLM 0.30.0. */
export const READ = record({ digest: DIGEST });
const PUBLISHED = record({ evidence: "published", digest: DIGEST });

/**
 * A server of the stack file: what is attempted, its image and `versions`, and what the rule for
 * images says.
 */
// biome-ignore format: one row a line
export const SERVER_IMAGES: readonly (readonly [what: string, image: string, versions: Versions, says: string])[] = [
  ["another tag and digest under the shipped record", `${OURS}:v0.10.0@${OTHER}`, SHIPPED, "its record is for another image"],
  ["another digest alone", `${OURS}:v0.30.0@${OTHER}`, SHIPPED, "its record is for another image"],
  ["a newer release under the shipped record", `${OURS}:v0.33.0@${OTHER}`, SHIPPED, "its record is for another image"],
  ["another digest, Docker Hub written out", `docker.io/${OURS}:v0.30.0@${OTHER}`, SHIPPED, "its record is for another image"],
  ["another digest without a tag", `${OURS}@${OTHER}`, SHIPPED, "its record is for another image"],
  ["the digest that was read on the machine, as the index's", `${OURS}:v0.30.0@${DIGEST}`, record({ digest: OTHER, platformDigest: DIGEST }), "its record is for another image"],
  ["an old file whose image line alone was changed", `${OURS}:v0.10.0@${OTHER}`, OLD, "its tag says vllm 0.10.0, but its record says vllm 0.30.0"],
  ["an old file, changed to a newer tag", `${OURS}:v0.31.0@${OTHER}`, OLD, "its tag says vllm 0.31.0, but its record says vllm 0.30.0"],
  ["an old file, changed to a digest alone", `${OURS}@${OTHER}`, OLD, "its record names no digest"],
  ["an old file, changed to a nightly", `${OURS}:nightly@${OTHER}`, OLD, "its record names no digest"],
  ["an old file, changed to a commit's nightly", `${OURS}:nightly-0123456789abcdef@${OTHER}`, OLD, "its record names no digest"],
  ["an old file, changed to a model's tag", `${OURS}:gemma@${OTHER}`, OLD, "its record names no digest"],
  ["an old file, changed to NVIDIA's build", `nvcr.io/nvidia/vllm:25.10-py3@${OTHER}`, OLD, "its record names no digest"],
  ["an old file, changed to a mirror's own name", `mirror.local/inference/vllm:v0.30.0@${OTHER}`, OLD, "is not known to hold vLLM"],
  ["an old file, changed to a build of one's own", `own/server:v0.30.0@${OTHER}`, OLD, "is not known to hold vLLM"],
  ["an old file, changed to a known digest of another release", `${OURS}@${KNOWN_028}`, OLD, "its digest is that of vllm/vllm-openai:v0.28.0"],
  ["no record", `${OURS}:v0.30.0@${DIGEST}`, undefined, "are not recorded"],
  ["no record and a tag below the floor", `${OURS}:v0.10.0@${DIGEST}`, undefined, "its tag says vllm 0.10.0, below 0.26.0"],
  ["no record of a release whose transformers is not known", `${OURS}:v0.28.0@${KNOWN_028}`, undefined, "there is no record of its version of transformers"],
  ["no record of a known digest under another tag", `${OURS}:v0.31.0@${KNOWN}`, undefined, "its tag says vllm 0.31.0, but its digest says vllm 0.30.0"],
  ["a record of a known digest that says another release", `${OURS}:v0.30.0@${KNOWN}`, record({ digest: KNOWN, vllm: "0.31.0" }), "its record says vllm 0.31.0"],
  ["the same, written without a digest", `${OURS}@${KNOWN}`, record({ vllm: "0.31.0" }), "its record says vllm 0.31.0"],
  ["a known digest from a mirror that says another release", `mirror.local/x@${KNOWN}`, record({ digest: KNOWN, vllm: "0.33.0" }), "its record says vllm 0.33.0"],
  ["LiteLLM's digest", `own/vllm@${LITELLM}`, record({ digest: LITELLM }), "its digest is that of ghcr.io/berriai/litellm:v1.103.0"],
  ["Open WebUI's digest", `${OURS}:v0.30.0@${OPEN_WEBUI}`, record({ digest: OPEN_WEBUI }), "its digest is that of ghcr.io/open-webui/open-webui:v0.11.3"],
  ["a tag of another release than was read", `${OURS}:v0.31.0@${DIGEST}`, READ, "its tag says vllm 0.31.0"],
  ["a tag below the floor over a good record", `${OURS}:v0.10.0@${DIGEST}`, READ, "its tag says vllm 0.10.0"],
  ["a tag below the floor with two numbers", `${OURS}:v0.10@${DIGEST}`, READ, "its tag says vllm 0.10"],
  ["a tag below the floor with a V", `${OURS}:V0.10.0@${DIGEST}`, READ, "its tag says vllm 0.10.0"],
  ["a tag below the floor for one platform", `${OURS}:v0.10.0-aarch64@${DIGEST}`, READ, "its tag says vllm 0.10.0"],
  ["a tag below the floor behind CUDA's", `${OURS}:cu128-v0.10.0@${DIGEST}`, READ, "its tag says vllm 0.10.0"],
  ["a tag below the floor that names vLLM", `own/server:vllm-0.10.0@${DIGEST}`, READ, "its tag says vllm 0.10.0"],
  ["a tag below the floor, written together", `own/server:vllm0.10.0@${DIGEST}`, READ, "its tag says vllm 0.10.0"],
  ["a pre-release's tag", `${OURS}:v0.30.0rc1@${DIGEST}`, READ, "its tag says vllm 0.30.0rc1"],
  ["a pre-release's tag, with a dash", `${OURS}:v0.30.0-rc.1@${DIGEST}`, READ, "its tag says vllm 0.30.0-rc.1"],
  ["a development build's tag", `${OURS}:v0.30.0.dev3@${DIGEST}`, READ, "its tag says vllm 0.30.0.dev3"],
  ["a pre-release at the floor", `${OURS}@${DIGEST}`, record({ digest: DIGEST, vllm: "0.26.0rc1" }), "it holds vllm 0.26.0rc1, below 0.26.0"],
  ["an alpha at the floor", `${OURS}@${DIGEST}`, record({ digest: DIGEST, vllm: "0.26.0a1" }), "it holds vllm 0.26.0a1, below 0.26.0"],
  ["a development build at the floor", `${OURS}@${DIGEST}`, record({ digest: DIGEST, vllm: "0.26.0.dev5+g1a2b3c" }), "below 0.26.0"],
  ["the epoch that every version has, below the floor", `${OURS}@${DIGEST}`, record({ digest: DIGEST, vllm: "0!0.25.9" }), "it holds vllm 0!0.25.9, below 0.26.0"],
  ["a pre-release of transformers at its floor", `${OURS}@${DIGEST}`, record({ digest: DIGEST, transformers: "5.8.0rc1" }), "it holds transformers 5.8.0rc1, below 5.8.0"],
  ["no version of vllm", `own/server@${DIGEST}`, { evidence: "read", source: "test", transformers: "5.10.4", digest: DIGEST }, "no vLLM was found inside"],
  ["no version of transformers", `own/server@${DIGEST}`, { evidence: "read", source: "test", vllm: "0.30.0", digest: DIGEST }, "its record has no version of transformers"],
  ["a word for a version", `${OURS}@${DIGEST}`, record({ digest: DIGEST, vllm: "newest" }), "`newest` is not a version of vllm"],
  ["an unknown name, as published", `own/server@${DIGEST}`, PUBLISHED, "own/server is not known to hold vLLM"],
  ["a mirror's own name, as published", `mirror.local/inference/vllm:v0.30.0@${DIGEST}`, PUBLISHED, "is not known to hold vLLM"],
  ["a name that only begins like vLLM's", `vllm/vllm-openai-tools:v0.30.0@${DIGEST}`, PUBLISHED, "is not known to hold vLLM"],
  ["a name that ends like vLLM's", `own/vllm/vllm-openai:v0.30.0@${DIGEST}`, PUBLISHED, "is not known to hold vLLM"],
  ["llama.cpp under the shipped record", `ghcr.io/ggml-org/llama.cpp:server-cuda@${OTHER}`, SHIPPED, "its name says llama.cpp. GGUF models belong in `simpleServer`"],
  ["llama.cpp in an old file", `ghcr.io/ggml-org/llama.cpp:server-cuda@${OTHER}`, OLD, "its name says llama.cpp"],
  ["llama.cpp with a record of its digest", `ghcr.io/ggml-org/llama.cpp:server-cuda-b6792@${DIGEST}`, READ, "its name says llama.cpp"],
  ["llama.cpp in Python", `own/llama-cpp-python:0.3.16@${DIGEST}`, READ, "its name says llama.cpp"],
  ["llama.cpp by its tag", `own/server:llamacpp-b6792@${DIGEST}`, READ, "its name says llama.cpp"],
  ["SGLang", `lmsysorg/sglang:v0.5.9@${DIGEST}`, READ, "its name says SGLang"],
  ["SGLang by its tag", `own/server:sglang@${DIGEST}`, READ, "its name says SGLang"],
  ["SGLang in vLLM's repository", `${OURS}:sglang@${DIGEST}`, READ, "its name says SGLang"],
  ["Ollama", `ollama/ollama:0.34.4@${DIGEST}`, READ, "its name says Ollama. Ollama belongs in `simpleServer`"],
  ["Ollama by its tag", `ghcr.io/open-webui/open-webui:v0.11.3-ollama@${DIGEST}`, READ, "its name says Ollama"],
  ["TensorRT-LLM", `nvcr.io/nvidia/tensorrt-llm/release:1.1.0@${DIGEST}`, READ, "its name says TensorRT-LLM"],
  ["TensorRT-LLM in short", `own/trtllm:1@${DIGEST}`, READ, "its name says TensorRT-LLM"],
  ["Text Generation Inference", `ghcr.io/huggingface/text-generation-inference:3.3@${DIGEST}`, READ, "its name says Text Generation Inference"],
  ["Text Generation Inference in short", `own/tgi:3@${DIGEST}`, READ, "its name says Text Generation Inference"],
  ["a tag below the floor without a digest", `${OURS}:v0.10.0`, undefined, "its tag says vllm 0.10.0, below 0.26.0; it has no digest"],
  ["that from a mirror that puts a path in front", `harbor.local:5000/hub/${OURS}:v0.10.0`, undefined, "its tag says vllm 0.10.0, below 0.26.0"],
  ["a sibling's tag below the floor", `vllm/vllm-openai-cpu:v0.10.0@${DIGEST}`, READ, "its tag says vllm 0.10.0"],
  ["a record below the floor without a digest", "nvcr.io/nvidia/vllm:25.09-py3", record({ vllm: "0.10.1" }), "it holds vllm 0.10.1, below 0.26.0; it has no digest"],
  ["a record below the floor whose image lost its digest", `${OURS}:nightly`, record({ digest: DIGEST, transformers: "4.57.6" }), "it holds transformers 4.57.6, below 5.8.0"],
  ["SGLang without a digest", "lmsysorg/sglang:v0.5.9", undefined, "its name says SGLang"],
  ["a tag of another release over a record below the floors", `${OURS}:v0.31.0@${DIGEST}`, record({ digest: DIGEST, vllm: "0.20.0" }), "its tag says vllm 0.31.0, but its record says vllm 0.20.0; it holds vllm 0.20.0, below 0.26.0"],
  ["vLLM for AMD GPUs", `vllm/vllm-openai-rocm:v0.30.0@${DIGEST}`, READ, "its name says that it is made for AMD GPUs (`rocm`), and servers here run on an NVIDIA GPU and an Arm processor (aarch64). Take an image of vLLM for these, such as vllm/vllm-openai:v0.30.0."],
  ["vLLM for x86-64", `${OURS}:v0.30.0-x86_64@${DIGEST}`, READ, "its name says that it is made for x86-64 processors (`x86_64`)"],
  ["vLLM without a GPU, below the floor", "intel/vllm:0.17.0-cpu", undefined, "for Intel's GPUs and accelerators (`intel`), and servers here run on an NVIDIA GPU and an Arm processor (aarch64); its name says that it is made for processors without a GPU (`cpu`); its tag says vllm 0.17.0, below 0.26.0"],
  ["a tag that names vLLM behind ROCm", `rocm/vllm:rocm7.0.0_vllm_0.11.2_20251210@${DIGEST}`, READ, "its tag says vllm 0.11.2"],
  ["a tag that names vLLM behind a release of its maker's", `own/server:v1.2-vllm_0.10.0@${DIGEST}`, READ, "its tag says vllm 0.10.0"],
  ["a tag that holds the name of vLLM's image", `own/images:vllm-openai-v0.10.0@${DIGEST}`, READ, "its tag says vllm 0.10.0"],
];

/** A release that the deny list names, in a server's record, however it is written. */
// biome-ignore format: one row a line
export const DENIED_RECORDS: readonly (readonly [vllm: string, transformers: string])[] = [
  ["0.27.1", "5.17"], ["0.27.1", "5.17.0.post0"], ["0.27.1", "5.17-1"], ["0.27.1", "0!5.17.0"], ["0.27.1", "v5.17.0"],
  ["0.27.1", "5.17.0+cu130"], ["0.27", "5.17.0"], ["v0.27.1", "5.17"], ["0!0.27.1", "5.17.0"],
];

/** The bridge's or the chat UI's image: what is attempted, where, and the rule that refuses it. */
// biome-ignore format: one row a line
export const SERVICE_IMAGES: readonly (readonly [what: string, block: "bridge" | "chatUi", image: string, rule: string])[] = [
  ["a mirror's latest", "bridge", "mirror.local/gateway:latest", "moving-tag"],
  ["a mirror without a tag", "bridge", "mirror.local/gateway", "moving-tag"],
  ["a mirror's track", "bridge", "mirror.local/gateway:main-stable", "moving-tag"],
  ["a mirror's track with a release", "bridge", "mirror.local/gateway:main-v1.103.0", "moving-tag"],
  ["a name of one's own", "bridge", "gateway:prod", "moving-tag"],
  ["a mirror's latest", "chatUi", "mirror.local/ui:latest", "moving-tag"],
  ["a mirror without a tag", "chatUi", "mirror.local/ui", "moving-tag"],
  ["a mirror's variant", "chatUi", "mirror.local/ui:cuda", "moving-tag"],
  ["a compromised LiteLLM under another name", "bridge", "mirror.local/gateway:v1.82.7", "deny-list"],
  ["the same, pinned", "bridge", `mirror.local/gateway:v1.82.7@${DIGEST}`, "deny-list"],
  ["the other compromised one", "bridge", `mirror.local/gateway:1.82.8@${DIGEST}`, "deny-list"],
  ["one that is called stable", "bridge", `mirror.local/gateway:main-v1.82.7-stable@${DIGEST}`, "deny-list"],
  ["one below the lowest", "bridge", `mirror.local/gateway:v1.83.14-stable.patch.1@${DIGEST}`, "deny-list"],
  ["a pre-release of the lowest", "bridge", `mirror.local/gateway:v1.84.0-rc1@${DIGEST}`, "deny-list"],
  ["LiteLLM's own pre-release of the lowest", "bridge", `ghcr.io/berriai/litellm:v1.84.0-rc1@${DIGEST}`, "deny-list"],
  ["a development build of the lowest", "bridge", `mirror.local/gateway:v1.84.0.dev1@${DIGEST}`, "deny-list"],
  ["a nightly of the lowest", "bridge", `ghcr.io/berriai/litellm:v1.84.0-nightly@${DIGEST}`, "deny-list"],
  ["two numbers", "bridge", `mirror.local/gateway:v1.82@${DIGEST}`, "deny-list"],
  ["under the chat UI's name", "bridge", `mirror.local/open-webui:v1.82.7@${DIGEST}`, "deny-list"],
  ["under Ollama's name", "bridge", `mirror.local/ollama-gateway:v1.82.7@${DIGEST}`, "deny-list"],
  ["under vLLM's name", "bridge", `mirror.local/vllm:v1.82.7@${DIGEST}`, "deny-list"],
];

/** What is no image reference: refused where the stack file is read. */
// biome-ignore format: one row a line
export const NO_REFERENCES: readonly (readonly [what: string, image: string])[] = [
  ["capitals in the repository", `vllm/VLLM-openai:v0.30.0@${DIGEST}`],
  ["a blank", `vllm/vllm openai:v0.30.0@${DIGEST}`],
  ["a blank at the end", `vllm/vllm-openai:v0.30.0@${DIGEST} `],
  ["a NUL", `vllm/vllm-openai\u0000:v0.30.0@${DIGEST}`],
  ["a line break", `vllm/vllm-openai:v0.30.0@${DIGEST}\n`],
  ["an empty part", `vllm//vllm-openai:v0.30.0@${DIGEST}`],
  ["a slash in front", `/vllm/vllm-openai:v0.30.0@${DIGEST}`],
  ["a slash at the end", `vllm/vllm-openai/@${DIGEST}`],
  ["an empty tag", `vllm/vllm-openai:@${DIGEST}`],
  ["a tag that begins with a dash", `vllm/vllm-openai:-v0.30.0@${DIGEST}`],
  ["a tag with a plus", `vllm/vllm-openai:v0.30.0+cu130@${DIGEST}`],
  ["a tag that is too long", `vllm/vllm-openai:${"t".repeat(129)}@${DIGEST}`],
  ["a name that is too long", `vllm/${"a".repeat(251)}@${DIGEST}`],
  ["dots in a row", `vllm/vllm..openai@${DIGEST}`],
  ["two digests", `vllm/vllm-openai@${DIGEST}@${DIGEST}`],
  ["a digest in capitals", `vllm/vllm-openai@${DIGEST.toUpperCase()}`],
  ["a short digest", "vllm/vllm-openai@sha256:8a69ffad"],
  ["a digest of another kind", `vllm/vllm-openai@sha512:${"0".repeat(128)}`],
  ["an image's id", DIGEST],
  ["letters of another script", `vllm/vllм-openai@${DIGEST}`],
];

/** Servers of the stack file that the rule for images lets through without a refusal. */
// biome-ignore format: one row a line
export const GOOD_IMAGES: readonly (readonly [what: string, image: string, versions: Versions])[] = [
  ["the shipped one", `${OURS}:v0.30.0@${KNOWN}`, SHIPPED],
  ["a known digest without a record", `${OURS}:v0.30.0@${KNOWN}`, undefined],
  ["a known digest from a mirror without a record", `mirror.local/inference@${KNOWN}`, undefined],
  ["a known digest in an old file", `${OURS}:v0.30.0@${KNOWN}`, OLD],
  ["a release in an old file", `${OURS}:v0.30.0@${DIGEST}`, OLD],
  ["a release from a mirror, in an old file", `mirror.local/vllm/vllm-openai:v0.30.0@${DIGEST}`, OLD],
  ["a release for one platform in an old file", `${OURS}:v0.30.0-aarch64@${DIGEST}`, record({ evidence: "published" })],
  ["a digest alone that was read", `${OURS}@${DIGEST}`, READ],
  ["a mirror that was read", `mirror.local/vllm/vllm-openai:v0.30.0@${DIGEST}`, READ],
  ["somebody's own build that was read", `own/server@${DIGEST}`, READ],
  ["NVIDIA's build that was read", `nvcr.io/nvidia/vllm:26.05-py3@${DIGEST}`, READ],
  ["a nightly that was read", `${OURS}:nightly@${DIGEST}`, record({ digest: DIGEST, vllm: "0.30.1.dev3+gabc" })],
  ["an epoch above the floor, as Python packaging has it", `${OURS}@${DIGEST}`, record({ digest: DIGEST, vllm: "1!0.1" })],
];

/** Images that others build, each read with vLLM 0.30.0 inside, and whether a note names the tag. */
// biome-ignore format: one row a line
export const OWN_TAGS: readonly (readonly [image: string, noted: boolean])[] = [
  ["registry.local:5000/me/vllm-spark:1.4.0", true],
  ["registry.local/me/vllm-spark:v1.4.0", true],
  ["registry.local/me/vllm-spark:2026.11", true],
  ["registry.local/me/vllm-spark:cu130-torch2.10.0", true],
  ["registry.local/me/vllm-spark:13.0.1-cudnn-runtime", true],
  ["registry.local/me/vllm-spark:0.30.1.dev5-g123", true],
  ["registry.local/me/vllm-spark:v0.10.0", true],
  ["registry.local/me/vllm-spark:0.30.0", false],
  ["registry.local/me/vllm-spark:v0.30", false],
  ["registry.local/me/vllm-spark:prod", false],
  ["registry.local/me/vllm-openai:1.4.0", true],
  ["registry.local/ci/vllm-2026.11:build-7", false],
  ["registry.local/me/ngc:vllm-25.09-py3", true],
  ["registry.local/me/ngc:vllm-2026.11", true],
  ["own/server:cu130-vllm0.30.0", false],
  ["own/server:vllm-0.30.0-cu130", false],
  ["own/server:v1.2-vllm_0.30.0", false],
  ["eugr/spark-vllm:latest", false],
  ["eugr/spark-vllm-b12x:nightly-20260813", false],
  ["ghcr.io/spark-arena/dgx-vllm-eugr-nightly:latest", false],
  ["nvcr.io/nvidia/vllm:25.09-py3", false],
  ["nvcr.io/nvidia/vllm:26.05.post1-py3", false],
  ["nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.7.0", true],
  ["avarok/dgx-vllm-nvfp4-kernel:v22", false],
  ["avarok/vllm-dgx-spark:v11.2", true],
  ["scitrera/dgx-spark-vllm:0.30.0-t5", false],
  ["scitrera/dgx-spark-vllm:0.15.0-t5", true],
  ["lmcache/vllm-openai:v0.3.7", true],
  ["lmcache/vllm-openai:latest-nightly", false],
  ["vllm/vllm-openai:nightly-0a1b2c3d4e5f60718293a4b5c6d7e8f901234567-aarch64", false],
  ["vllm/vllm-openai:cu130-nightly", false],
  ["vllm/vllm-openai:v0.30.0-cu130", false],
  ["vllm/vllm-openai:v0.30.0-aarch64-cu129-ubuntu2404", false],
  ["vllm/vllm-openai:latest", false],
  ["docker.io/vllm/vllm-openai:v0.30.0", false],
  ["public.ecr.aws/docker/hub/vllm/vllm-openai:v0.30.0", false],
];

/** Let through, and why. */
export const UNSEEN = [
  [
    "a record that somebody made up, with the digest of the image",
    "nothing signs a record; `serving pin` writes what it reads",
  ],
  [
    "a bridge's image by its digest alone, from a mirror",
    "nothing declared says which release an unknown digest holds",
  ],
  [
    "an Ollama under another name, in a container made by hand",
    "nothing declares what such a container is but its image's name",
  ],
] as const;
