import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, inject, it } from "vitest";
import { launchArguments } from "../../components/inference-server/launchArguments";
import { served } from "../../components/inference-server/serve";
import { plan } from "../../components/plan/plan";
import { serversOn } from "../../components/planned/servers";
import { inferenceServer } from "../../components/settings/inferenceServer";
import { loadStackFile } from "../../components/settings/load";
import { serverInput } from "../fixtures/machine";
import { ranks } from "../fixtures/ranks";
import { type Program, title } from "./programs";

const { vllm } = inject("programs");

/**
 * vLLM's own parser and checks of the server's arguments, as `vllm serve` calls them. The machine
 * here has no GPU, so it is told that there is one; nothing else of vLLM runs.
 */
const PARSE = `
import json, sys
from vllm.platforms import current_platform
type(current_platform).device_type = "cuda"
try:
  from vllm.entrypoints.common.cli_args import make_arg_parser, validate_parsed_serve_args
except ImportError:
  from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser
arguments = make_arg_parser(FlexibleArgumentParser()).parse_args(json.loads(sys.argv[1]))
validate_parsed_serve_args(arguments)
names = ["model_tag", "served_model_name", "port", "max_model_len", "max_num_seqs", "max_num_batched_tokens",
  "gpu_memory_utilization", "kv_cache_dtype", "tool_call_parser", "reasoning_parser", "moe_backend", "trust_remote_code",
  "enable_prefix_caching", "enable_chunked_prefill", "enable_auto_tool_choice", "allowed_origins"]
print("PARSED " + json.dumps({name: getattr(arguments, name) for name in names}))
`;

/**
 * The same of a rank, with what vLLM makes of its place among the machines, and of its variables.
 */
const PARSE_RANK = `${PARSE}
import vllm.envs as envs
from vllm.config import ParallelConfig
from vllm.utils.network_utils import get_ip
names = ["tensor_parallel_size", "nnodes", "node_rank", "master_addr", "master_port", "distributed_timeout_seconds"]
config = ParallelConfig(**{name: getattr(arguments, name) for name in names})
print("PARSED " + json.dumps({"executor": config.distributed_executor_backend, "here": config.local_world_size,
  "rank": config.node_rank, "of": config.nnodes, "headless": arguments.headless, "host": arguments.host, "own": get_ip(),
  "step": envs.VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS, "unknown": [name for name in sys.argv[2:] if name not in envs.environment_variables]}))
`;

/** What vLLM makes of the arguments. Rejects with vLLM's own words where it refuses them. */
async function parsed(
  argv: readonly string[],
  python = vllm,
  env: Readonly<Record<string, string>> = {},
) {
  if ("missing" in python) throw new Error(python.missing);
  const script = Object.keys(env).length === 0 ? PARSE : PARSE_RANK;
  const variables = Object.keys(env).filter((name) => name.startsWith("VLLM_"));
  const { stdout } = await promisify(execFile)(
    python.path,
    ["-c", script, JSON.stringify(argv), ...variables],
    {
      timeout: 170_000,
      env: { ...process.env, ...env },
    },
  );
  return JSON.parse(stdout.split("PARSED ").at(-1) ?? "") as Record<string, unknown>;
}

describe.skipIf("missing" in vllm)(title("vLLM 0.30.0's own parser", vllm), () => {
  it("takes the default instance B as it is meant", async () => {
    const server = loadStackFile("Pulumi.dgx.yaml").machines.dgx?.inferenceServers.b;
    expect(
      await parsed(
        server === undefined ? [] : launchArguments(server, served("b", "container", server)),
      ),
    ).toEqual({
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
    });
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

/** The environment that the KV cache's test keeps, where it keeps any. */
const newer = join(process.env.ENGINES_KEPT_IN ?? "/nowhere", "kv-0.33.0", "bin", "python");
const PARSERS: readonly [string, Program][] = [
  ["0.30.0", vllm],
  [
    "0.33.0",
    existsSync(newer) ? { path: newer } : { missing: "ENGINES_KEPT_IN keeps no kv-0.33.0" },
  ],
];

describe.each(PARSERS)("two ranks, by vLLM %s", (version, python) => {
  it.skipIf("missing" in python)(
    title("are two nodes of one server, each at its own address", python),
    async () => {
      const { machines } = plan(ranks(), { home: "/home/me" });
      const [head, worker] = machines.flatMap(serversOn).map(({ container }) => container);
      const of = (container = head) => parsed(container?.command ?? [], python, container?.env);
      const both = { executor: "mp", here: 1, of: 2, host: "192.168.100.1", step: 1800 };
      // It went in 0.24; `serving plan` warns of it.
      const unknown = ["VLLM_USE_FLASHINFER_MOE_FP4"];
      expect(await of(head), version).toEqual({
        ...both,
        unknown,
        rank: 0,
        headless: false,
        own: "192.168.100.1",
      });
      expect(await of(worker), version).toEqual({
        ...both,
        unknown,
        rank: 1,
        headless: true,
        own: "192.168.100.2",
      });
    },
  );
});
