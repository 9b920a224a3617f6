import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { admission, type KvEngineSettings, type KvPlan, kvPlan, modelShape } from "..";
import { requestBlocks } from "../cacheLayout";
import { windowBytes } from "../kvPlan";

const GIB = 2 ** 30;

const counts = fc.record({
  num_hidden_layers: fc.integer({ min: 4, max: 96 }),
  num_key_value_heads: fc.integer({ min: 1, max: 16 }),
  head_dim: fc.constantFrom(32, 64, 96, 128, 256),
});
const heads = counts.map((config) => ({
  ...config,
  num_attention_heads: 4 * config.num_key_value_heads,
}));
const sliding = fc.record({
  sliding_window: fc.integer({ min: 1, max: 8192 }),
  period: fc.integer({ min: 1, max: 8 }),
});
const linear = fc.record({
  linear_num_key_heads: fc.integer({ min: 1, max: 32 }),
  linear_num_value_heads: fc.integer({ min: 1, max: 64 }),
  linear_key_head_dim: fc.constantFrom(64, 128, 192),
  linear_value_head_dim: fc.constantFrom(64, 128, 256),
  linear_conv_kernel_dim: fc.integer({ min: 2, max: 8 }),
  full_attention_interval: fc.integer({ min: 2, max: 4 }),
  mamba_ssm_dtype: fc.constantFrom("float32", "bfloat16", "auto"),
  mtp_num_hidden_layers: fc.integer({ min: 0, max: 3 }),
});
const latent = fc.record({
  kv_lora_rank: fc.constantFrom(256, 512),
  qk_rope_head_dim: fc.constantFrom(32, 64),
});
/** Any model that can be planned: dense, sliding, hybrid and MLA. */
const model = fc
  .oneof(
    heads,
    fc.tuple(heads, sliding).map(([config, { sliding_window, period }]) => ({
      ...config,
      sliding_window,
      sliding_window_pattern: period,
    })),
    fc.tuple(heads, linear).map(([config, more]) => ({ ...config, ...more })),
    fc.tuple(heads, latent).map(([config, more]) => ({ ...config, ...more })),
  )
  .map((config) => modelShape(config));

const engine: fc.Arbitrary<KvEngineSettings & { maxModelLen: number }> = fc.record({
  vllmVersion: fc.constantFrom("0.26.0", "0.28.0", "0.29.1", "0.30.0", "0.33.0"),
  kvCacheDtype: fc.constantFrom("auto", "fp8", "bfloat16", "fp8_e4m3"),
  maxModelLen: fc.integer({ min: 1, max: 1_000_000 }),
  maxNumSeqs: fc.integer({ min: 1, max: 64 }),
  maxNumBatchedTokens: fc.integer({ min: 16, max: 16_384 }),
  draftTokens: fc.integer({ min: 0, max: 8 }),
  prefixCaching: fc.boolean(),
});
const bytes = fc.integer({ min: 0, max: 120 * GIB });

function numbers(value: unknown): number[] {
  if (typeof value === "number") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(numbers);
}

const fitsAt = (plan: KvPlan, tokens: number) =>
  requestBlocks(plan.layout, tokens) <= plan.usableBlocks;

