import type { InferenceServerPlan } from "../../components/inference-server";
import { type MachinePlan, serversOn } from "../../components/plan";

/** A server, or one rank of it, and the machine that it runs on. */
export interface OnMachine {
  readonly machine: MachinePlan;
  readonly server: InferenceServerPlan;
}

/** All ranks of a server, its head first; itself alone where it has no others. */
export function ranksOf(
  { machine, server }: OnMachine,
  machines: readonly MachinePlan[],
): OnMachine[] {
  if (server.rank === undefined) return [{ machine, server }];
  const all = machines.flatMap((each) =>
    serversOn(each).map((server) => ({ machine: each, server })),
  );
  return server.rank.nodes.flatMap((node) =>
    all.filter(
      (each) => each.machine.name === node.machine && each.server.container.name === node.container,
    ),
  );
}
