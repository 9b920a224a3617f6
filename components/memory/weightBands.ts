import { GIB_PER_GB } from "@local-serving/base/units/memory";
import type { InferenceServerSettings } from "../settings";
import { gpuCount } from "./kvRoom";

/** What a size of weights means on one machine (specification, Limits: memory bands). */
export interface WeightBand {
  /** Largest size of the band, in GB; none for the last. */
  readonly upToGB: number;
  readonly verdict: string;
  /** Whether a plan with such weights is worth a warning. */
  readonly comfortable: boolean;
}

/** Most weights of which a machine serves a model without tuning, in GB. */
export const COMFORTABLE_GB = 45;

const BANDS: readonly WeightBand[] = [
  { upToGB: COMFORTABLE_GB, verdict: "comfortable (up to 45 GB)", comfortable: true },
  {
    upToGB: 90,
    verdict: "possible with tuning and a reduced context (45 to 90 GB)",
    comfortable: false,
  },
  { upToGB: 100, verdict: "untested on this machine (90 to 100 GB)", comfortable: false },
];

const BEYOND =
  "too large for one machine (over 100 GB): two or more linked machines can share it (`nodes`)";
const TOO_LARGE: WeightBand = {
  upToGB: Number.POSITIVE_INFINITY,
  verdict: BEYOND,
  comfortable: false,
};

/** The band of so many GB (10^9 bytes) of weights, for a server with a share of so many GiB. */
export function weightBand(weightsGB: number, shareGiB = Number.POSITIVE_INFINITY): WeightBand {
  const band = BANDS.find(({ upToGB }) => weightsGB <= upToGB) ?? TOO_LARGE;
  if (!band.comfortable || weightsGB * GIB_PER_GB < shareGiB) return band;
  const verdict = `more than a share of ${shareGiB.toFixed(2)} GiB holds`;
  return { ...band, verdict, comfortable: false };
}

/**
 * Returns the band of each GPU's part of the declared weights, and a clause that says so;
 * `undefined` if they aren't declared.
 */
export function weightsInBand(server: InferenceServerSettings, totalGiB: number) {
  const { weightsGB } = server.model;
  if (weightsGB === undefined) return undefined;
  const gpus = gpuCount(server);
  const { verdict, comfortable } = weightBand(
    weightsGB / gpus,
    server.gpuMemoryUtilization * totalGiB,
  );
  return { comfortable, text: `${weightsOnEach(weightsGB, gpus)} are ${verdict}` };
}

/** Returns each GPU's part of the weights as the subject of a sentence. */
export const weightsOnEach = (weightsGB: number, gpus: number): string =>
  `${weightsText(weightsGB / gpus)} of weights${gpus === 1 ? "" : " on each rank"}`;

/** Says a size of weights for people, and each GPU's part of it. */
export function weightsText(weightsGB: number, gpus = 1): string {
  const gb = (size: number) => `${Number(size.toFixed(1))} GB`;
  return gpus === 1
    ? gb(weightsGB)
    : `${gb(weightsGB)}, ${gb(weightsGB / gpus)} for each of ${gpus} ranks`;
}
