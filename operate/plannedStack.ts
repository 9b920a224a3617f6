import { readModels } from "../components/evidence/readModels";
import { operatorHome } from "../components/host/operatorHome";
import { plan } from "../components/plan/plan";
import type { Plan } from "../components/plan/types";
import { loadStackFile } from "../components/settings/load";
import { projectFolder, type StackFileOptions, stackFile } from "./stackFile";

/** The plan of the stack file that a command was pointed at, for commands that look at what runs. */
export function plannedStack(options: StackFileOptions): Plan {
  const settings = loadStackFile(stackFile(options));
  const home = operatorHome();
  return plan(settings, { home, models: readModels(settings, projectFolder(), home) });
}
