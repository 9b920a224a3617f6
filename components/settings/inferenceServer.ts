import { z } from "zod";
import { listenAddress, port, servedName, utilization, variableName } from "../planned/fields";
import { imageReference, imageVersions } from "./image";
import { measured } from "./measured";
import { model } from "./model";

const tools = z
  .strictObject({
    autoChoice: z
      .boolean()
      .default(true)
      .describe("`--enable-auto-tool-choice`: the model decides when to call a tool. Coding agents need it."),
    parser: z
      .string()
      .min(1)
      .default("auto")
      .describe(
        "`--tool-call-parser`. `auto` takes the family's parser (qwen3: `qwen3_coder`). Use `qwen3_xml` when `tool_calls` is empty with XML in `content`; from vLLM 0.24 on both names are one parser.",
      )
      .meta({ examples: ["auto", "qwen3_coder", "qwen3_xml"] }),
  })
  .prefault({})
  .describe("Structured tool calls.");

const speculative = z
  .strictObject({
    method: z
      .string()
      .min(1)
      .describe("Method, for example `mtp`.")
      .meta({ examples: ["mtp"] }),
    numSpeculativeTokens: z.int().min(1).max(32).describe("Draft tokens for each step."),
    model: z.string().min(1).optional().describe("Draft model, where the method needs one."),
  })
  .describe("`--speculative-config`: draft tokens, which speed up a single stream and cost KV cache.");

const healthcheck = z
  .strictObject({
    startPeriodMinutes: z
      .int()
      .min(15)
      .max(240)
      .default(45)
      .describe(
        "Minutes during which a failing health check does not count. A first boot compiles kernels for 10 to 15 minutes after loading.",
      ),
    intervalSeconds: z.int().min(1).max(600).default(15).describe("Seconds between two checks."),
    timeoutSeconds: z.int().min(1).max(600).default(5).describe("Seconds that a check may take."),
    retries: z
      .int()
      .min(1)
      .max(20)
      .default(8)
      .describe("Failed checks in a row before the container is unhealthy."),
  })
  .prefault({})
  .describe("Container health check on /health.");

