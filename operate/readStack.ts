import { basename } from "node:path";
import { WrongUse } from "../commandLine/exit";
import { readEvidence } from "../components/evidence/readEvidence";
import { plan } from "../components/plan/plan";
import type { MachinePlan, Plan } from "../components/plan/types";
import { parseStackFile } from "../components/settings/load";
import type { MachineSettings } from "../components/settings/machine";
import { readTextFile } from "../faults/textFile";
import { projectFolder } from "./stackFile";

/** One machine of a stack file, with the text that a change is made to. */
export interface OneMachine {
  readonly file: string;
  readonly text: string;
  readonly name: string;
  readonly settings: MachineSettings;
  readonly machine: MachinePlan;
  /** The plan of all machines. */
  readonly plan: Plan;
}

/** Reads a stack file and plans it. Throws `UnreadableInput`, `FaultyInput`, or `WrongUse` for a machine it lacks. */
export function readOneMachine(file: string, wanted?: string): OneMachine {
  const text = readTextFile(file);
  const settings = parseStackFile(file, text);
  const planned = plan(settings, readEvidence(settings, projectFolder()));
  const names = Object.keys(settings.machines);
  const name = wanted ?? names[0] ?? "";
  const own = settings.machines[name];
  const machine = planned.machines.find((each) => each.name === name);
  if (own === undefined || machine === undefined)
    throw new WrongUse(`--machine ${name}: ${basename(file)} has ${names.join(", ")}.`);
  return { file, text, name, settings: own, machine, plan: planned };
}
