import { DEVICES } from "./devices";
import type { Device, DeviceSign } from "./schema";

/** What a machine shows of itself. */
export interface Hardware {
  /** Names of its GPUs, by the NVIDIA driver or nvidia-smi. */
  readonly gpus: readonly string[];
  /**
   * Memory of the GPUs' own in GiB by nvidia-smi, `none` where it gives no figure; `undefined` where
   * nvidia-smi didn't answer.
   */
  readonly gpuMemoryGiB?: number | "none" | undefined;
  /** Model and compatible strings of the device tree. */
  readonly tree: string;
  /** Vendor and product of the DMI. */
  readonly dmi: string;
  /** `10de:2e12` of each display and accelerator on its PCI bus. */
  readonly pci: readonly string[];
}

const NVIDIA_PCI = "10de:";

/**
 * The device of a machine; `undefined` where it has a GPU of NVIDIA of which too little is shown.
 * Another maker's GPU beside one of NVIDIA doesn't count.
 */
export const recognise = (hardware: Hardware): Device | undefined =>
  DEVICES.find(({ recognisedBy }) => recognisedBy.some((sign) => matches(sign, hardware)));

/** Whether a GPU of NVIDIA is there, with or without a driver. */
export const hasNvidia = ({ gpus, pci }: Hardware): boolean =>
  gpus.length > 0 || pci.some((each) => each.startsWith(NVIDIA_PCI));

/** PCI vendors of GPUs: AMD and Intel. */
const OTHER_MAKERS = /^(?:1002|8086):/;

/** Whether nothing on the PCI bus tells whose GPU the machine has. */
export const showsNoGpu = ({ gpus, pci }: Hardware): boolean =>
  gpus.length === 0 && !pci.some((each) => each.startsWith(NVIDIA_PCI) || OTHER_MAKERS.test(each));

function matches({ gpu, smiMemory, tree, dmi, nvidia }: DeviceSign, seen: Hardware): boolean {
  const { gpuMemoryGiB: memory } = seen;
  return (
    (gpu === undefined || seen.gpus.some((each) => new RegExp(gpu, "i").test(each))) &&
    (smiMemory === undefined || (memory !== undefined && smiMemory === (memory !== "none"))) &&
    (tree === undefined || new RegExp(tree).test(seen.tree)) &&
    (dmi === undefined || new RegExp(dmi, "i").test(seen.dmi)) &&
    (nvidia === undefined || nvidia === hasNvidia(seen))
  );
}