/** One vLLM server in a container ("instance B"), as in the stack file. */
export const inferenceServer = z
  .strictObject({
    model,
    servedModelName: servedName()
      .describe(
        "Canonical name that clients ask for. It must contain no slash (policy): a coding client can't address one.",
      )
      .meta({ examples: ["qwen3.6-35b-a3b"] }),
    aliases: z
      .array(servedName())
      .optional()
      .describe("Further names for the same model. Default: the hub id alone."),
    image: imageReference(),
    versions: imageVersions.optional(),
    port: port().default(8001).describe("TCP port, the same inside the container and on the machine."),
    listen: listenAddress().describe(
      "Address that the port is published on. On any other than 127.0.0.1 everyone on the network can use the server: vLLM's own key guards only part of its routes. Publish the bridge instead, with a key.",
    ),
    gpuMemoryUtilization: utilization().describe(
      "`--gpu-memory-utilization`: share of the machine's TOTAL memory (not of what is free) that this server takes. All servers together stay at or under 0.90 (policy); vLLM's own default of 0.92 hangs this machine.",
    ),
    maxModelLen: z
      .int()
      .min(1)
      .describe(
        "`--max-model-len`: context window in tokens. Raising it compiles kernels anew for the new tile sizes.",
      ),
    maxNumSeqs: z
      .int()
      .min(1)
      .default(4)
      .describe(
        "`--max-num-seqs`: sequences served at once. Always passed: vLLM's default changes with its version.",
      ),
    maxNumBatchedTokens: z
      .int()
      .min(1)
      .default(8192)
      .describe("`--max-num-batched-tokens`: tokens in one batch. Always passed, for the same reason."),
    kvCacheDtype: z
      .string()
      .regex(/^[a-z0-9_]+$/, "Expected a name such as fp8, auto or bfloat16")
      .default("fp8")
      .describe("`--kv-cache-dtype`. `fp8` halves the bytes per token.")
      .meta({ examples: ["fp8", "auto", "bfloat16", "nvfp4"] }),
    kvCacheMemoryBytes: z
      .int()
      .positive()
      .optional()
      .describe(
        "`--kv-cache-memory-bytes`: fixed size of the KV cache, in bytes. vLLM then ignores the utilization for the cache, so the plan counts the larger of the share and what lies outside the cache plus these bytes. vLLM's start check still uses the utilization.",
      ),
    tensorParallelSize: z
      .int()
      .min(1)
      .default(1)
      .describe("`--tensor-parallel-size`: 1 on a single machine."),
    trustRemoteCode: z
      .boolean()
      .default(false)
      .describe("`--trust-remote-code`: runs code that comes with the model. Only for a model you trust."),
    chunkedPrefill: z.boolean().default(true).describe("`--enable-chunked-prefill`."),
    prefixCaching: z
      .boolean()
      .default(true)
      .describe("`--enable-prefix-caching`: decides between a working agent loop and a very slow one."),
    tools,
    reasoningParser: z
      .string()
      .min(1)
      .default("auto")
      .describe(
        "`--reasoning-parser`. `auto` takes the family's parser for a model with a thinking mode, and passes no flag at all for one without.",
      ),
    moeBackend: z
      .string()
      .min(1)
      .optional()
      .describe(
        "`--moe-backend`: `marlin` is the sound choice for NVFP4 mixture-of-experts models on a GB10.",
      ),
    attentionBackend: z
      .string()
      .min(1)
      .optional()
      .describe("`--attention-backend`, for example `FLASHINFER`."),
    gdnPrefillBackend: z
      .string()
      .min(1)
      .optional()
      .describe(
        "`--gdn-prefill-backend`: kernel for gated-deltanet prefill, for example `triton`. Needs vLLM 0.33 or later.",
      ),
    loadFormat: z.string().min(1).optional().describe("`--load-format`, for example `fastsafetensors`."),
    chatTemplate: z
      .string()
      .min(1)
      .optional()
      .describe(
        "`--chat-template`: a path inside the container or the template itself. Changes how inline system turns are rendered.",
      ),
    speculative: speculative.optional(),
    allowedOrigins: z
      .array(z.string().min(1))
      .default([])
      .describe(
        "`--allowed-origins`: web pages that may call the server from a browser, by origin. Always passed, since vLLM's own default changes with its version and lets any page call a server that checks no key. Programs other than browsers are not affected.",
      )
      .meta({ examples: [["http://localhost:3000"]] }),
    flashinferMoeFp4: z
      .boolean()
      .default(false)
      .describe(
        "VLLM_USE_FLASHINFER_MOE_FP4: the FP4 mixture-of-experts fast path, set to 0 when false. vLLM dropped the variable in 0.24; `moeBackend` carries the intent since then.",
      ),
    compileJobs: z
      .int()
      .min(1)
      .max(20)
      .default(2)
      .describe(
        "MAX_JOBS and NINJA_JOBS: compile processes at once. About 8 of them beside resident weights end in exit 137.",
      ),
    environment: z
      .record(variableName(), z.string().describe("Value of this variable, as text."))
      .default({})
      .describe(
        "Further environment variables. No secrets: values are shown in the plan and kept in the state.",
      ),
    huggingFaceTokenVariable: variableName()
      .optional()
      .describe(
        "NAME of the variable of your shell that holds a Hugging Face token, for a gated model. Its value reaches the container as a file of mode 0600, and is in no plan, preview, log or environment.",
      ),
    extraArgs: z
      .array(z.string().min(1))
      .default([])
      .describe(
        "Further arguments of `vllm serve`, as they are. A flag that has a setting of its own is refused here.",
      ),
    measured: measured.optional(),
    healthcheck,
    lockedMemoryBytes: z
      .int()
      .min(-1)
      .default(-1)
      .describe(
        "Limit on locked memory (ulimit memlock) in bytes; -1 is unlimited, as the published recipes for this machine have it. A daemon that may not raise its own limit needs a smaller one.",
      ),
    stopGraceSeconds: z
      .int()
      .min(1)
      .max(600)
      .default(60)
      .describe("Seconds that the server gets to stop before it is killed."),
  })
  .describe("A vLLM server in a container.");

/** The settings of one inference server, parsed. */
export type InferenceServerSettings = z.output<typeof inferenceServer>;
