import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { BYTES_PER_GIB, GIB_PER_GB, hundredths } from "@local-serving/base/units/memory";
import type { kvRoomSchema } from "@local-serving/kv/schema";
import { gpusOf, type ModelEvidence } from "../planned";
import type { InferenceServerSettings } from "../settings";
import { ENGINE_OVERHEAD_GIB } from "./ledger";
import { BESIDE_WEIGHTS_GIB, type Range } from "./starts/weigh";

/** Room for the KV cache of one server: utilization x total - (weights + engine + kernels). */
export type KvRoom = DataOf<typeof kvRoomSchema>;

/** What lies outside the KV cache, in GiB, and how that is known. */
export type Outside = Pick<KvRoom, "basis" | "source" | "takenGiB" | "started"> & Range;

/** The room for a server's KV cache in GiB: what its share leaves, or its own size. */
export function kvRoom(
  { gpuMemoryUtilization, kvCacheMemoryBytes }: InferenceServerSettings,
  totalGiB: number,
  { basis, low, high, source, takenGiB, started }: Outside,
): KvRoom {
  const budget = gpuMemoryUtilization * totalGiB;
  const exact = kvCacheMemoryBytes && hundredths(kvCacheMemoryBytes / BYTES_PER_GIB);
  return {
    basis: exact === undefined ? basis : "setting",
    lowGiB: exact ?? hundredths(budget - high),
    highGiB: exact ?? hundredths(budget - low),
    outsideGiB: { low, high },
    source: exact === undefined ? source : "kvCacheMemoryBytes",
    ...defined({ takenGiB, started: exact === undefined ? started : undefined }),
  };
}

/** What this server took outside its cache here: what vLLM charged, and what it held. */
export function measuredHere(
  server: InferenceServerSettings,
): { readonly charged?: number; readonly taken?: number; readonly at: string } | undefined {
  const { measured } = server;
  if (measured === undefined || !isMeasured(server)) return undefined;
  const { chargedGiB, nonKvGiB, takenGiB, at } = measured;
  const taken = changedSince(server).length === 0 ? takenGiB : undefined;
  return { at, ...defined({ charged: chargedGiB ?? nonKvGiB, taken }) };
}

/**
 * The settings of a server that were others when it was measured, as far as its record tells: with
 * each of them it takes another amount beside its cache.
 */
export function changedSince(server: InferenceServerSettings): string[] {
  const { measured, image, speculative, loadFormat = "auto" } = server;
  if (measured === undefined) return [];
  const now = {
    maxNumSeqs: server.maxNumSeqs,
    maxNumBatchedTokens: server.maxNumBatchedTokens,
    draftTokens: speculative?.numSpeculativeTokens ?? 0,
    loadFormat,
  };
  const others = (
    ["maxNumSeqs", "maxNumBatchedTokens", "draftTokens", "loadFormat"] as const
  ).filter((key) => measured[key] !== undefined && measured[key] !== now[key]);
  return [...(isOf(image, measured) ? [] : ["image"]), ...others];
}

/** Number of GPUs that share a server's weights. */
export const gpuCount = (server: InferenceServerSettings): number =>
  server.tensorParallelSize * server.pipelineParallelSize;

/** Whether the record was measured with the image that runs, and on as many GPUs. */
export function isMeasured(server: InferenceServerSettings): boolean {
  const { measured, image } = server;
  return measured !== undefined && isOf(image, measured) && gpusOf(measured) === gpuCount(server);
}

/** The recorded rates, if they were measured with the image that runs. */
export const ownSpeeds = ({ measuredSpeeds: own, image }: InferenceServerSettings): typeof own =>
  own !== undefined && isOf(image, own) ? own : undefined;

/** Whether a record is of an image: of its digest, whatever it is called. */
const isOf = (image: string, record: { readonly image: string }) =>
  record.image.split("@").at(-1) === image.split("@").at(-1);

/**
 * Size of a model's whole weights in GB: by the stack file, by its snapshot's index, by the
 * catalogue.
 */
export const weightsGB = (
  { model }: InferenceServerSettings,
  evidence?: ModelEvidence,
): number | undefined => model.weightsGB ?? evidence?.weightsGB ?? evidence?.catalogue?.weightsGB;

/**
 * Memory that a GPU's part of the loaded weights takes, in GiB: as it is declared or known of the
 * whole model, else its size on disk, divided evenly. By vLLM 0.33's own classes each GPU also
 * keeps some of it whole (norms, routers, projections of compressed vectors): 0.8 of
 * DeepSeek-V4-Flash's 284 billion numbers, 0.05 of MiniMax-M2.7's 229.
 */
export function residentGiB(
  server: InferenceServerSettings,
  evidence?: ModelEvidence,
): number | undefined {
  const onDisk = weightsGB(server, evidence);
  const known = server.model.residentGiB ?? evidence?.catalogue?.residentGiB;
  const whole = known ?? (onDisk === undefined ? undefined : onDisk * GIB_PER_GB);
  return whole === undefined ? undefined : whole / gpuCount(server);
}

/**
 * Returns what a GPU needs before there is any KV cache, in GiB: its weights as far as the stack
 * file says, and the most that the engine was seen to take.
 */
export function neededBeforeKv(server: InferenceServerSettings | undefined): {
  weightsGiB: number;
  neededGiB: number;
} {
  const weightsGiB = (server && residentGiB(server)) ?? 0;
  return { weightsGiB, neededGiB: weightsGiB + ENGINE_OVERHEAD_GIB };
}

/**
 * The least that a server with so many GB of weights was seen to take without any KV cache, in GiB.
 */
export const leastBeforeKv = (onDisk: number): number =>
  onDisk * GIB_PER_GB + BESIDE_WEIGHTS_GIB.low;

/** Whether the weights' size is only a judgement. */
export function isJudged({ model }: InferenceServerSettings, evidence?: ModelEvidence): boolean {
  const known = model.residentGiB ?? model.weightsGB ?? evidence?.weightsGB;
  return known === undefined && evidence?.catalogue?.judged === true;
}

/**
 * What the loader InstantTensor keeps outside the KV cache once it has loaded, in GiB. When only
 * the loader changed, a GB10 had 10.58 GiB left instead of 15.01 (MiaAI-Lab
 * GLM-5.3-Flash-EXL3-2x-DGX-Sparks #204).
 */
export const INSTANT_TENSOR_GIB = 4.4;

/** Whether a server loads its weights by InstantTensor. */
export const loadsByInstantTensor = ({ loadFormat }: InferenceServerSettings): boolean =>
  loadFormat?.trim().toLowerCase() === "instanttensor";
