import { join } from "node:path";
import { declaredResources } from "../../../components/machine/declaredResources";
import { judge } from "../../../policies/judge";
import { LEVELS_FILE, readLevels } from "../../../policies/levels";
import { readOneMachine } from "../../stack/readStack";
import { projectFolder } from "../../stack/stackFile";
import type { Stack } from "../facts";

/** A machine's part of a stack file (the first one's where none is named), its plan, and what the policies refuse of it. */
export function readStack(file: string, wanted?: string): Stack {
  const { text, name, settings, machine, plan } = readOneMachine(file, wanted);
  const refusals = judge(declaredResources(plan), readLevels(join(projectFolder(), LEVELS_FILE))).filter(
    ({ verdict }) => verdict === "refused",
  );
  return { file, text, machine: name, settings, plan: machine, refusals };
}
