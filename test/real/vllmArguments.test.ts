import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, inject, it } from "vitest";
import { launchArguments } from "../../components/inference-server/launchArguments";
import { served } from "../../components/inference-server/serve";
import { inferenceServer } from "../../components/settings/inferenceServer";
import { loadStackFile } from "../../components/settings/load";
import { serverInput } from "../fixtures/machine";
import { title } from "./programs";

const { vllm } = inject("programs");

/**
 * vLLM's own parser and checks of the server's arguments, as `vllm serve` calls them. The machine here has no GPU, so it
 * is told that there is one; nothing else of vLLM runs.
 */
const PARSE = `
import json, sys
from vllm.platforms import current_platform
type(current_platform).device_type = "cuda"
from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser
arguments = make_arg_parser(FlexibleArgumentParser()).parse_args(json.loads(sys.argv[1]))
validate_parsed_serve_args(arguments)
names = ["model_tag", "served_model_name", "port", "max_model_len", "max_num_seqs", "max_num_batched_tokens",
  "gpu_memory_utilization", "kv_cache_dtype", "tool_call_parser", "reasoning_parser", "moe_backend", "trust_remote_code",
  "enable_prefix_caching", "enable_chunked_prefill", "enable_auto_tool_choice", "allowed_origins"]
print("PARSED " + json.dumps({name: getattr(arguments, name) for name in names}))
`;

/** What vLLM makes of the arguments. Rejects with vLLM's own words where it refuses them. */
async function parsed(argv: readonly string[]): Promise<Record<string, unknown>> {
  if ("missing" in vllm) throw new Error(vllm.missing);
  const { stdout } = await promisify(execFile)(vllm.path, ["-c", PARSE, JSON.stringify(argv)], {
    timeout: 170_000,
  });
  return JSON.parse(stdout.split("PARSED ")[1] ?? "") as Record<string, unknown>;
}

describe.skipIf("missing" in vllm)(title("vLLM 0.30.0's own parser", vllm), () => {
  it("takes the default instance B as it is meant", async () => {
    const server = loadStackFile("Pulumi.dgx.yaml").machines.dgx?.inferenceServers.b;
    expect(await parsed(server === undefined ? [] : launchArguments(server, served("b", "container", server)))).toEqual(
      {
        model_tag: "nvidia/Qwen3.6-35B-A3B-NVFP4",
        served_model_name: ["qwen3.6-35b-a3b", "nvidia/Qwen3.6-35B-A3B-NVFP4"],
        port: 8001,
        max_model_len: 262144,
        max_num_seqs: 4,
        max_num_batched_tokens: 8192,
        gpu_memory_utilization: 0.45,
        kv_cache_dtype: "fp8",
        tool_call_parser: "qwen3_coder",
        reasoning_parser: "qwen3",
        moe_backend: "marlin",
        trust_remote_code: true,
        enable_prefix_caching: true,
        enable_chunked_prefill: true,
        enable_auto_tool_choice: true,
        allowed_origins: expect.anything(),
      },
    );
  });

  it("takes every other flag that a setting can pass", async () => {
    const server = inferenceServer.parse(
      serverInput({
        kvCacheMemoryBytes: 4_294_967_296,
        chunkedPrefill: false,
        prefixCaching: false,
        tools: { parser: "qwen3_xml" },
        attentionBackend: "FLASHINFER",
        gdnPrefillBackend: "triton",
        loadFormat: "safetensors",
        chatTemplate: "{{ messages }}",
        speculative: { method: "mtp", numSpeculativeTokens: 3 },
        allowedOrigins: ["http://localhost:8080"],
        extraArgs: ["--seed", "7"],
      }),
    );
    expect(await parsed(launchArguments(server, served("b", "container", server)))).toMatchObject({
      enable_chunked_prefill: false,
      enable_prefix_caching: false,
      tool_call_parser: "qwen3_xml",
      allowed_origins: ["http://localhost:8080"],
    });
  });

  it("refuses what we would never pass, so that acceptance means something", async () => {
    await expect(parsed(["org/model", "--enable-auto-tool-choice"])).rejects.toThrow(
      "--enable-auto-tool-choice requires",
    );
  });
});
