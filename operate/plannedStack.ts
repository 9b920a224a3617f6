import { operatorHome } from "../components/host/operatorHome";
import { plan } from "../components/plan/plan";
import type { Plan } from "../components/plan/types";
import { loadStackFile } from "../components/settings/load";
import { type StackFileOptions, stackFile } from "./stackFile";

/** The plan of the stack file that a command was pointed at, for commands that look at what runs. */
export function plannedStack(options: StackFileOptions): Plan {
  return plan(loadStackFile(stackFile(options)), { home: operatorHome() });
}
