import type { MachinePlan } from "../../components/plan";
import type { Own } from "../../components/preflight";
import { projectOrProgram, type StackFileOptions, stackName } from "../stack/stackFile";
import { stateIsEmpty } from "./backend";

/** What a stack can call its own. A stack file by itself has no state to look at. */
export const ownOf = (machines: readonly MachinePlan[], options: StackFileOptions): Own => ({
  machines: machines.map(({ name }) => name),
  isNew:
    options.file === undefined && stateIsEmpty(projectOrProgram(), stackName(options), process.env),
});
