import { z } from "zod";
import type { KvDtype } from "./kvDtype";

const scheme = z.looseObject({ num_bits: z.number(), type: z.string() });
const algorithm = z.looseObject({
  kv_cache_scheme: z.unknown().optional(),
  kv_cache_quant_algo: z.unknown().optional(),
});
const quantization = algorithm.extend({
  quant_method: z.string().nullish(),
  producer: z.looseObject({ name: z.string().nullish() }).nullish(),
  quantization: algorithm.nullish(),
});

const BY_ALGORITHM: Readonly<Record<string, KvDtype>> = { fp8: "fp8_e4m3", nvfp4: "nvfp4" };

/**
 * The KV cache format that a quantized checkpoint asks for; vLLM takes it when `--kv-cache-dtype` is `auto`.
 * Source: vLLM 0.28 `torch_utils.py` get_kv_cache_quant_algo_string and `attention.py`.
 * `null` where it asks for none, or in a way that vLLM does not follow either.
 */
export function checkpointKvDtype(quantizationConfig: unknown): KvDtype | null {
  const parsed = quantization.safeParse(quantizationConfig);
  if (!parsed.success) return null;
  const config = parsed.data;
  const method = config.quant_method ?? config.producer?.name ?? "";
  const modelopt = method.toLowerCase().startsWith("modelopt");
  if (!modelopt) return config.kv_cache_scheme == null ? null : "fp8";
  const asked =
    config.quantization?.kv_cache_scheme ??
    config.kv_cache_scheme ??
    config.quantization?.kv_cache_quant_algo ??
    config.kv_cache_quant_algo;
  if (typeof asked === "string") {
    const name = asked.toLowerCase();
    return Object.hasOwn(BY_ALGORITHM, name) ? (BY_ALGORITHM[name] ?? null) : null;
  }
  const described = scheme.safeParse(asked);
  if (!described.success || described.data.type !== "float") return null;
  if (described.data.num_bits === 8 && described.data.dynamic === false) return "fp8";
  return described.data.num_bits === 4 ? "nvfp4" : null;
}
