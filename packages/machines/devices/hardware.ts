import { MIB_PER_GIB } from "@local-serving/base/units/memory";
import type { Files } from "../files";
import type { Hardware } from "./recognise";

/** Where a machine's kernel shows what it is. */
export interface KernelFolders {
  readonly proc: string;
  readonly sys: string;
}

const USUAL: KernelFolders = { proc: "/proc", sys: "/sys" };

/** Prints class, vendor and device of everything on the PCI bus. */
const PCI =
  'for each in "$1"/bus/pci/devices/*; do test -r "$each/class" && cat "$each/class" "$each/vendor" "$each/device" | tr "\\n" " " && echo; done';

/** Reads what a machine shows of itself, and changes nothing. */
export async function readHardware(
  files: Pick<Files, "text" | "names" | "ask">,
  { proc, sys }: KernelFolders = USUAL,
): Promise<Hardware> {
  const dmi = ["sys_vendor", "product_name", "product_family"].map((name) =>
    files.text(`${sys}/class/dmi/id/${name}`),
  );
  const tree = ["model", "compatible"].map((name) => files.text(`${proc}/device-tree/${name}`));
  const smi = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"];
  const [shown, smiAnswer, pci] = await Promise.all([
    driverGpus(files, proc),
    files.ask(smi),
    files.ask(["sh", "-c", PCI, "sh", sys]),
  ]);
  const asked = smiAnswer.code === 0 ? gpusOfSmi(smiAnswer.out) : { names: [] };
  return {
    gpus: shown.length > 0 ? shown : asked.names,
    gpuMemoryGiB: asked.memoryGiB,
    tree: plain(await Promise.all(tree)),
    dmi: plain(await Promise.all(dmi)),
    pci: gpusOnPci(pci.out),
  };
}

/** Names of the GPUs that the NVIDIA driver drives. */
async function driverGpus(files: Pick<Files, "text" | "names">, proc: string): Promise<string[]> {
  const folder = `${proc}/driver/nvidia/gpus`;
  const gpus = await files.names(folder);
  const texts = await Promise.all(gpus.map((gpu) => files.text(`${folder}/${gpu}/information`)));
  return texts.map((text = "") => /^Model:\s*(.+)$/m.exec(text)?.[1]?.trim() ?? "NVIDIA GPU");
}

/** Names and memory in an answer of nvidia-smi: a figure in MiB, or `[N/A]` where it is shared. */
export function gpusOfSmi(text: string): {
  readonly names: readonly string[];
  readonly memoryGiB?: number | "none";
} {
  const rows = [...text.matchAll(/^(.+),\s*([^,\n]+?)\s*$/gm)];
  if (rows.length === 0) return { names: [] };
  const sizes = rows.map(([, , size]) => Number(size)).filter((size) => size > 0);
  return {
    names: rows.map(([, name = ""]) => name.trim()),
    memoryGiB:
      sizes.length === 0 ? "none" : sizes.reduce((sum, size) => sum + size, 0) / MIB_PER_GIB,
  };
}

/** Displays (class 0x03) and accelerators (0x12), as `10de:2e12`. */
export const gpusOnPci = (text: string): string[] =>
  text.split("\n").flatMap((line) => {
    const [, vendor, device] =
      /^0x(?:03|12)[\da-f]{4} 0x([\da-f]{4}) 0x([\da-f]{4})/.exec(line) ?? [];
    return vendor === undefined || device === undefined ? [] : [`${vendor}:${device}`];
  });

/** The strings of a device tree end with a NUL each, those of the DMI with a line. */
const plain = (texts: readonly (string | undefined)[]): string =>
  texts
    .map((each = "") => each.replaceAll(/\s*\0\s*|\s+/g, " ").trim())
    .filter(Boolean)
    .join(" ");
