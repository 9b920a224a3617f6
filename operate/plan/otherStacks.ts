import type { MachinePlan } from "../../components/plan";
import { readOtherPlans, tellOtherStack } from "../../components/preflight";
import { isHere } from "../../machines/address";
import type { Judged } from "../../policies/judge";
import { ownOf } from "../engine/ownOf";
import type { StackFileOptions } from "../stack/stackFile";

/**
 * What the preflight of `up` would refuse, since another stack is applied on this computer under
 * the same names. It is told by the plans that `up` left here, so that no engine is asked. A stack
 * file by itself may be of another computer.
 */
export async function otherStacks(
  machines: readonly MachinePlan[],
  options: StackFileOptions,
): Promise<Judged[]> {
  if (options.file !== undefined) return [];
  const own = ownOf(machines, options);
  const found = machines.filter(isHere).map(async (machine) =>
    (await readOtherPlans(machine, own)).map((other): Judged => {
      const { cause, remedy } = tellOtherStack(machine.name, other);
      return {
        ...{ name: "preflight", level: "mandatory", resource: machine.name },
        ...{ verdict: "refused", message: `${cause} ${remedy}` },
      };
    }),
  );
  return (await Promise.all(found)).flat();
}
