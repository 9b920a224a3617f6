import { say } from "@local-serving/base/commandLine/output";
import type { Diagnosis } from "../rules/report";
import type { StackFileOptions } from "../stack/stackFile";

/** A machine of a stack file, or of another text of it. */
interface Asked {
  readonly file: string;
  readonly machine: string;
  readonly text?: string;
}

/** What the doctor says of a machine as it is. What it could not read is said to the person. */
export async function diagnoseMachine(
  { file, machine, text }: Asked,
  chosen: StackFileOptions,
): Promise<Diagnosis[]> {
  // Reading the known troubles takes 0.1 s, and commands ask only where something failed.
  const { fromMachine, readMachineStack } = await import("./read/fromMachine");
  const { reportsOf } = await import("../rules/report");
  const stack = readMachineStack(file, machine, text);
  const { facts, notes } = await fromMachine(stack);
  for (const note of notes) say(note);
  return reportsOf({ ...facts, stack }, chosen);
}
