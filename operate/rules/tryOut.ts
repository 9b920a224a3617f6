import { startVerdictOf } from "../../components/memory";
import { orInputFault } from "../../faults/fault";
import type { Stack } from "./picture";

/** A change of the stack file as the plan sees it. */
interface Tried {
  /** `undefined` where the file can't be read with it. */
  readonly planned: Stack | undefined;
  /** Why it must not be proposed: what the plan says that it did not say before. */
  readonly against?: string | undefined;
}

/** Plans a changed stack file, and says what the plan complains of that it accepted before. */
export function tryOut(stack: Stack, text: string): Tried {
  const planned = orInputFault(() => stack.planned(text));
  if (planned instanceof Error) return { planned: undefined };
  const refusal = planned.refusals.find(
    ({ name }) => !stack.refusals.some((before) => before.name === name),
  );
  if (refusal !== undefined)
    return { planned, against: `the policy ${refusal.name} refuses: ${refusal.message}` };
  const full = Object.keys(planned.plan.kv).find(
    (name) => lacksRoom(planned, name) && !lacksRoom(stack, name),
  );
  if (full !== undefined)
    return { planned, against: `${full} would not start: its KV cache lacks the room.` };
  const inert = planned.warnings.find(
    ({ code, message }) =>
      code === "same-parser" && !stack.warnings.some((before) => before.message === message),
  );
  return { planned, against: inert && `nothing changes: ${inert.message}` };
}

/** Whether the plan is sure that a server has no room for one request of its window. */
function lacksRoom({ plan }: Stack, container: string): boolean {
  const kv = plan.kv[container];
  return kv != null && startVerdictOf(kv) === "cannot start";
}
