import type { Listening } from "@local-serving/machines/address";
import type { MachinePlan } from "../../components/plan";
import type { Api } from "../sees/api";
import type { Host } from "../sees/host";
import { type OnMachine, onItsMachines } from "../stack/onMachines";
import type { Common } from "./commonTarget";

/** A server over several machines, by its head. */
export interface RanksTarget extends Common {
  readonly kind: "ranks";
  readonly api: Api;
  readonly head: RankTarget;
  readonly workers: readonly RankTarget[];
}

/** One rank of a server over several machines, and what is read on its machine. */
export interface RankTarget extends OnMachine {
  readonly host: Host;
}

/** The servers over several machines that answer on this one. */
export function ranksTargets(
  machine: MachinePlan,
  at: (listening: Listening) => Omit<RanksTarget, "kind" | "name" | "head" | "workers">,
  options: {
    readonly machines?: readonly MachinePlan[];
    readonly host: (dockerHost: string) => Host;
  },
): RanksTarget[] {
  const { machines = [machine], host } = options;
  return machine.inferenceServers.flatMap((server): RanksTarget[] => {
    const [head, ...workers] = onItsMachines({ machine, server }, machines).map((each) => ({
      ...each,
      host: host(each.machine.dockerHost),
    }));
    const name = server.container.name;
    return head === undefined || workers.length === 0
      ? []
      : [{ kind: "ranks", name, ...at(server.reach), head, workers }];
  });
}
