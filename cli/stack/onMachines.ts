import type { InferenceServerPlan } from "../../components/inference-server";
import type { MachinePlan } from "../../components/plan";
import { placesOf, serversOn } from "../../components/planned";

/** A server, and a machine that has a container of it. */
export interface OnMachine {
  readonly machine: MachinePlan;
  readonly server: InferenceServerPlan;
}

/** A server on each of its machines, first where it answers. */
export const onItsMachines = (
  { machine, server }: OnMachine,
  machines: readonly MachinePlan[],
): OnMachine[] =>
  placesOf(machine.name, server).flatMap((place) =>
    [machine, ...machines.filter(({ name }) => name !== machine.name)]
      .filter(({ name }) => name === place.machine)
      .flatMap((on) =>
        serversOn(on)
          .filter(({ container }) => container.name === place.container)
          .map((own) => ({ machine: on, server: own })),
      ),
  );
