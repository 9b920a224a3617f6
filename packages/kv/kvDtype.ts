import type { DataOf } from "@local-serving/base/data/dataOf";
import * as z from "zod";
import type { AttentionShape } from "./attentionShape";
import type { kvDtypeSchema } from "./schema";

/**
 * Bytes of one cached vector of `width` numbers, by `--kv-cache-dtype`. Sources: vLLM 0.28
 * `torch_utils.py` (nvfp4_kv_cache_full_dim), `triton_attn.py` (per-token-head scales),
 * `kv_cache_interface.py`.
 */
const HALF = (width: number) => 2 * width;
const BYTE = (width: number) => width;
/** Two numbers a byte, and a one-byte scale for every 16 numbers. */
const NVFP4 = (width: number) => Math.floor(width / 2) + Math.floor(width / 16);

/** A format of the KV cache that can be planned. */
export type KvDtype = DataOf<typeof kvDtypeSchema>;

const VECTOR_BYTES: Readonly<Record<KvDtype, (width: number) => number>> = {
  bfloat16: HALF,
  float16: HALF,
  fp8: BYTE,
  fp8_e4m3: BYTE,
  fp8_e5m2: BYTE,
  fp8_inc: BYTE,
  nvfp4: NVFP4,
  nvfp4_4over6: NVFP4,
  fp8_per_token_head: BYTE,
  int8_per_token_head: BYTE,
  int4_per_token_head: (width: number) => Math.floor(width / 2),
};

/**
 * Every `--kv-cache-dtype` that can be planned. vLLM's fp8_ds_mla and turboquant_* have layouts of
 * their own.
 */
export const KV_DTYPES = ["auto", ...(Object.keys(VECTOR_BYTES) as KvDtype[])] as const;

/** The `--kv-cache-dtype` that a text names; `undefined` for one that can't be planned. */
export const plannedKvDtype = (text: string): KvDtype | "auto" | undefined =>
  KV_DTYPES.find((dtype) => dtype === text);

/**
 * `auto` means the model's own format, which is one of two bytes, unless the checkpoint asks for
 * another.
 */
const AUTO: KvDtype = "bfloat16";

/** Per-token-head formats keep one float32 scale beside each key and each value. */
const SCALE_BYTES = 4;

/**
 * The format that `--kv-cache-dtype` comes to for a checkpoint; packed vectors are always in fp8.
 */
export function resolveKvDtype(
  setting: KvDtype | "auto",
  checkpoint: KvDtype | null,
  attention: AttentionShape,
): KvDtype {
  if (setting !== "auto") return setting;
  return checkpoint ?? (attention.kind === "packed" ? "fp8" : AUTO);
}

/** Formats of the one backend for MLA on a GB10 (vLLM 0.30 `triton_mla.py`). */
const FOR_LATENT: readonly KvDtype[] = ["bfloat16", "float16", "fp8", "fp8_e4m3"];
/**
 * Formats that vLLM serves by packed vectors on a GB10 (vLLM 0.30
 * `flashinfer_mla_sparse_sm120.py`).
 */
const FOR_PACKED: readonly KvDtype[] = ["fp8", "fp8_e4m3"];

/** Whether vLLM takes the format for such an attention. */
export function supports(attention: AttentionShape, dtype: KvDtype): boolean {
  if (attention.kind === "heads") return true;
  return (attention.kind === "packed" ? FOR_PACKED : FOR_LATENT).includes(dtype);
}

/**
 * Formats that vLLM has for other machines only: NVFP4 from compute capability 10, fp8_inc on Gaudi
 * (vLLM 0.30).
 */
const ELSEWHERE: readonly KvDtype[] = ["nvfp4", "nvfp4_4over6", "fp8_inc"];

/**
 * Whether vLLM as it is published has an attention backend for the format on a GB10 (compute
 * capability 12.1).
 */
export const servedOnGb10 = (dtype: KvDtype): boolean => !ELSEWHERE.includes(dtype);

/**
 * Bytes that one attention layer caches of one token on one device.
 *
 * @param devices tensor-parallel size; heads are divided among them (at least one each), an MLA
 * vector is not
 */
export function bytesPerToken(attention: AttentionShape, dtype: KvDtype, devices: number): number {
  if (attention.kind === "packed") return attention.bytes;
  const scales = dtype.endsWith("_per_token_head") ? 2 * SCALE_BYTES : 0;
  if (attention.kind === "latent") return VECTOR_BYTES[dtype](attention.width) + scales;
  const heads = Math.max(1, Math.floor(attention.kvHeads / devices));
  return heads * (2 * VECTOR_BYTES[dtype](attention.headDim) + scales);
}

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
 * The KV cache format that a quantized checkpoint asks for; vLLM takes it when `--kv-cache-dtype`
 * is `auto`. Source: vLLM 0.28 `torch_utils.py` get_kv_cache_quant_algo_string and `attention.py`.
 * `null` where it asks for none, or in a way that vLLM does not follow either.
 */
export function checkpointKvDtype(quantizationConfig: unknown): KvDtype | null {
  const parsed = quantization.safeParse(quantizationConfig);
  if (!parsed.success) return null;
  const config = parsed.data;
  const method = config.quant_method ?? config.producer?.name ?? "";
  const modelopt = method.toLowerCase().startsWith("modelopt");
  if (!modelopt) return config.kv_cache_scheme == null ? null : "fp8";
  return formatOf(
    config.quantization?.kv_cache_scheme ??
      config.kv_cache_scheme ??
      config.quantization?.kv_cache_quant_algo ??
      config.kv_cache_quant_algo,
  );
}

/** The format that modelopt names, or describes by its bits. */
function formatOf(asked: unknown): KvDtype | null {
  if (typeof asked === "string") {
    const name = asked.toLowerCase();
    return Object.hasOwn(BY_ALGORITHM, name) ? (BY_ALGORITHM[name] ?? null) : null;
  }
  const described = scheme.safeParse(asked);
  if (!described.success || described.data.type !== "float") return null;
  if (described.data.num_bits === 8 && described.data.dynamic === false) return "fp8";
  return described.data.num_bits === 4 ? "nvfp4" : null;
}
