import { operatorHome } from "../host/operatorHome";
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
