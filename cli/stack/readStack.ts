import { basename } from "node:path";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { FaultyInput, orInputFault } from "@local-serving/base/faults/fault";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { readEvidence } from "../../components/evidence";
import { type MachinePlan, type Plan, plan } from "../../components/plan";
import {
  type MachineSettings,
  parseStackFile,
  type StackSettings,
} from "../../components/settings";
import { projectOrProgram, type StackFileOptions, stackFile } from "./stackFile";

/** A stack file as this program plans it. */
export interface PlannedStack {
  readonly file: string;
  readonly text: string;
  readonly settings: StackSettings;
  readonly plan: Plan;
}

/** Reads a stack file, or another text of it, and plans it. Throws `UnreadableInput` or `FaultyInput`. */
export function readStack(file: string, text = readTextFile(file)): PlannedStack {
  const settings = parseStackFile(file, text);
  return { file, text, settings, plan: plan(settings, readEvidence(settings, projectOrProgram())) };
}

/**
 * The plan of the stack file that a command was pointed at, for commands that look at what runs.
 */
export function plannedStack(options: StackFileOptions): Plan {
  const file = stackFile(options);
  const read = orInputFault(() => readStack(file));
  if (!(read instanceof Error)) return read.plan;
  // A file that isn't there can't be mended.
  if (read instanceof FaultyInput || read.place !== undefined) say(UNTOUCHED);
  throw read;
}

/** What is said before the faults of a stack file by which a command finds what runs. */
const UNTOUCHED =
  "What runs is untouched, but this command finds it by the stack file. Once the file is fixed, run the command again.";

/** One machine of a stack file, with the text that a change is made to. */
export interface OneMachine {
  readonly file: string;
  readonly text: string;
  readonly name: string;
  readonly stack: StackSettings;
  readonly settings: MachineSettings;
  readonly machine: MachinePlan;
  readonly plan: Plan;
}

/**
 * Reads a stack file, or another text of it, and plans it. Throws as `readStack` does, and
 * `WrongUse` for a machine that it lacks.
 */
export function readOneMachine(file: string, wanted?: string, as?: string): OneMachine {
  const { text, settings, plan } = readStack(file, as);
  const names = Object.keys(settings.machines);
  const name = wanted ?? names[0] ?? "";
  const own = settings.machines[name];
  const machine = plan.machines.find((each) => each.name === name);
  if (own === undefined || machine === undefined)
    throw new WrongUse(`--machine ${name}: ${basename(file)} has ${names.join(", ")}.`);
  return { file, text, name, stack: settings, settings: own, machine, plan };
}
