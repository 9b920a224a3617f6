import { defined } from "../../faults/defined";
import { hasUsualMemory } from "../../machines/devices/devices";
import { BYTES_PER_GIB, hundredths } from "../../units/memory";
import { downToHundredth, upToHundredth } from "../../vllm/utilization";
import type { ModelEvidence, PublishedStart, StartedShare } from "../planned/evidence";
import type { DataOf } from "../planned/schema/dataOf";
import type { kvRoomSchema } from "../planned/schema/kv";
import type { InferenceServerSettings } from "../settings/inferenceServer";
import { adapterSlots, slotsGiB, slotsText } from "./adapterSlots";
import { BESIDE_WEIGHTS_GIB, ENGINE_OVERHEAD_GIB, GIB_PER_GB } from "./ledger";

/** Room for the KV cache of one server: utilization x total - (weights + engine + kernels). */
export type KvRoom = DataOf<typeof kvRoomSchema>;

/**
 * Returns the room for a server's KV cache in GiB. It comes from a measurement of this very image,
 * else from what somebody published for the same model, else from the size of the weights.
 * `undefined` if not even that is known.
 */
export function kvRoom(
  server: InferenceServerSettings,
  totalGiB: number,
  model?: ModelEvidence,
): KvRoom | undefined {
  const outside = outsideKvCache(server, model);
  if (outside === undefined) return undefined;
  const budget = server.gpuMemoryUtilization * totalGiB;
  const { basis, low, high, source } = outside;
  const outsideGiB = { low, high };
  if (server.kvCacheMemoryBytes !== undefined) {
    const exact = hundredths(server.kvCacheMemoryBytes / BYTES_PER_GIB);
    return {
      basis: "setting",
      lowGiB: exact,
      highGiB: exact,
      outsideGiB,
      source: "kvCacheMemoryBytes",
    };
  }
  return {
    basis,
    lowGiB: hundredths(budget - high),
    highGiB: hundredths(budget - low),
    outsideGiB,
    source,
    ...defined({ started: basis === "published" ? lowestStart(server, model) : undefined }),
  };
}

/** The published start at the lowest share, if the server's own is as large. */
function lowestStart(server: InferenceServerSettings, model?: ModelEvidence): KvRoom["started"] {
  const [lowest] = (model?.starts ?? [])
    .filter(({ ranks = 1, availableKvGiB }) => ranks === rankCount(server) && availableKvGiB > 0)
    .sort((a, b) => a.utilization - b.utilization);
  return lowest === undefined || lowest.utilization > server.gpuMemoryUtilization
    ? undefined
    : { share: lowest.utilization, source: startText(lowest) };
}

/**
 * The room of a server for whose model a start was published, at this share or lower, on this kind
 * of machine: what lies outside the cache left room for one window then. `undefined` where no start
 * proves more than `room` says.
 *
 * @param windowGiB what one request of a start's window takes
 */
export function provenRoom(
  room: KvRoom,
  server: InferenceServerSettings,
  { totalGiB, model }: { readonly totalGiB: number; readonly model: ModelEvidence },
  windowGiB: (start: StartedShare) => number | undefined,
): KvRoom | undefined {
  const { gpuMemoryUtilization: share, speculative, adapters, maxNumBatchedTokens: batch } = server;
  if (room.basis !== "estimated" || speculative !== undefined || adapters.length > 0)
    return undefined;
  // Published starts are of the usual device.
  if (!hasUsualMemory(totalGiB)) return undefined;
  const bounds = (model.startedAt ?? []).flatMap((start) => {
    const { ranks, maxNumBatchedTokens } = start;
    const isLike = ranks === rankCount(server) && start.share <= share;
    if (!isLike || batch > maxNumBatchedTokens) return [];
    const one = windowGiB(start);
    if (one === undefined) return [];
    // Rounded so that the same share always has room for that window.
    return [{ start, high: downToHundredth(start.share * totalGiB - upToHundredth(one)) }];
  });
  const [best] = bounds.sort((a, b) => a.high - b.high);
  const { low } = room.outsideGiB;
  if (best === undefined || best.high >= room.outsideGiB.high || best.high < low) return undefined;
  const { share: at, source } = best.start;
  return {
    ...room,
    basis: "published",
    lowGiB: hundredths(share * totalGiB - best.high),
    outsideGiB: { low, high: best.high },
    source: `started at ${at} for ${source}`,
    started: { share: at, source },
  };
}

/** Number of ranks that share a server's weights. Each rank has its own GPU. */
export const rankCount = (server: InferenceServerSettings): number =>
  server.tensorParallelSize * server.pipelineParallelSize;

