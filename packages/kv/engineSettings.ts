import { FaultyInput } from "@local-serving/base/faults/fault";
import { readBy } from "@local-serving/base/faults/schemaFaults";
import { parse } from "@renovatebot/pep440";
import * as z from "zod";
import { strictObject } from "zod";
import { SSM_CACHE_DTYPES } from "./configSchema";
import { KV_DTYPES } from "./kvDtype";

/** The release whose rules a plan follows where nothing says another. */
const PLANNED_RELEASE = "0.30.0";

const GDN_PREFILL_BACKENDS = ["auto", "flashinfer", "triton", "cutedsl"] as const;

const count = (least: number) => z.int().min(least);

/**
 * The engine's settings that the KV cache depends on. Defaults are vLLM's own on a GB10, for the
 * pinned release.
 */
const kvEngineSettingsSchema = strictObject({
  vllmVersion: z
    .string()
    .refine((text) => parse(text) !== null, "Not a version such as 0.30.0.")
    .default(PLANNED_RELEASE)
    .describe("vLLM version, as `vllm --version` prints it; the rules of the cache depend on it"),
  kvCacheDtype: z
    .enum(KV_DTYPES)
    .default("auto")
    .describe("`--kv-cache-dtype`; auto: what the model says"),
  maxModelLen: count(1)
    .optional()
    .describe("`--max-model-len` in tokens; absent: the model's own context window"),
  maxNumSeqs: count(1)
    .optional()
    .describe("`--max-num-seqs`; absent: not checked against the blocks of the pool"),
  maxNumBatchedTokens: count(1)
    .default(2048)
    .describe("`--max-num-batched-tokens`; sliding-window layers keep room for two such batches"),
  draftTokens: count(0)
    .max(1024)
    .default(0)
    .describe("draft tokens of a step (`num_speculative_tokens`); 0: no speculative decoding"),
  prefixCaching: z.boolean().default(true).describe("`--enable-prefix-caching`"),
  prefixMatchUnit: count(1)
    .optional()
    .describe(
      "`--prefix-match-unit`: prefixes are reused in steps of this many tokens; absent: in steps of a block",
    ),
  gdnPrefillBackend: z
    .enum(GDN_PREFILL_BACKENDS)
    .default("auto")
    .describe("`--gdn-prefill-backend`; auto: FlashInfer if its kernel supports the model"),
  mambaSsmCacheDtype: z
    .enum(SSM_CACHE_DTYPES)
    .default("auto")
    .describe("`--mamba-ssm-cache-dtype`; auto: what the model says"),
  tensorParallelSize: count(1)
    .max(64)
    .default(1)
    .describe("`--tensor-parallel-size`; the plan is for one device"),
});

/** Settings as they are written; what is left out takes vLLM's default. */
export type KvEngineSettings = z.input<typeof kvEngineSettingsSchema>;

export type ResolvedKvEngineSettings = z.output<typeof kvEngineSettingsSchema>;

/** What holds where a setting is left out; `maxModelLen` and `maxNumSeqs` have no default. */
export const KV_ENGINE_DEFAULTS: ResolvedKvEngineSettings = kvEngineSettingsSchema.parse({});

/** Fills in defaults. Throws `FaultyInput` with every setting that is out of its range. */
export function resolveKvEngineSettings(settings: KvEngineSettings): ResolvedKvEngineSettings {
  const { data, faults } = readBy(kvEngineSettingsSchema, settings);
  if (data === undefined) throw new FaultyInput("engine settings", faults);
  return data;
}

/** The values that a setting with a fixed choice takes. */
export const KV_ENGINE_CHOICES = {
  kvCacheDtype: KV_DTYPES,
  gdnPrefillBackend: GDN_PREFILL_BACKENDS,
  mambaSsmCacheDtype: SSM_CACHE_DTYPES,
} as const;
