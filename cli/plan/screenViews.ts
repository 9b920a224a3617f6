import { defined } from "@local-serving/base/faults/defined";
import { isHere } from "@local-serving/machines/address";
import { changesOf } from "../../components/change";
import { operatorHome, readAppliedPlans } from "../../components/evidence";
import type { MachinePlan, Plan } from "../../components/plan";
import { exportsFor } from "../../components/preflight";
import type { StackSettings } from "../../components/settings";
import { downloadsOf } from "../fetch/downloads";
import { serverEngineChanges } from "./engineChanges";
import type { Applied, MachineView } from "./screen/update";

/**
 * What a plan's screen says beside the plan, by the machines' names: what an update changes, and
 * what each machine lacks. It is read on this computer, without any network.
 */
export async function viewsOf(
  { machines }: Plan,
  settings: StackSettings,
): Promise<Record<string, MachineView>> {
  const applied = await appliedHere(machines.filter(isHere));
  const views = machines.map(async (machine): Promise<[string, MachineView]> => {
    const { name } = machine;
    const own = settings.machines[name];
    const downloads = own && (await downloadsOf(machine, own));
    const known = applied[name];
    const home = machine.home ?? operatorHome();
    const exports = exportsFor(machine);
    return [name, defined({ home, exports, applied: known, downloads })];
  });
  return Object.fromEntries(await Promise.all(views));
}

/** The same of what was applied on some machines, as far as it is kept and can be read. */
async function appliedHere(machines: readonly MachinePlan[]): Promise<Record<string, Applied>> {
  const read = await readAppliedPlans(machines);
  const before = read.flatMap((each) => ("plan" in each ? [each.plan] : []));
  const unread = machines.flatMap(({ name }, at): [string, Applied][] => {
    const found = read[at];
    return found !== undefined && "missing" in found && found.isThere
      ? [[name, { unread: found.missing }]]
      : [];
  });
  return { ...appliedViews(before, machines), ...Object.fromEntries(unread) };
}

/** What an update changes on each machine that something was applied on. */
export function appliedViews(
  before: readonly MachinePlan[],
  after: readonly MachinePlan[],
): Record<string, Applied> {
  const engine = serverEngineChanges(before, after);
  const known = changesOf(before, after).filter(({ machine }) =>
    before.some(({ name }) => name === machine),
  );
  return Object.fromEntries(
    known.map((change) => {
      const own = engine.filter(({ machine }) => machine === change.machine);
      return [change.machine, { change, engine: own }];
    }),
  );
}
