import { posix } from "node:path";
import { filesOf } from "../files";
import type { CommandPlace } from "../onMachine";
import { type ReadRecord, recordIn, unreadableRecord } from "./record";

/** A machine with the plan that is applied to it. */
export interface RecordPlace extends CommandPlace {
  readonly files: readonly { readonly role: string; readonly path: string }[];
}

/** Where the record of a stack is: beside the applied plan of its first machine. */
export const recordPathOn = ({ files }: RecordPlace): string =>
  posix.join(
    posix.dirname(files.find(({ role }) => role === "applied-plan")?.path ?? ""),
    "update.json",
  );

/** Reads the record of a stack from its first machine, here or over ssh. */
export async function readRecord(machine: RecordPlace | undefined): Promise<ReadRecord> {
  if (machine === undefined) return {};
  const path = recordPathOn(machine);
  const files = filesOf(machine);
  const text = await files.text(path);
  // A machine that is away has no record that anybody could read.
  if (text === undefined && typeof (await files.state(path)) !== "object") return {};
  return text === undefined ? unreadableRecord(path, "can't be read") : recordIn(text, path);
}
