import { realpathSync } from "node:fs";
import { homeFolder } from "../../faults/home";
import type { Evidence } from "../planned/evidence";
import type { StackSettings } from "../settings/stackSettings";
import { readAppliedWindows } from "./readApplied";
import { readModels } from "./readModels";

/** What every plan of a stack rests on: the operator's home, the configs of the models that the stack names, what was applied. */
export function readEvidence(settings: StackSettings, project: string): Evidence {
  const home = operatorHome();
  return {
    home,
    models: readModels(settings, project, home),
    appliedWindows: readAppliedWindows(settings, home),
  };
}

/** Home of whoever runs this, by its real path: a host file is never written through a symbolic link. */
export function operatorHome(): string {
  const home = homeFolder();
  try {
    return realpathSync(home);
  } catch {
    return home;
  }
}
