import { describe, expect, it } from "vitest";
import { libraryOfOther, ofOtherMachine } from "../../../cli/init/command/otherMachine";
import { variableValues } from "../../../cli/init/command/variables";
import { readPublished } from "../../../cli/init/from/published";

const IMAGE = "vllm/vllm-openai:v0.30.0";
const RUN = `docker run --gpus all`;

/** What is left out of a text, each with its reason, and the variables that stay. */
function left(text: string) {
  const { container, variables, leftOut } = readPublished({ text });
  const of = variableValues(variables, { inContainer: container !== undefined, lost: [] });
  const all = [...leftOut, ...(container?.leftOut ?? []), ...of.leftOut];
  return {
    why: Object.fromEntries(all.map(({ what, why }) => [what, why])),
    kept: of.values.map(({ path }) => path.at(-1)),
    volumes: (container?.volumes ?? []).map(({ target }) => target),
  };
}

const X86 = "/usr/lib/x86_64-linux-gnu";
const NAMES = (what: string) => `it names ${what}, and a DGX Spark has an ARM processor (aarch64).`;
const LISTS =
  "it lists compute capabilities without 12.1, which a DGX Spark has: kernels would be built for other GPUs.";

describe("what is of another machine", () => {
  it.each<[string, string, string | undefined]>([
    ["LD_LIBRARY_PATH", `/usr/local/cuda/lib64:${X86}:$LD_LIBRARY_PATH`, NAMES("x86_64")],
    ["LD_PRELOAD", `${X86}/libtcmalloc_minimal.so.4`, NAMES("x86_64")],
    ["CUDA_HOME", "/usr/local/cuda/targets/x86_64-linux", NAMES("x86_64")],
    ["TRITON_LIBCUDA_PATH", "/lib/i386-linux-gnu", NAMES("i386")],
    ["DOCKER_DEFAULT_PLATFORM", "linux/amd64", NAMES("amd64")],
    ["TORCH_CUDA_ARCH_LIST", "8.0", LISTS],
    ["TORCH_CUDA_ARCH_LIST", "8.0;8.6;9.0+PTX", LISTS],
    ["CMAKE_CUDA_ARCHITECTURES", "90a", LISTS],
    ["FLASHINFER_CUDA_ARCH_LIST", "10.0a", LISTS],
    ["CUTE_DSL_ARCH", "sm_100a", LISTS],
    ["TORCH_CUDA_ARCH_LIST", "12.1a", undefined],
    ["TORCH_CUDA_ARCH_LIST", "8.0 9.0 12.1+PTX", undefined],
    ["CUTE_DSL_ARCH", "sm_121a", undefined],
    ["CMAKE_CUDA_ARCHITECTURES", "native", undefined],
    ["LD_LIBRARY_PATH", "/usr/lib/aarch64-linux-gnu", undefined],
    ["LD_PRELOAD", "/usr/lib/aarch64-linux-gnu/libtcmalloc.so.4", undefined],
    ["VLLM_IMAGE_SIZE", "64x64", undefined],
    ["VLLM_LOGGING_LEVEL", "8.0", undefined],
  ])("tells %s=%s", (name, value, why) => {
    expect(ofOtherMachine(name, value)).toBe(why);
  });

  it("tells folders of its libraries alone", () => {
    expect(libraryOfOther(`${X86}/libcuda.so.1`, "/x")).toMatch(
      /^its path is of an x86_64 machine/,
    );
    expect(libraryOfOther("/data/models", `${X86}/libnccl.so.2`)).toBeDefined();
    expect(libraryOfOther("/srv/x86/models", "/models")).toBeUndefined();
  });
});

describe("a published start leaves it out, with the reason", () => {
  it("of a command", () => {
    const { why, kept, volumes } = left(
      `${RUN} --platform linux/amd64 -e LD_LIBRARY_PATH=${X86} -e TORCH_CUDA_ARCH_LIST=8.0 -e VLLM_USE_V2_MODEL_RUNNER=1 -v ${X86}/libcuda.so.1:${X86}/libcuda.so.1 -v /data/m:/m ${IMAGE} --model /m`,
    );
    expect(why).toMatchObject({
      "--platform linux/amd64": "Docker takes the image that is made for the machine.",
      "the variable LD_LIBRARY_PATH": NAMES("x86_64"),
      "the variable TORCH_CUDA_ARCH_LIST": LISTS,
      [`--volume ${X86}/libcuda.so.1:${X86}/libcuda.so.1`]: expect.stringContaining(
        "an x86_64 machine's libraries",
      ),
    });
    expect([kept, volumes]).toEqual([["VLLM_USE_V2_MODEL_RUNNER"], ["/m"]]);
  });

  it("of a compose file", () => {
    const { why, kept } = left(
      `services:\n  llm:\n    image: ${IMAGE}\n    platform: linux/amd64\n    command: --model openai/gpt-oss-20b\n    environment:\n      - LD_PRELOAD=${X86}/libjemalloc.so.2\n      - TORCH_CUDA_ARCH_LIST=12.1a\n    volumes:\n      - ${X86}/libcuda.so:/usr/lib/libcuda.so:ro\n`,
    );
    expect(Object.keys(why)).toEqual(
      expect.arrayContaining([
        "--platform linux/amd64",
        "the variable LD_PRELOAD",
        `--volume ${X86}/libcuda.so:/usr/lib/libcuda.so:ro`,
      ]),
    );
    expect(kept).toEqual(["TORCH_CUDA_ARCH_LIST"]);
  });

  it("of a unit", () => {
    const { why } = left(
      `[Service]\nEnvironment=CUDA_HOME=/usr/local/cuda/targets/x86_64-linux\nExecStart=/usr/bin/vllm serve openai/gpt-oss-20b\n[Install]\nWantedBy=multi-user.target\n`,
    );
    expect(why["the variable CUDA_HOME"]).toBe(NAMES("x86_64"));
  });

  it("of a script", () => {
    const { why } = left(
      `export LD_LIBRARY_PATH=${X86}:$LD_LIBRARY_PATH\nvllm serve openai/gpt-oss-20b\n`,
    );
    expect(why["the variable LD_LIBRARY_PATH"]).toBe(NAMES("x86_64"));
  });
});
