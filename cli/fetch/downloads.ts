import { Failed } from "@local-serving/base/faults/fault";
import { counted } from "@local-serving/base/faults/quoting";
import { gb } from "@local-serving/base/units/memory";
import { isHere } from "@local-serving/machines/address";
import { filesOf } from "@local-serving/machines/files";
import { parseMeminfo } from "@local-serving/machines/memory";
import { totalFinding } from "../../components/memory";
import type { MachinePlan } from "../../components/plan";
import { allNeeds, type Needs, readNeeds, roomDoubt } from "../../components/preflight/fetch";
import type { MachineSettings } from "../../components/settings";
import { knownSizes, needsResult } from "./needs";

/** What is to come before an `up` can start something. */
export type Downloads =
  | (Parts & {
      /** Whether the machine was looked at; else nothing is taken to be there. */
      readonly looked: boolean;
    })
  | {
      /** Why the machine couldn't be looked at, though it is this computer. */
      readonly unread: string;
    };

type Parts = Pick<Needs, "images" | "models" | "program" | "disks">;

/**
 * What a machine still has to download, and the room that its disks have, without any network. Only
 * the machine itself is looked at: of another one all that it needs is told, and no disk.
 */
export async function downloadsOf(
  machine: MachinePlan,
  settings: MachineSettings,
  proc = "/proc",
): Promise<Downloads> {
  const knownGB = knownSizes(settings);
  if (!(await isThisComputer(machine, proc)))
    return { ...allNeeds(machine, { knownGB }), looked: false };
  try {
    return { ...(await readNeeds(machine, { knownGB, offline: true })), looked: true };
  } catch (error) {
    if (error instanceof Failed) return { unread: error.message };
    throw error;
  }
}

/** Whether a stack file's machine is this computer, by the memory that both have. */
async function isThisComputer(machine: MachinePlan, proc: string): Promise<boolean> {
  if (!isHere(machine)) return false;
  const memory = parseMeminfo((await filesOf(machine).text(`${proc}/meminfo`)) ?? "");
  const { totalGiB } = machine.ledger;
  return memory !== undefined && totalFinding(totalGiB, memory.totalGiB)?.verdict !== "refused";
}

/**
 * What is to be downloaded and what is free, in a line: `22.0 GB of models, about 20.0 GB for 1
 * image, 2 images of unknown size; 79.0 GB free`.
 */
export function downloadsText(downloads: Downloads): string {
  if ("unread" in downloads) return `not read: ${downloads.unread}`;
  const free = downloads.disks.map(
    ({ freeBytes, paths: [path = ""] }, _, { length }) =>
      `${gb(freeBytes)} free${length > 1 ? ` at ${path}` : ""}`,
  );
  return [partsText(downloads), ...free].join("; ");
}

/** Why it may not fit, in sentences. */
export const downloadsDoubt = (downloads: Downloads): string | undefined =>
  "unread" in downloads ? undefined : roomDoubt(downloads);

/** The same as JSON has it. */
export const downloadsResult = (downloads: Downloads) =>
  "unread" in downloads
    ? { unread: downloads.unread }
    : { looked: downloads.looked, ...needsResult(downloads) };

function partsText({ images, models, program }: Parts): string {
  const parts = [
    ...sizes(models, "model"),
    ...sizes(images, "image"),
    ...(program === undefined ? [] : sizes([program], "program")),
  ];
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

/** Parts of a kind with their sizes: those that are known, estimated, and neither. */
function sizes(
  parts: readonly { readonly bytes?: number; readonly estimatedBytes?: number }[],
  kind: string,
): string[] {
  const known = parts.flatMap(({ bytes }) => bytes ?? []);
  const estimated = parts.flatMap(({ bytes, estimatedBytes }) =>
    bytes === undefined ? (estimatedBytes ?? []) : [],
  );
  const sum = (values: readonly number[]) => gb(values.reduce((all, each) => all + each, 0));
  const unknown = parts.length - known.length - estimated.length;
  return [
    ...(known.length > 0 ? [`${sum(known)} of ${kind}s`] : []),
    ...(estimated.length > 0
      ? [`about ${sum(estimated)} for ${counted(estimated.length, kind)}`]
      : []),
    ...(unknown > 0 ? [`${counted(unknown, kind)} of unknown size`] : []),
  ];
}
