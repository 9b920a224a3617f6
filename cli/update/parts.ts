import { isDeepStrictEqual } from "node:util";
import { defined } from "@local-serving/base/faults/defined";
import type { Part } from "@local-serving/machines/update/record";
import type { MachineChange } from "../../components/change";
import type { MachinePlan } from "../../components/plan";
import { type Named, namedOn } from "../stack/named";
import type { ProbeResult } from "../verify/probe";

/** Minutes that a start may take of which no figure is known. */
const UNKNOWN_MINUTES = 60;

/** How often longer than the plan's longest figure a start may take. */
const MARGIN = 2;

/** The setting `startWithinMinutes`, by machine. */
export type Limits = Readonly<
  Record<string, { readonly startWithinMinutes?: number | undefined } | undefined>
>;

/**
 * What an update is about: each server and service that it starts, with the seconds that it has to
 * become ready, and each service that uses such a server. `machines` are those before and after.
 */
export function partsOf(
  changes: readonly MachineChange[],
  machines: readonly MachinePlan[],
  limits: Limits,
): Part[] {
  const started = changes.flatMap(({ machine, containers }) =>
    containers
      .filter(({ kind }) => kind === "created" || kind === "replaced")
      .map(({ key, steps, startsOnRequest }) => {
        // Nothing starts it, so nobody waits for it.
        if (startsOnRequest) return { name: `${machine}.${key}` };
        const most = steps.reduce((sum, step) => sum + step.most, 0);
        const byPlan = most === 0 ? UNKNOWN_MINUTES * 60 : most * MARGIN;
        const set = limits[machine]?.startWithinMinutes;
        return { name: `${machine}.${key}`, withinSeconds: set === undefined ? byPlan : set * 60 };
      }),
  );
  const touched = new Set(
    changes.flatMap(({ machine, containers }) =>
      containers.filter(({ kind }) => kind !== "unchanged").map(({ key }) => `${machine}.${key}`),
    ),
  );
  const using = machines.flatMap(({ name: machine, services }) =>
    services
      .filter(({ servers }) =>
        servers.some((server) => touched.has(server) || touched.has(`${machine}.${server}`)),
      )
      .map(({ name }) => ({ name: `${machine}.${name}` })),
  );
  return merged(started, using);
}

/** Parts by name, each once: what an update starts keeps its time. */
export function merged(...lists: readonly (readonly Part[])[]): Part[] {
  const all = new Map<string, Part>();
  for (const { name, withinSeconds } of lists.flat())
    all.set(name, {
      name,
      ...defined({ withinSeconds: all.get(name)?.withinSeconds ?? withinSeconds }),
    });
  return [...all.values()];
}

/** The things on a machine that these parts name. */
export const namedParts = (machine: MachinePlan, parts: readonly Part[]): Named[] =>
  namedOn(machine).filter(({ key }) => parts.some(({ name }) => name === `${machine.name}.${key}`));

/** A probe's result under a name that stays where a container or a model is called otherwise. */
export interface NamedResult extends ProbeResult {
  /** `MACHINE.KEY PROBE`. */
  readonly id: string;
}

export function namedResult(machine: MachinePlan, result: ProbeResult): NamedResult {
  const of = namedOn(machine).find(
    ({ container, own = true }) => own && container?.name === result.target,
  );
  return { ...result, id: `${machine.name}.${of?.key ?? result.target} ${result.name}` };
}

/** What probes counted of servers whose arguments stay as they are: a newer image has to reach it. */
export function figuresToKeep(
  before: readonly NamedResult[],
  applied: readonly MachinePlan[],
  planned: readonly MachinePlan[],
): Record<string, number> {
  const [was, is] = [argumentsOf(applied), argumentsOf(planned)];
  const kept = before.filter(({ id }) => {
    const [part = ""] = id.split(" ");
    return was[part] !== undefined && isDeepStrictEqual(was[part], is[part]);
  });
  return Object.fromEntries(
    kept.flatMap(({ id, figure }) => (figure === undefined ? [] : [[id, figure]])),
  );
}

/** The arguments of each server, by its name in an update. */
const argumentsOf = (machines: readonly MachinePlan[]) =>
  Object.fromEntries(
    machines.flatMap(({ name, inferenceServers }) =>
      inferenceServers.map(({ key, container }) => [`${name}.${key}`, container.command]),
    ),
  );
