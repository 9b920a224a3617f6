import { describe, expect, it } from "vitest";
import { type KvEngineSettings, kvPlan, modelShape } from "..";
import vectors from "./vectors.json";

/** Plans that vLLM's own classes made (0.26.0 and 0.33.0, told that they run on a GB10). */
interface Vector {
  id: string;
  vllm: string;
  config: unknown;
  options: {
    kv_cache_dtype: string;
    max_model_len: number;
    max_num_seqs: number;
    max_num_batched_tokens: number;
    enable_prefix_caching: boolean;
    num_speculative_tokens: number;
    gdn_prefill_backend?: string;
    available_kv_bytes: number;
  };
  expected: {
    fits: boolean;
    error?: string;
    block_size: number;
    bytes_per_block: number;
    num_blocks: number;
    blocks_per_request_at_max_len: number;
    bytes_per_request_at_max_len: number;
    max_concurrency?: number;
    kv_cache_size_tokens?: number;
  };
}

function planOf(vector: Vector) {
  const { options } = vector;
  const engine: KvEngineSettings = {
    vllmVersion: vector.vllm,
    kvCacheDtype: options.kv_cache_dtype as KvEngineSettings["kvCacheDtype"],
    maxModelLen: options.max_model_len,
    maxNumSeqs: options.max_num_seqs,
    maxNumBatchedTokens: options.max_num_batched_tokens,
    draftTokens: options.num_speculative_tokens,
    prefixCaching: options.enable_prefix_caching,
    gdnPrefillBackend: (options.gdn_prefill_backend ??
      "auto") as KvEngineSettings["gdnPrefillBackend"],
  };
  return kvPlan(modelShape(vector.config), engine, options.available_kv_bytes);
}

const all = vectors as Vector[];

describe("plans of vLLM's own classes", () => {
  it("are 23, of which 2 don't fit", () => {
    expect([all.length, all.filter((each) => !each.expected.fits).length]).toEqual([23, 2]);
  });

  it.each(all.map((vector) => [vector.id, vector] as const))("%s", (_, vector) => {
    const plan = planOf(vector);
    const { expected } = vector;
    expect({
      fits: plan.fits,
      blockSize: plan.blockSize,
      bytesPerBlock: plan.bytesPerBlock,
      numBlocks: plan.numBlocks,
      blocksPerRequest: plan.blocksPerRequest,
      bytesPerRequest: plan.bytesPerRequest,
    }).toEqual({
      fits: expected.fits,
      blockSize: expected.block_size,
      bytesPerBlock: expected.bytes_per_block,
      numBlocks: expected.num_blocks,
      blocksPerRequest: expected.blocks_per_request_at_max_len,
      bytesPerRequest: expected.bytes_per_request_at_max_len,
    });
    if (!expected.fits) return;
    expect(plan.maxConcurrency).toBe(expected.max_concurrency);
    expect(plan.tokens).toBe(expected.kv_cache_size_tokens);
    expect(plan.problems.filter((each) => each.severity === "error")).toEqual([]);
  });

  it.each(
    all.filter((each) => each.expected.error !== undefined).map((each) => [each.id, each] as const),
  )("%s: refused with the engine's own figures", (_, vector) => {
    const plan = planOf(vector);
    const [, needed, usable, longest] =
      /\(([\d.]+ GiB) KV cache is needed.*memory \(([\d.]+ GiB)\).*model length is (\d+)\./.exec(
        vector.expected.error ?? "",
      ) ?? [];
    expect(plan.problems.map((each) => each.code)).toEqual(["request_does_not_fit"]);
    expect(plan.problems[0]?.message).toContain(
      `One request of ${vector.options.max_model_len} tokens needs ${needed} of KV cache; ${usable} can be used.`,
    );
    expect(plan.largestMaxModelLen).toBe(Number(longest));
  });
});
