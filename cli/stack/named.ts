import { SeveralMeant, WrongUse } from "@local-serving/base/commandLine/exit";
import { defined, ownValue } from "@local-serving/base/faults/defined";
import { nearOf } from "@local-serving/base/faults/quoting";
import type { InferenceServerPlan } from "../../components/inference-server";
import type { MachinePlan } from "../../components/plan";
import { answers, type PlannedContainer, serversOn } from "../../components/planned";
import { INSTANCE_A, SIMPLE_SERVER } from "../../components/planned/fields";
import { onItsMachines } from "./onMachines";

/**
 * Something on a machine that has a name: a container of ours, an Ollama that is systemd's,
 * llama-swap, or instance A.
 */
export interface Named {
  readonly machine: MachinePlan;
  /**
   * Key of a server (`b`), name of a service (`chat-ui`), or `instance-a`; a worker's is `dgx1.b`.
   */
  readonly key: string;
  /** Absent of what runs in no container of ours. */
  readonly container?: PlannedContainer;
  /** `false` where the container is another service's. */
  readonly own?: boolean;
  /** The server that has this container. */
  readonly server?: InferenceServerPlan;
}

/** What llama-swap is called, where a machine has it. */
export const ON_DEMAND = "on-demand";

/** Everything with a name on a machine: its servers, what runs in containers, then what doesn't. */
export function namedOn(machine: MachinePlan): Named[] {
  const { services, containers, hostInstance, onDemand } = machine;
  return [
    ...serversOn(machine).map((server) => ({
      machine,
      key: server.key,
      container: server.container,
      server,
    })),
    ...[...services]
      .sort((a, b) => Number(b.own) - Number(a.own))
      .map(({ name, own, container }) => ({
        machine,
        key: name,
        own,
        ...defined({ container: containers.find((each) => each.name === container) }),
      })),
    ...(onDemand === undefined ? [] : [{ machine, key: ON_DEMAND }]),
    ...(hostInstance === "none" ? [] : [{ machine, key: INSTANCE_A }]),
  ];
}

/** The containers of a thing, each with its machine: of a server first the one that answers. */
export const namedContainers = (
  { machine, container, server }: Named,
  machines: readonly MachinePlan[],
) =>
  server !== undefined
    ? onItsMachines({ machine, server }, machines).map((each) => ({
        machine: each.machine,
        container: each.server.container,
      }))
    : container === undefined
      ? []
      : [{ machine, container }];

/** Words of a person for what has another key. */
const ALSO: Readonly<Record<string, string>> = {
  ollama: SIMPLE_SERVER,
  a: INSTANCE_A,
  "llama-swap": ON_DEMAND,
};

/** A name that is spelt as a setting (`chatUi`), as keys and roles are (`chat-ui`). */
export const asKey = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/**
 * The thing that somebody means by `b`, `bridge`, `chatUi`, the name of a container, or one of
 * these behind `MACHINE.`. Throws `WrongUse`, with the names that there are, for a name that
 * nothing has, and `SeveralMeant` for one that more than one has.
 * @param also further names that the caller takes
 */
export function named(
  machines: readonly MachinePlan[],
  name: string,
  also: readonly string[] = [],
): Named {
  const all = machines.flatMap(namedOn);
  const found = all.filter((each) => namesOf(each).includes(name));
  const spoken = asKey(name);
  const [only, ...others] =
    found.length > 0
      ? found
      : all.filter((each) => namesOf(each).includes(ownValue(ALSO, spoken) ?? spoken));
  if (only !== undefined && others.length === 0) return only;
  if (only !== undefined)
    throw new SeveralMeant(name, `${name} is on several machines`, [only, ...others].map(fullName));
  const known = [...knownNames(machines), ...also];
  const near = nearOf(name, [...known, ...all.flatMap(namesOf)], "");
  throw new WrongUse(
    `Nothing in the stack file is called ${name}.${near === "" ? "" : ` ${near}`} There is: ${known.join(", ") || "nothing"}.`,
  );
}

/** The name that was typed. Without one it throws `WrongUse` with what runs in containers of ours. */
export function nameTyped(machines: readonly MachinePlan[], name: string | undefined): string {
  if (name !== undefined) return name;
  const names = machines
    .flatMap(namedOn)
    .filter(({ container, own }) => container !== undefined && own !== false)
    .map(machines.length === 1 ? shortName : fullName);
  throw new WrongUse(
    names.length === 0
      ? "Nothing in the stack file runs in a container."
      : `Say which one: ${names.join(", ")}.`,
  );
}

/** The names of everything on some machines, as `named` takes them. */
export const knownNames = (machines: readonly MachinePlan[]): string[] =>
  machines.flatMap(namedOn).map(machines.length === 1 ? shortName : fullName);

const fullName = (each: Named): string => `${each.machine.name}.${shortName(each)}`;

const isWorker = ({ server }: Named) => server !== undefined && !answers(server);

/** The key; of a worker its container, since `dgx1.b` names the head. */
const shortName = (each: Named): string =>
  isWorker(each) ? (each.container?.name ?? each.key) : each.key;

/** Every name of a thing; a container is no other name of what runs inside it. */
function namesOf(each: Named): string[] {
  const { machine, key, container, own = true } = each;
  const its = own && container !== undefined ? [container.name] : [];
  const names = [...(isWorker(each) ? [] : [key]), ...its];
  return names.flatMap((name) => [name, `${machine.name}.${name}`]);
}