/** Whether the record was measured with the image that runs, and with as many ranks. */
export function isMeasured(server: InferenceServerSettings): boolean {
  const { measured, image } = server;
  return (
    measured !== undefined && isOf(image, measured) && (measured.ranks ?? 1) === rankCount(server)
  );
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
 * Memory that a rank's part of the loaded weights takes, in GiB: as it is declared or known of the
 * whole model, else its size on disk, divided evenly. By vLLM 0.33's own classes each rank also
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
  return whole === undefined ? undefined : whole / rankCount(server);
}

/**
 * Returns what a rank needs before there is any KV cache, in GiB: its weights as far as the stack
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
  onDisk * GIB_PER_GB + BESIDE_WEIGHTS_GIB.least;

/** Whether the weights' size is only a judgement. */
export function isJudged({ model }: InferenceServerSettings, evidence?: ModelEvidence): boolean {
  const known = model.residentGiB ?? model.weightsGB ?? evidence?.weightsGB;
  return known === undefined && evidence?.catalogue?.judged === true;
}

/**
 * Who published a start, and what it ran with beside the model: drafts take memory of their own.
 */
const startText = ({ source, vllm, draftTokens }: PublishedStart): string =>
  `${source} (vLLM ${vllm}${draftTokens === undefined ? "" : `, ${draftTokens} draft tokens`})`;

/**
 * What the loader InstantTensor keeps outside the KV cache once it has loaded, in GiB. When only
 * the loader changed, a GB10 had 10.58 GiB left instead of 15.01 (MiaAI-Lab
 * GLM-5.3-Flash-EXL3-2x-DGX-Sparks #204).
 */
export const INSTANT_TENSOR_GIB = 4.4;

/** Whether a server loads its weights by InstantTensor. */
export const loadsByInstantTensor = ({ loadFormat }: InferenceServerSettings): boolean =>
  loadFormat?.trim().toLowerCase() === "instanttensor";

/** What lies outside the KV cache, in GiB, and how that is known. */
type Outside = Pick<KvRoom, "basis" | "source"> & KvRoom["outsideGiB"];

const loaderText = (server: InferenceServerSettings): string =>
  loadsByInstantTensor(server) ? `, and ${INSTANT_TENSOR_GIB} of InstantTensor` : "";

function outsideKvCache(
  server: InferenceServerSettings,
  model?: ModelEvidence,
): Outside | undefined {
  const { measured } = server;
  if (measured !== undefined && isMeasured(server)) {
    const { nonKvGiB, at } = measured;
    return { basis: "measured", low: nonKvGiB, high: nonKvGiB, source: `measured on ${at}` };
  }
  const published = publishedOutside(server, model);
  if (published !== undefined) return published;
  const weightsGiB = residentGiB(server, model);
  if (weightsGiB === undefined) return undefined;
  const slots = adapterSlots(server, model);
  const more = (loadsByInstantTensor(server) ? INSTANT_TENSOR_GIB : 0) + slotsGiB(slots);
  return {
    basis: "estimated",
    low: hundredths(weightsGiB + BESIDE_WEIGHTS_GIB.least + more),
    high: hundredths(weightsGiB + BESIDE_WEIGHTS_GIB.most + more),
    source: `${hundredths(weightsGiB)} GiB of weights${rankCount(server) === 1 ? "" : ` for each of ${rankCount(server)} ranks`}, and the ${BESIDE_WEIGHTS_GIB.least} to ${BESIDE_WEIGHTS_GIB.most} GiB that other models took beside theirs${loaderText(server)}${slotsText(slots)}`,
  };
}

/**
 * Returns what a rank took outside the KV cache in published starts of this model with as many
 * ranks; `undefined` if there are none.
 */
export function publishedOutside(
  server: InferenceServerSettings,
  model?: ModelEvidence,
): Outside | undefined {
  const starts = (model?.starts ?? []).filter(({ ranks = 1 }) => ranks === rankCount(server));
  if (starts.length === 0) return undefined;
  const seen = starts.map((each) =>
    hundredths(each.utilization * each.totalGiB - each.availableKvGiB),
  );
  const sources = [...new Set(starts.map(startText))].join("; ");
  // The publishers don't say which loader they used.
  const slots = adapterSlots(server, model);
  const high = hundredths(
    Math.max(...seen) + (loadsByInstantTensor(server) ? INSTANT_TENSOR_GIB : 0) + slotsGiB(slots),
  );
  return {
    basis: "published",
    low: hundredths(Math.min(...seen) + slotsGiB(slots)),
    high,
    source: `${sources}${loaderText(server)}${slotsText(slots)}`,
  };
}
