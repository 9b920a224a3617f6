import type { Row } from "../diagnosis";
import { sign, startSign } from "../sign";

/** Architecture of a GB10 with its own instructions, as nvcc names it. */
const ARCH = "12.1a";

export const build: readonly Row[] = [
  {
    id: "externally-managed-environment",
    source: 'specification, Errors: "Build error: externally-managed environment"',
    when: sign(["externally-managed-environment", "externally managed"], /externally[- ]managed(?:-environment)?/),
    cause: "The package manager owns the system's Python, which therefore refuses pip.",
    advice: "No setting to change: use a virtual environment, or the container.",
    command: "python3 -m venv ~/vllm-venv && ~/vllm-venv/bin/pip install --upgrade pip",
  },
  {
    id: "numa-header-missing",
    source: 'specification, Errors: "Build error: missing numa.h"',
    when: sign("numa.h", /numa\.h: No such file or directory|numa\.h['"]? file not found/),
    cause: "The headers of libnuma, which a source build needs, are not installed.",
    advice: "No setting to change: install them, or use the container.",
    command: "sudo apt-get install -y libnuma-dev numactl",
  },
  {
    id: "sm121-arch-list",
    source: 'specification, Errors: "NVFP4 / `.e2m1x2` failure for `sm_121`"; vllm-project/vllm PR 37725',
    when: sign(
      ["e2m1x2", "sm_121"],
      /\.e2m1x2.{0,60}sm_12[01]|sm_12[01].{0,60}\.e2m1x2|(?:NVFP4|nvfp4).{0,120}(?:not supported|unsupported).{0,60}sm_121/,
    ),
    say: ({ server }) => ({
      cause: "The kernels were compiled for sm_121 without its own instructions, which the FP4 kernels need.",
      edits: [server.set(["environment", "TORCH_CUDA_ARCH_LIST"], ARCH)],
      advice: `For a build outside the container, set it in your shell: export TORCH_CUDA_ARCH_LIST="${ARCH}" and rebuild, or use the container.`,
    }),
  },
  {
    id: "no-kernel-image",
    source: "vLLM .buildkite/release-pipeline.yaml: the cu129 images omit 12.1 on purpose",
    when: sign("no kernel image is available for execution on the device"),
    cause: "The image has no kernels for this GPU (12.1): it is a cu129 variant, or built for other machines.",
    advice: "Take an unsuffixed release (CUDA 13), pin it and put the printed lines into the stack file.",
    command: "serving pin vllm/vllm-openai:v0.30.0",
  },
  {
    id: "cuda-illegal-access",
    source: "vllm-project/vllm #49926 and #35566, eugr/spark-vllm-docker #186 and #390: seen on this kind of GPU",
    when: sign(
      ["illegal memory access", "misaligned address", "CUDA_ERROR_ILLEGAL_ADDRESS"],
      /CUDA error: (?:an illegal memory access was encountered|misaligned address)|CUDA_ERROR_ILLEGAL_ADDRESS/,
    ),
    say: ({ server }) => ({
      cause:
        "A kernel of the GPU read or wrote where it may not, and the engine died of it: a fault of that kernel, not of a setting.",
      ...(server.settings?.speculative === undefined
        ? {
            advice:
              "The server starts again by itself. If it happens again, pin another release, and see whether another `attentionBackend` or `moeBackend` avoids it.",
            command: "serving pin vllm/vllm-openai:v0.30.0",
          }
        : {
            edits: [server.set(["speculative"], undefined)],
            advice:
              "It was seen with speculative decoding more than without. If it happens again, pin another release.",
          }),
    }),
  },
  {
    id: "moe-backend-unfit",
    source: "vLLM model_executor/layers/fused_moe/oracle/",
    when: startSign("moe_backend='", /moe_backend='(\w+)' is not supported for (.{1,40}?MoE)\./),
    say: ({ hit, server }) => ({
      cause: `The MoE backend ${hit.groups[0]} does not run this model: it is not for ${hit.groups[1]}.`,
      edits: [server.set(["moeBackend"], undefined)],
      advice: "Without the setting vLLM takes a backend that fits the model's quantization.",
    }),
  },
  {
    id: "source-build-unpinned",
    source: "specification, Versioning 6: a source build must pin a release tag and record the version",
    caughtBy: "the policies `inference-image` and `moving-tag`, for images",
    when: sign("version ", /vLLM(?: API server)? version v?(\d+\.\d+(?:\.\d+)?\S*?(?:\.dev\d+|\+g[0-9a-f]{6,})\S*)/),
    say: ({ hit }) => ({
      cause: `This vLLM (${hit.groups[0]}) is not a release: nobody else runs it, and nobody can build it again.`,
      advice:
        "Build a release tag and check that tag's own torch requirements (requirements/cuda.txt), or pin the image of a release and put it into the stack file.",
      command: "serving pin vllm/vllm-openai:v0.30.0",
    }),
  },
  {
    id: "torch-mismatch",
    source: "specification, Versioning 6: the torch pins shown are unverified; check the tag's own requirements",
    // pip's resolver, its check, and the loader of a module that was compiled against another torch.
    when: sign(
      ["torch", "undefined symbol"],
      /\bvllm \S+ (?:requires|has requirement) torch\S*.{0,40}\bbut you(?:'ll)? have torch \S+|\bvllm\b.{0,120}undefined symbol: (?:_ZN\w*(?:c10|at|torch)|aoti_torch)\w*/,
    ),
    cause: "This vLLM was built for another torch than the installed one.",
    advice:
      "No setting to change: in a fresh virtual environment install what the release tag itself asks for (requirements/cuda.txt and pyproject.toml of the tag), or use the container.",
    command: "pip check; serving inventory",
  },
];
