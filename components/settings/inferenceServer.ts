import * as z from "zod";
import { optional, strictObject } from "zod";
import { serverKeys } from "../features";
import {
  bytes,
  containerImage,
  count,
  listenAddress,
  nonEmptyText,
  oneLine,
  port,
  required,
  servedName,
  textMatching,
  usual,
  utilization,
  variableName,
  word,
} from "../planned/fields";
import { imageVersions } from "./image";
import { measured, measuredSpeeds } from "./measured";
import { modelSettings } from "./model";
import { ownModelSettings } from "./ownModels";

const tools = strictObject({
  autoChoice: usual(true, z.boolean()).describe(
    "`--enable-auto-tool-choice`: the model decides when to call a tool. Coding agents need it.",
  ),
  parser: usual("auto", word())
    .describe(
      "`--tool-call-parser`. `auto` takes the family's parser (qwen3: `qwen3_coder`). Use `qwen3_xml` if `tool_calls` is empty and `content` holds XML; since vLLM 0.24 both names mean the same parser.",
    )
    .meta({ examples: ["auto", "qwen3_coder", "qwen3_xml"] }),
})
  .prefault({})
  .describe("Structured tool calls.");

const speculative = strictObject({
  method: nonEmptyText()
    .describe("Method, for example `mtp`.")
    .meta({ examples: ["mtp"] }),
  numSpeculativeTokens: count(1, 32).describe("Draft tokens for each step."),
  model: optional(nonEmptyText()).describe(
    "Hub id of the draft model, which methods such as `eagle3` need.",
  ),
}).describe(
  "`--speculative-config`: draft tokens, which speed up a single stream and cost KV cache.",
);

const healthcheck = strictObject({
  startPeriodMinutes: usual(45, count(15, 240)).describe(
    "Minutes during which a failing health check does not count. A first start compiles kernels for 10 to 15 minutes after loading.",
  ),
  intervalSeconds: usual(15, count(1, 600)).describe("Seconds between two checks."),
  timeoutSeconds: usual(5, count(1, 600)).describe("Seconds that a check may take."),
  retries: usual(8, count(1, 20)).describe(
    "Failed checks in a row before the container is unhealthy.",
  ),
})
  .prefault({})
  .describe("Container health check on /health.");

