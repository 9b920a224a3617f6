import { readEvidence } from "../components/evidence/readEvidence";
import { plan } from "../components/plan/plan";
import type { Plan } from "../components/plan/types";
import { loadStackFile } from "../components/settings/load";
import { projectFolder, type StackFileOptions, stackFile } from "./stackFile";

/** The plan of the stack file that a command was pointed at, for commands that look at what runs. */
export function plannedStack(options: StackFileOptions): Plan {
  const settings = loadStackFile(stackFile(options));
  return plan(settings, readEvidence(settings, projectFolder()));
}