describe("every KV plan", () => {
  it("has no negative, infinite or broken figure", () => {
    fc.assert(
      fc.property(model, engine, bytes, (shape, settings, available) => {
        for (const figure of numbers(kvPlan(shape, settings, available))) {
          expect(figure).toBeGreaterThanOrEqual(0);
          expect(Number.isFinite(figure)).toBe(true);
        }
      }),
    );
  });

  it("never takes more memory than there is, and wastes less than one block", () => {
    fc.assert(
      fc.property(model, engine, bytes, (shape, settings, available) => {
        const plan = kvPlan(shape, settings, available);
        const left = available - plan.numBlocks * plan.bytesPerBlock;
        expect(left).toBeGreaterThanOrEqual(0);
        expect(left).toBeLessThan(plan.bytesPerBlock);
      }),
    );
  });

  it("takes the block and the request that are also told without any memory", () => {
    fc.assert(
      fc.property(model, engine, bytes, (shape, settings, available) => {
        expect(kvPlan(shape, settings, available)).toMatchObject(windowBytes(shape, settings));
      }),
    );
  });

  it("does not get worse with more memory", () => {
    fc.assert(
      fc.property(model, engine, bytes, bytes, (shape, settings, a, b) => {
        const less = kvPlan(shape, settings, Math.min(a, b));
        const more = kvPlan(shape, settings, Math.max(a, b));
        expect(more.numBlocks).toBeGreaterThanOrEqual(less.numBlocks);
        expect(more.maxConcurrency).toBeGreaterThanOrEqual(less.maxConcurrency);
        expect(more.tokens).toBeGreaterThanOrEqual(less.tokens);
        expect(more.fullWindowsAtOnce).toBeGreaterThanOrEqual(less.fullWindowsAtOnce);
        expect(more.largestMaxModelLen ?? Infinity).toBeGreaterThanOrEqual(
          less.largestMaxModelLen ?? Infinity,
        );
        expect(Number(more.fits)).toBeGreaterThanOrEqual(Number(less.fits));
      }),
    );
  });

  it("names the largest length that fits: it fits, and one token more does not", () => {
    fc.assert(
      fc.property(model, engine, bytes, (shape, settings, available) => {
        const plan = kvPlan(shape, settings, available);
        const longest = plan.largestMaxModelLen;
        if (longest === null) {
          expect(shape.layers.full + plan.layers.draft).toBe(0);
          expect(fitsAt(plan, 10_000_000)).toBe(true);
          return;
        }
        if (longest > 0) expect(fitsAt(plan, longest)).toBe(true);
        expect(fitsAt(plan, longest + 1)).toBe(false);
        expect(longest % plan.blockSize).toBe(0);
        expect(plan.fits).toBe(settings.maxModelLen <= longest);
        if (longest > 0) {
          const again = kvPlan(shape, { ...settings, maxModelLen: longest }, available);
          expect([again.fits, again.fullWindowsAtOnce >= 1]).toEqual([true, true]);
        }
      }),
    );
  });

  it("fits exactly when the engine has an error to give, sequences aside", () => {
    fc.assert(
      fc.property(model, engine, bytes, (shape, settings, available) => {
        const plan = kvPlan(shape, settings, available);
        const refusals = plan.problems.filter((each) =>
          ["no_room", "request_does_not_fit"].includes(each.code),
        );
        expect(refusals).toHaveLength(plan.fits ? 0 : 1);
      }),
    );
  });

  it("says how much memory is missing: with so much more it fits, with one byte less it does not", () => {
    fc.assert(
      fc.property(model, engine, bytes, (shape, settings, available) => {
        const plan = kvPlan(shape, settings, available);
        const reserved = (plan.numBlocks - plan.usableBlocks) * plan.bytesPerBlock;
        const needed = plan.bytesPerRequest + (plan.numBlocks === 0 ? 0 : reserved);
        if (plan.numBlocks === 0) return;
        expect(kvPlan(shape, settings, needed).fits).toBe(true);
        expect(kvPlan(shape, settings, needed - 1).fits).toBe(false);
      }),
    );
  });

  it("has as many places in its groups as layers and padding together", () => {
    fc.assert(
      fc.property(model, engine, bytes, (shape, settings, available) => {
        const { layers } = kvPlan(shape, settings, available);
        expect(layers.groups * layers.layersPerGroup).toBe(
          layers.full + layers.sliding + layers.linear + layers.padding,
        );
      }),
    );
  });

  it("costs no less for a longer request", () => {
    fc.assert(
      fc.property(model, engine, fc.nat(1_000_000), fc.nat(1_000_000), (shape, settings, a, b) => {
        const { layout } = kvPlan(shape, settings, GIB);
        const [short, long] = [Math.min(a, b) + 1, Math.max(a, b) + 1];
        expect(requestBlocks(layout, short)).toBeLessThanOrEqual(requestBlocks(layout, long));
      }),
    );
  });

  it("admits only as many agents as its blocks and sequences hold", () => {
    fc.assert(
      fc.property(
        model,
        engine,
        bytes,
        fc.nat(60_000),
        fc.nat(40_000),
        (shape, settings, available, prompt, max) => {
          const plan = kvPlan(shape, settings, available);
          const { atOnce, blocksPerAgent } = admission(plan, {
            promptTokens: prompt + 1,
            maxTokens: max,
          });
          expect(atOnce * blocksPerAgent).toBeLessThanOrEqual(plan.usableBlocks);
          expect(atOnce).toBeLessThanOrEqual(settings.maxNumSeqs ?? 0);
        },
      ),
    );
  });
});
