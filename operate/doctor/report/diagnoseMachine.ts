import { say } from "../../../commandLine/output";
import type { StackFileOptions } from "../../stack/stackFile";
import { fromMachine, readMachineStack } from "../read/fromMachine";
import { type DiagnosisReport, diagnose } from "./diagnose";

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
): Promise<DiagnosisReport[]> {
  const stack = readMachineStack(file, machine, text);
  const { facts, notes } = await fromMachine(stack);
  for (const note of notes) say(note);
  return diagnose({ ...facts, stack }, chosen);
}
