import { sizedDevice, USUAL_DEVICE } from "@local-serving/machines/devices/devices";
import { type MachineMemory, ownSpeeds, type ServerKv } from "../memory";
import type { Warning } from "../planned";
import type { InferenceServerSettings, MachineSettings } from "../settings";

const NOT_ITS_OWN = "a DGX Spark's";

type OfDevice = Pick<MachineSettings, "device" | "totalGiB">;

/** Whether what was published of a DGX Spark isn't known of a machine. */
const isUnseen = ({ device, totalGiB }: OfDevice): boolean =>
  sizedDevice(device, totalGiB)?.planned === "unseen";

/** The machines of which it is known where a machine like this hangs. */
export const machinesSeen = (machine: OfDevice): string =>
  isUnseen(machine) ? "DGX Sparks" : "Machines of this kind";

/** What is only good to know of the device that a machine is planned as. */
export function deviceNotes(machine: string, settings: OfDevice): Warning[] {
  const { device, totalGiB } = settings;
  if (device === undefined) {
    const message = `The machine is planned as a DGX Spark: \`device\` isn't declared. If it is one, or a sibling from another maker, write \`device: ${USUAL_DEVICE}\`: then \`totalGiB\` and the machine itself are checked.`;
    return [{ machine, code: "device-assumed", message }];
  }
  if (!isUnseen(settings)) return [];
  const { oneOf, warnings = [] } = sizedDevice(device, totalGiB) ?? {};
  const known = warnings.map(({ what, source }) => ` Known about it: ${what} (${source}).`);
  const message = `This project was not seen to run on ${oneOf}. Figures marked "${NOT_ITS_OWN}" were published for another machine.${known.join("")}`;
  return [{ machine, code: "device-unseen", message }];
}

/** Marks what others' machines told of the room for a KV cache, and of a prompt's time. */
export function kvOn(
  machine: OfDevice,
  kv: ServerKv | null,
  server: InferenceServerSettings,
): ServerKv | null {
  if (kv === null || !isUnseen(machine)) return kv;
  const { room, prefill } = kv;
  const { started } = room;
  const isOwn = room.basis === "measured" || room.basis === "setting";
  return {
    ...kv,
    room: isOwn
      ? room
      : {
          ...room,
          source: marked(room.source),
          ...(started && { started: { ...started, source: marked(started.source) } }),
        },
    prefill:
      prefill === null || ownSpeeds(server) !== undefined
        ? prefill
        : { ...prefill, source: marked(prefill.source) },
  };
}

/** Marks what a machine's memory has of defaults. */
export function memoryOn(machine: OfDevice, memory: MachineMemory): MachineMemory {
  if (!isUnseen(machine)) return memory;
  const lines = memory.ledger.lines.map((line) =>
    line.basis === "default" ? { ...line, source: marked(line.source) } : line,
  );
  return { ...memory, ledger: { ...memory.ledger, lines } };
}

const marked = (source: string): string =>
  source.startsWith(NOT_ITS_OWN) ? source : `${source}: ${NOT_ITS_OWN}`;
