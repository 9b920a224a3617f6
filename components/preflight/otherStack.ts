import { dirname } from "node:path";
import { jsonIn, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { readContainers } from "@local-serving/machines/docker/containers";
import { docker } from "@local-serving/machines/docker/docker";
import { filesOf } from "@local-serving/machines/files";
import { type PreflightFinding, refused } from "../features/kind";
import { appliedPlanPath, type MachinePlan } from "../plan";
import { LABEL } from "../planned";

type Planned = Pick<MachinePlan, "name" | "dockerHost" | "network" | "containers" | "files">;

/** What is on a machine under a name that a plan takes, and isn't this stack's. */
export interface OtherStack {
  /** What other stack files call the machine; empty if no stack of this program made it. */
  readonly machines: readonly string[];
  readonly containers: readonly string[];
  readonly network?: string;
}

/** What a stack can call its own on a machine. */
export interface Own {
  /** The machines of the stack file. */
  readonly machines: readonly string[];
  /** Its state has nothing: then whatever is there was made by another stack. */
  readonly isNew: boolean;
}

/**
 * Looks for containers and a network that Docker would refuse to make a second time. Only reads. If
 * Docker doesn't answer, other findings say so.
 */
export async function readOtherStack(machine: Planned, own: Own): Promise<OtherStack | undefined> {
  const { dockerHost, network, containers } = machine;
  const names = containers.map(({ name }) => name);
  const ask = (filters: readonly string[]) => readContainers(dockerHost, filters).catch(() => []);
  const list = ["network", "ls", "--format", "{{.Name}}", "--filter", `name=^${network}$`];
  const [called, joined, listed] = await Promise.all([
    names.length === 0 ? [] : ask(names.map((name) => `name=^/?${name}$`)),
    ask([`label=${LABEL.machine}`, `network=${network}`]),
    own.isNew ? docker(list, dockerHost).catch(() => "") : "",
  ]);
  const isOther = ({ labels }: (typeof joined)[number]) => {
    const machine = labels[LABEL.machine];
    return own.isNew || (machine !== undefined && !own.machines.includes(machine));
  };
  const users = joined.filter(isOther);
  const found = [...called.filter(({ name }) => names.includes(name)).filter(isOther), ...users];
  const hasNetwork = users.length > 0 || listed.split("\n").includes(network);
  if (found.length === 0 && !hasNetwork) return undefined;
  const labels = found.flatMap(({ labels }) => labels[LABEL.machine] ?? []);
  // A network has no label of ours; the plan that was applied with it tells whose it is.
  const plans = found.length > 0 ? [] : await readOtherPlans(machine, own);
  return {
    machines: unique([...labels, ...plans.flatMap((each) => each.machines)]),
    containers: unique(found.map(({ name }) => name)),
    ...(hasNetwork ? { network } : {}),
  };
}

const unique = (names: readonly string[]): string[] => [...new Set(names)].sort();

/** What a plan would make that plans have which other stacks left applied on the machine. */
export async function readOtherPlans(machine: Planned, own: Own): Promise<OtherStack[]> {
  const record = machine.files.find(({ role }) => role === "applied-plan");
  if (record === undefined) return [];
  const files = filesOf(machine);
  const folder = dirname(dirname(record.path));
  const names = (await files.names(folder)).filter(
    (name) => own.isNew || !own.machines.includes(name),
  );
  const texts = await Promise.all(names.map((name) => files.text(appliedPlanPath(name, folder))));
  return names.flatMap((name, index) => {
    const applied = objectOr(objectOr(jsonIn(texts[index] ?? "")).machine);
    const has = objectsIn(applied.containers).map((each) => textOr(each.name));
    const containers = machine.containers
      .map((each) => each.name)
      .filter((each) => has.includes(each));
    const sharesNetwork = applied.network === machine.network;
    if (containers.length === 0 && !sharesNetwork) return [];
    const network = sharesNetwork ? { network: machine.network } : {};
    return [{ machines: [name], containers: unique(containers), ...network }];
  });
}

/** What another stack has, in a sentence, and what to do about it. */
export interface Whose {
  readonly cause: string;
  readonly remedy: string;
}

/** Whose those things are. `machine` is what this stack calls the machine. */
export function tellOtherStack(
  machine: string,
  { machines, containers, network }: OtherStack,
): Whose {
  const things = [
    ...containers.map((name) => `\`${name}\``),
    ...(network === undefined ? [] : [`the network \`${network}\``]),
  ].join(", ");
  const others = machines.filter((each) => each !== machine).map((each) => `\`${each}\``);
  if (others.length > 0)
    return {
      cause: `Another stack is applied here, which calls this machine ${others.join(" and ")}. It has ${things}.`,
      remedy:
        "Edit the stack file of that machine, or run `serving down` in its folder first. If you renamed the machine, write its old name again and run `serving down` before you rename it.",
    };
  if (machines.length > 0)
    return {
      cause: `A machine \`${machine}\` is applied here, and the state of this stack has nothing of it: ${things}.`,
      remedy:
        "If a stack of another folder made it, edit the stack file there, or run `serving down` there first. If the state of this folder was lost, copy `.pulumi-state` back.",
    };
  return containers.length > 0
    ? {
        cause: `This stack would make ${things}, and a container of that name exists that no stack of this program made.`,
        remedy: `Give it another name, as with \`docker rename ${containers[0]} NAME\`, or remove it.`,
      }
    : {
        cause: `This stack would make ${things}, and it exists already.`,
        remedy: `If nothing else uses it, run \`docker network rm ${network}\`; else write another \`network\` for the machine.`,
      };
}

/** Refuses an update that would fail half-way, because a name is taken. */
export function otherStackFindings(
  { name }: Pick<MachinePlan, "name">,
  other: OtherStack | undefined,
): PreflightFinding[] {
  if (other === undefined) return [];
  const { cause, remedy } = tellOtherStack(name, other);
  const isNetworkAlone = other.containers.length === 0 && other.machines.length === 0;
  return [refused(`${cause} ${remedy}`, isNetworkAlone ? "network" : undefined)];
}
