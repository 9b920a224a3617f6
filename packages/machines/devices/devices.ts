import list from "./devices.json";
import type { Device, DeviceSize } from "./schema";

/** Every device that is known, in the order in which they are recognised. */
// The types of the JSON's regular expressions and enumerations are those of the schema, which a
// test proves.
export const DEVICES = list.devices as readonly Device[];

/** The ids that a stack file may name. */
export const DEVICE_IDS = DEVICES.map(({ id }) => id);

export const deviceOf = (id: string | undefined): Device | undefined =>
  DEVICES.find((device) => device.id === id);

/** The device that this project's figures are from, and that a plan takes a machine for. */
export const USUAL_DEVICE = "gb10";

/** The device of every machine on which no vLLM is planned. */
export const OTHER_DEVICE = "other";

/** What such devices were called in earlier releases; each is read as `other` until the next one. */
export const EARLIER_DEVICES: readonly string[] = [
  ...["gh200", "rtx-pro", "geforce", "h100", "h200", "b200", "nvidia"],
  ...["strix-halo", "amd", "apple", "intel", "none"],
];

/**
 * Why no vLLM server is planned on a device, with what serves there instead; `undefined` where one
 * is. Without a device it is planned as before.
 */
export const whyNoServer = (id: string | undefined): string | undefined =>
  deviceOf(id)?.planned === "no"
    ? "This project runs vLLM on NVIDIA GPUs that share the machine's memory, and this machine has none: there is no server B. On a GPU of NVIDIA with a memory of its own, plain vLLM (`vllm serve`) or llama-swap serves; Ollama serves on any machine."
    : undefined;

/** A total that is off by more than this share isn't that device's. */
const TOTAL_TOLERANCE = 0.03;

/** By what part a total is off what machines of a size have. */
const offBy = (totalGiB: number, { fromGiB, toGiB }: DeviceSize): number => {
  const nearest = Math.min(Math.max(totalGiB, fromGiB), toGiB);
  return Math.abs(totalGiB - nearest) / nearest;
};

/** The size of a device that a total is nearest to. */
function nearestSize({ sizes = [] }: Device, totalGiB: number): DeviceSize | undefined {
  const [nearest] = [...sizes].sort((a, b) => offBy(totalGiB, a) - offBy(totalGiB, b));
  return nearest;
}

/** A device with what its machines of one size have of their own; `undefined` without a device. */
export function sizedDevice(id: string | undefined, totalGiB: number) {
  const device = deviceOf(id);
  const size = device && nearestSize(device, totalGiB);
  const isOfSize = size !== undefined && offBy(totalGiB, size) <= TOTAL_TOLERANCE;
  return device && { ...device, ...(isOfSize ? size : {}), name: device.name };
}

/**
 * Why a declared total can't be that of the declared device; `undefined` where it can. Too few sizes
 * are known of a device that this project was not seen to run on to refuse one.
 */
export function totalOfAnother(id: string | undefined, totalGiB: number): string | undefined {
  const device = deviceOf(id);
  const size = device?.planned === "seen" ? nearestSize(device, totalGiB) : undefined;
  if (device === undefined || size === undefined) return undefined;
  const off = offBy(totalGiB, size);
  if (off <= TOTAL_TOLERANCE) return undefined;
  const { fromGiB, toGiB, source, oneOf = device.oneOf } = size;
  const seen = fromGiB === toGiB ? `${fromGiB} GiB` : `${fromGiB} to ${toGiB} GiB`;
  return `${totalGiB} GiB is ${(off * 100).toFixed(1)} % off the memory of ${oneOf}: ${seen} (${source}). Write MemTotal of /proc/meminfo in kB, divided by 1048576, or another \`device\`.`;
}

/** The model that its maker starts on a device of this size, where one is published. */
export const suggestedModel = (id: string | undefined, totalGiB: number): string | undefined =>
  sizedDevice(id, totalGiB)?.suggests?.model;

/** A device in words, with what the machine calls itself: `a DGX Spark (ASUS GX10)`. */
export function deviceText(
  id: string,
  { totalGiB, product }: { readonly totalGiB?: number; readonly product?: string } = {},
): string {
  const device = totalGiB === undefined ? deviceOf(id) : sizedDevice(id, totalGiB);
  const text = device?.oneOf ?? id;
  return product === undefined ? text : `${text} (${product})`;
}
