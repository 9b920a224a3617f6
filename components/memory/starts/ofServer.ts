import { defined } from "@local-serving/base/faults/defined";
import { hundredths } from "@local-serving/base/units/memory";
import type { ModelShape } from "@local-serving/kv";
import { USUAL_DEVICE } from "@local-serving/machines/devices/devices";
import type { ModelEvidence } from "../../planned";
import type { ModelStarts, SeenStart } from "../../planned/schema";
import type { InferenceServerSettings } from "../../settings";
import { adapterSlots, slotsGiB, slotsText } from "../adapterSlots";
import {
  gpuCount,
  INSTANT_TENSOR_GIB,
  loadsByInstantTensor,
  measuredHere,
  type Outside,
  residentGiB,
} from "../kvRoom";
import { outcomeOf } from "./figures";
import { classOf } from "./modelClass";
import { basisText } from "./texts";
import { isLike, type Weighed, weigh } from "./weigh";

/** What a server is to start with, and the starts that are known of other models. */
export interface StartContext {
  readonly vllm: string | undefined;
  readonly device: string | undefined;
  readonly totalGiB: number;
  readonly starts: readonly ModelStarts[];
}

/** A server's model: what is known of it, its shape, and what a start's window takes in its cache. */
export interface KnownModel {
  readonly model: ModelEvidence;
  readonly shape: ModelShape;
  readonly windowGiB: (start: SeenStart) => number | undefined;
}

/** Weighs what is known of starts for a server. */
export function weighServer(
  server: InferenceServerSettings,
  { device = USUAL_DEVICE, totalGiB, starts, vllm }: StartContext,
  { model, shape, windowGiB }: KnownModel,
): Weighed {
  const { class: known, weightsGiB: whole, starts: seen } = model.starts ?? NO_STARTS;
  const gpus = gpuCount(server);
  const resident = residentGiB(server, model) ?? (whole === null ? undefined : whole / gpus);
  const { id } = server.model;
  const ofModel = known ?? classOf(shape, model.config);
  const asked = {
    ...{ device, totalGiB, gpus, vllm, memory: "unified" as const, class: ofModel },
    loader: server.loadFormat ?? "auto",
    maxNumBatchedTokens: server.maxNumBatchedTokens,
    drafts: server.speculative !== undefined,
    weightsGiB: resident && resident + (loadsByInstantTensor(server) ? INSTANT_TENSOR_GIB : 0),
  };
  const weighed = weigh(asked, {
    own: { model: id, class: ofModel ?? null, weightsGiB: whole, starts: seen },
    others: starts.filter((each) => each.model !== id),
    windowGiB,
  });
  const slots = slotsGiB(adapterSlots(server, model));
  const { chargedGiB, most } = weighed;
  return {
    ...weighed,
    chargedGiB: { low: chargedGiB.low + slots, high: chargedGiB.high + slots },
    most: { ...most, gib: most.gib + slots },
  };
}

/** The start of its like at the lowest share, if the server's own is as large. */
function likeAt(
  { gpuMemoryUtilization: share }: InferenceServerSettings,
  { own }: Weighed,
): Outside["started"] {
  const [lowest] = own
    .filter((each) => isLike(each) && outcomeOf(each.start) === "started")
    .flatMap(({ start: { utilization, source } }) =>
      utilization === null || utilization > share ? [] : [{ share: utilization, source }],
    )
    .sort((a, b) => a.share - b.share);
  return lowest;
}

const NO_STARTS = { class: null, weightsGiB: null, starts: [] } as const;

/** What a server takes outside its KV cache: as measured here, else by what is known of starts. */
export function outsideOf(
  server: InferenceServerSettings,
  model: ModelEvidence,
  weighed: Weighed,
): Outside {
  const here = measuredHere(server);
  const takenGiB = here?.taken ?? weighed.takenGiB;
  const taken = takenGiB === undefined ? {} : { takenGiB };
  if (here?.charged !== undefined) {
    const { charged, at } = here;
    return {
      basis: "measured",
      low: charged,
      high: charged,
      source: `measured on ${at}`,
      ...taken,
    };
  }
  const slots = adapterSlots(server, model);
  const { low, high } = weighed.chargedGiB;
  const weights = residentGiB(server, model);
  const gpus = gpuCount(server);
  const each = gpus === 1 ? "" : ` for each of ${gpus} ranks`;
  const ofWeights =
    weights === undefined || weighed.basis === "like"
      ? ""
      : `${hundredths(weights)} GiB of weights${each}${loadsByInstantTensor(server) ? `, ${INSTANT_TENSOR_GIB} of InstantTensor` : ""}, and beside them `;
  return {
    basis: weighed.basis === "like" ? "published" : "estimated",
    low: hundredths(low),
    high: hundredths(high),
    source: `${basisText(weighed, ofWeights)}${slotsText(slots)}`,
    ...taken,
    ...defined({ started: likeAt(server, weighed) }),
  };
}
