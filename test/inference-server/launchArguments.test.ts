import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readEvidence } from "../../components/evidence/readEvidence";
import { launchArguments } from "../../components/inference-server/launchArguments";
import { served } from "../../components/inference-server/serve";
import { plan } from "../../components/plan/plan";
import {
  type InferenceServerSettings,
  inferenceServer,
} from "../../components/settings/inferenceServer";
import { loadStackFile } from "../../components/settings/load";
import { serverInput } from "../fixtures/machine";

const parse = (overlay: Record<string, unknown> = {}) =>
  inferenceServer.parse(serverInput(overlay));
const serveOf = (server: InferenceServerSettings) => served("b", "container", server);
const argv = (overlay: Record<string, unknown> = {}) => {
  const server = parse(overlay);
  return launchArguments(server, serveOf(server));
};

function valuesOf(words: readonly string[], flag: string): string[] | undefined {
  const at = words.indexOf(flag);
  if (at < 0) return undefined;
  const rest = words.slice(at + 1);
  const end = rest.findIndex((word) => word.startsWith("--"));
  return end < 0 ? rest : rest.slice(0, end);
}

describe("arguments of vllm serve", () => {
  it("are the specification's for the default instance B", () => {
    const settings = loadStackFile("Pulumi.dgx.yaml");
    const [machine] = plan(settings, readEvidence(settings, ".")).machines;
    expect(machine?.containers[0]?.command).toEqual([
      "nvidia/Qwen3.6-35B-A3B-NVFP4",
      "--served-model-name",
      "qwen3.6-35b-a3b",
      "nvidia/Qwen3.6-35B-A3B-NVFP4",
      ...[
        "--host",
        "0.0.0.0",
        "--port",
        "8001",
        "--tensor-parallel-size",
        "1",
        "--trust-remote-code",
      ],
      ...["--max-model-len", "262144", "--max-num-seqs", "4", "--max-num-batched-tokens", "8192"],
      ...["--gpu-memory-utilization", "0.45", "--kv-cache-dtype", "fp8"],
      ...["--enable-chunked-prefill", "--enable-prefix-caching", "--enable-auto-tool-choice"],
      ...[
        "--tool-call-parser",
        "qwen3_coder",
        "--reasoning-parser",
        "qwen3",
        "--moe-backend",
        "marlin",
      ],
      // Not the specification's: the default of some versions lets any web page call the server.
      ...["--allowed-origins", "[]"],
    ]);
  });

  it("leave the reasoning parser out for a model without a thinking mode", () => {
    expect(argv({ model: { id: "org/m", family: "qwen3" } })).not.toContain("--reasoning-parser");
    expect(
      valuesOf(
        argv({ model: { id: "org/m", family: "qwen3", thinking: true } }),
        "--reasoning-parser",
      ),
    ).toEqual(["qwen3"]);
    expect(
      valuesOf(argv({ model: { id: "org/m" }, reasoningParser: "glm45" }), "--reasoning-parser"),
    ).toEqual(["glm45"]);
  });

  it.each([
    ["qwen3", "qwen3_coder"],
    ["qwen3-coder", "qwen3_coder"],
    ["qwen3-next-instruct", "hermes"],
    ["gpt-oss", "openai"],
    ["nemotron-3", "qwen3_coder"],
    ["glm-4.5", "glm45"],
    ["gemma-4", "gemma4"],
    ["llama-4", "llama4_pythonic"],
  ])("take the tool parser of family %s", (family, parser) => {
    expect(valuesOf(argv({ model: { id: "org/m", family } }), "--tool-call-parser")).toEqual([
      parser,
    ]);
  });

  it.each(["qwen3-coder", "qwen3-next-instruct", "llama-4"])(
    "pass no reasoning parser for family %s, even if it is said to think",
    (family) => {
      expect(argv({ model: { id: "org/m", family, thinking: true } })).not.toContain(
        "--reasoning-parser",
      );
    },
  );

  it("pass no tool parser for an unknown family, and the named one where it is named", () => {
    expect(argv({ model: { id: "org/m" } })).not.toContain("--tool-call-parser");
    expect(valuesOf(argv({ tools: { parser: "qwen3_xml" } }), "--tool-call-parser")).toEqual([
      "qwen3_xml",
    ]);
  });

  it("ask for no tools of a base model", () => {
    const words = argv({ model: { id: "org/m", family: "qwen3", kind: "base" } });
    expect(words).not.toContain("--enable-auto-tool-choice");
    expect(words).not.toContain("--tool-call-parser");
  });

  it("say plainly what is off", () => {
    const words = argv({ chunkedPrefill: false, prefixCaching: false, trustRemoteCode: false });
    expect(words).toContain("--no-enable-chunked-prefill");
    expect(words).toContain("--no-enable-prefix-caching");
    expect(words).not.toContain("--trust-remote-code");
    expect(words).not.toContain("--no-trust-remote-code");
  });

  it("carry what a good recipe needs", () => {
    const words = argv({
      attentionBackend: "FLASHINFER",
      loadFormat: "fastsafetensors",
      chatTemplate: "/templates/x.jinja",
      speculative: { method: "mtp", numSpeculativeTokens: 3 },
      allowedOrigins: ["http://localhost:8080"],
      gdnPrefillBackend: "triton",
      kvCacheMemoryBytes: 1_073_741_824,
      extraArgs: ["--async-scheduling"],
    });
    expect(valuesOf(words, "--attention-backend")).toEqual(["FLASHINFER"]);
    expect(valuesOf(words, "--load-format")).toEqual(["fastsafetensors"]);
    expect(valuesOf(words, "--chat-template")).toEqual(["/templates/x.jinja"]);
    expect(valuesOf(words, "--speculative-config")).toEqual([
      '{"method":"mtp","num_speculative_tokens":3}',
    ]);
    expect(valuesOf(words, "--allowed-origins")).toEqual(['["http://localhost:8080"]']);
    expect(valuesOf(words, "--gdn-prefill-backend")).toEqual(["triton"]);
    expect(valuesOf(words, "--kv-cache-memory-bytes")).toEqual(["1073741824"]);
    expect(words.at(-1)).toBe("--async-scheduling");
  });

  it("never repeat a flag, and never put a value before the model", () => {
    fc.assert(
      fc.property(
        fc.record({
          gpuMemoryUtilization: fc.integer({ min: 1, max: 100 }).map((percent) => percent / 100),
          maxNumSeqs: fc.integer({ min: 1, max: 512 }),
          prefixCaching: fc.boolean(),
          aliases: fc.option(fc.array(fc.constantFrom("a", "b/c", "d")), { nil: undefined }),
        }),
        (overlay) => {
          const words = argv(overlay);
          const flags = words.filter((word) => word.startsWith("--"));
          expect(words[0]).toBe("org/model");
          expect(new Set(flags).size).toBe(flags.length);
          expect(words.every((word) => word.length > 0)).toBe(true);
          expect(valuesOf(words, "--served-model-name")).toEqual(serveOf(parse(overlay)).names);
        },
      ),
    );
  });

  it.each([
    [{}, {}],
    [{ aliases: ["x", "y"], prefixCaching: false }, {}],
    [{ model: { id: "org/model" }, tools: { parser: "qwen3_xml" } }, { reasoningParser: null }],
    [{ model: { id: "org/model", kind: "base" } }, { toolParser: null, reasoningParser: null }],
  ])("say what `serve` says: %j", (overlay, expected) => {
    const server = parse(overlay);
    const serve = serveOf(server);
    const words = argv(overlay);
    expect(serve).toMatchObject(expected);
    expect(words[0]).toBe(serve.model);
    expect({
      names: valuesOf(words, "--served-model-name"),
      port: Number(valuesOf(words, "--port")?.[0]),
      maxModelLen: Number(valuesOf(words, "--max-model-len")?.[0]),
      maxNumSeqs: Number(valuesOf(words, "--max-num-seqs")?.[0]),
      gpuMemoryUtilization: Number(valuesOf(words, "--gpu-memory-utilization")?.[0]),
      kvCacheDtype: valuesOf(words, "--kv-cache-dtype")?.[0],
      prefixCaching: words.includes("--enable-prefix-caching"),
      toolParser: valuesOf(words, "--tool-call-parser")?.[0] ?? null,
      reasoningParser: valuesOf(words, "--reasoning-parser")?.[0] ?? null,
    }).toEqual({ ...serve, key: undefined, container: undefined, model: undefined });
  });
});