/** One vLLM server in a container ("instance B"), as in the stack file. */
export const inferenceServer = strictObject(
  {
    model: required(
      modelSettings,
      "Write `model: { id: OWNER/NAME }`; `serving models` lists those that are known.",
    ),
    servedModelName: required(
      servedName()
        .describe(
          "Canonical name that clients ask for. It must contain no slash (policy): coding clients can't address a name with one.",
        )
        .meta({ examples: ["qwen3.6-35b-a3b"] }),
      "Write the name that clients ask for, without a slash, such as `servedModelName: qwen3.6-35b-a3b`.",
    ),
    aliases: optional(z.array(servedName())).describe(
      "Further names for the same model. Default: the hub id alone.",
    ),
    image: containerImage(),
    versions: imageVersions.optional(),
    port: usual(8001, port()).describe(
      "TCP port, the same inside the container and on the machine.",
    ),
    listen: listenAddress().describe(
      "Address that the port is published on. On any address other than 127.0.0.1, everyone on the network can use the server: vLLM's own key guards only part of its routes. Publish the bridge instead, with a key.",
    ),
    gpuMemoryUtilization: required(
      utilization().describe(
        "`--gpu-memory-utilization`: share of the machine's TOTAL memory (not of what is free) that this server takes. All servers together stay at or under 0.90 (policy); vLLM's own default of 0.92 hangs this machine.",
      ),
      "Write the share of the machine's memory that this server takes, such as `gpuMemoryUtilization: 0.45`. The servers together take at most 0.90.",
    ),
    maxModelLen: required(
      count().describe(
        "`--max-model-len`: context window in tokens. Raising it makes vLLM compile kernels again, for the new tile sizes.",
      ),
      "Write the window in tokens, such as `maxModelLen: 131072`.",
    ),
    maxNumSeqs: usual(4, count()).describe(
      "`--max-num-seqs`: sequences served at once. Always passed: vLLM's default changes with its version.",
    ),
    maxNumBatchedTokens: usual(8192, count()).describe(
      "`--max-num-batched-tokens`: tokens in one batch. Always passed, for the same reason.",
    ),
    kvCacheDtype: usual(
      "fp8",
      textMatching(/^[a-z0-9_]+$/, "Expected a name such as fp8, auto or bfloat16"),
    )
      .describe("`--kv-cache-dtype`. `fp8` halves the bytes per token.")
      .meta({ examples: ["fp8", "auto", "bfloat16", "nvfp4"] }),
    kvCacheMemoryBytes: optional(bytes()).describe(
      "`--kv-cache-memory-bytes`: fixed size of the KV cache, in bytes. vLLM then ignores the utilization for the cache, so the plan counts the larger of two figures: the share, or these bytes plus the memory outside the cache. vLLM's start check still uses the utilization.",
    ),
    startAnyway: optional(oneLine())
      .describe(
        "Your reason to apply this server although the plan says that it cannot start: `server-starts` then warns and shows the reason, instead of refusing. Only for somebody who knows better than the figures; `model.weightsGB` and `measured` mend those.",
      )
      .meta({ examples: ["it started with these settings on our other machine"] }),
    ...serverKeys,
    trustRemoteCode: usual(false, z.boolean()).describe(
      "`--trust-remote-code`: runs code that comes with the model. Only for a model you trust.",
    ),
    chunkedPrefill: usual(true, z.boolean()).describe("`--enable-chunked-prefill`."),
    prefixCaching: usual(true, z.boolean()).describe(
      "`--enable-prefix-caching`: decides between a working agent loop and a very slow one.",
    ),
    tools,
    reasoningParser: usual("auto", word()).describe(
      "`--reasoning-parser`. `auto` takes the family's parser for a model with a thinking mode, and passes no flag at all for one without.",
    ),
    moeBackend: optional(word()).describe(
      "`--moe-backend`: `marlin` is the sound choice for NVFP4 mixture-of-experts models on a GB10.",
    ),
    attentionBackend: optional(word()).describe("`--attention-backend`, for example `FLASHINFER`."),
    gdnPrefillBackend: optional(word()).describe(
      "`--gdn-prefill-backend`: kernel for gated-deltanet prefill, for example `triton`. Needs vLLM 0.33 or later.",
    ),
    loadFormat: optional(word()).describe("`--load-format`, for example `fastsafetensors`."),
    chatTemplate: optional(word()).describe(
      "`--chat-template`: a path inside the container, the template itself, or `tolerant`. `tolerant` is the model's own template, changed to accept a system message in the middle of a conversation: it appends that message to the one before. This lets a client with `via: native` find its prefix in the cache again.",
    ),
    speculative: speculative.optional(),
    ...ownModelSettings,
    allowedOrigins: usual([], z.array(nonEmptyText()))
      .describe(
        "`--allowed-origins`: web pages that may call the server from a browser, by origin. Always passed, since vLLM's own default changes with its version and lets any page call a server that checks no key. Programs other than browsers are not affected.",
      )
      .meta({ examples: [["http://localhost:3000"]] }),
    compileJobs: usual(2, count(1, 20)).describe(
      "MAX_JOBS and NINJA_JOBS: compile processes at once. About 8 of them beside loaded weights end in exit 137 (killed).",
    ),
    environment: usual(
      {},
      z.record(variableName(), z.string().describe("Value of this variable, as text.")),
    ).describe(
      "Further environment variables. No secrets: values are shown in the plan and kept in the state. A variable that has a setting of its own is refused here.",
    ),
    huggingFaceTokenVariable: optional(variableName()).describe(
      "NAME of the variable of your shell that holds a Hugging Face token, for a gated model. Its value reaches the container as a file of mode 0600, and is in no plan, preview, log or environment.",
    ),
    extraArgs: usual([], z.array(nonEmptyText())).describe(
      "Further arguments of `vllm serve`, as they are. A flag that has a setting of its own is refused here.",
    ),
    measured: measured.optional(),
    measuredSpeeds: measuredSpeeds.optional(),
    healthcheck,
    lockedMemoryBytes: usual(-1, count(-1)).describe(
      "Limit on locked memory (ulimit memlock) in bytes; -1 is unlimited, as the published recipes for this machine have it. A daemon that may not raise its own limit needs a smaller one.",
    ),
    stopGraceSeconds: usual(60, count(1, 600)).describe(
      "Seconds that the server gets to stop before it is killed.",
    ),
    start: usual("always", z.enum(["always", "onRequest"])).describe(
      "`onRequest`: `up` creates the container but doesn't start it. `serving start NAME` starts it if it fits beside what runs, and else says what to stop. More such servers may be declared than fit at once: the plan says which run together (guide: models on demand).",
    ),
    idleMinutes: optional(z.union([z.literal("never"), count(1, 1440)]))
      .describe(
        "Minutes without a request after which the server is stopped. `never`: only when another server needs its memory. Needs `start: onRequest` and the machine's `onDemand`. Default: 30.",
      )
      .meta({ examples: [30, "never"] }),
  },
  {
    error: ({ code, keys }) =>
      code === "unrecognized_keys" && keys?.includes("executor")
        ? "There is no `executor`: vLLM's own processes run the model, even over several machines (`nodes`), since vLLM's image has no Ray. Delete this line."
        : undefined,
  },
).describe("A vLLM server in a container.");

export type InferenceServerSettings = z.output<typeof inferenceServer>;
