import { defined } from "@local-serving/base/faults/defined";
import { homeOn, onMachine } from "@local-serving/machines/home";
import { totalFinding } from "../../../components/memory";
import type { MachineSettings } from "../../../components/settings";
import type { Judged } from "../../../policies/judge";
import { mendsByReading, unreadEntries } from "../../pin/unread";
import { policiesOn } from "../../plan/judgedPlan";
import type { HostFacts } from "../../sees/computer/facts";
import { type OneMachine, type PlannedStack, readStack } from "../../stack/readStack";
import { unifiedDiff } from "../../stackEdit/applyEdits";
import { USUAL_CLIENTS } from "../command/clients";
import type { CommandNotes } from "../command/notes";
import type { LeftOut } from "../command/words";
import { serviceLeftOut } from "../from/companions";
import { type AskRegistry, pinnedServers } from "../from/pinnedServers";
import { readServers } from "../from/published";
import { nextKey } from "../from/severalServers";
import type { Published } from "../from/source";
import type { Place } from "../offers";
import { newServers, type Wanted } from "../settings";
import { withServers } from "../withServers";

/** What servers are added by. */
export interface Adding {
  readonly command: Published;
  /** Whether each server is wanted of a text that starts one or another. */
  readonly all: boolean | undefined;
  readonly ask: AskRegistry | undefined;
  /** What was seen of the machine, where it was looked at. */
  readonly seen: HostFacts | undefined;
  readonly place: Place;
}

/** A stack file with the servers of a command. */
export interface Added {
  readonly keys: readonly string[];
  /** Hub id of the first one's model, or a path. */
  readonly model: string;
  readonly after: string;
  readonly diff: string;
  readonly told: CommandNotes;
  /** What to mend before `up`, a sentence each. */
  readonly mend: readonly string[];
  /** What is planned then, and what every policy says of it. */
  readonly planned: PlannedStack;
  readonly policies: readonly Judged[];
  readonly refused: readonly Judged[];
  /** Of that, what `up` refuses whatever it reads in images. */
  readonly lasting: readonly Judged[];
}

/** Makes servers of a command, beside those that a stack file has. Nothing is written. */
export async function addServers(
  into: OneMachine,
  { command, all, ask, seen, place }: Adding,
): Promise<Added> {
  const { isSeen, facts } = factsFor(into, seen);
  const base: Wanted = { name: into.name, into, key: nextKey(into), clients: USUAL_CLIENTS };
  const read = withoutServices(readServers(command, all));
  const made = await pinnedServers(read, { facts, base, place }, ask);
  const wanted: Wanted = { ...base, ...made.server };
  const servers = newServers(facts, wanted, made.server.server);
  const after = withServers(into, servers);
  const planned = readStack(into.file, after);
  const policies = policiesOn(planned);
  const unread = unreadEntries(planned.settings);
  const refused = policies.filter(({ verdict }) => verdict === "refused");
  const otherCache = cacheLeftOut(made.server.modelCache, into.settings);
  return {
    keys: servers.map(({ key }) => key),
    model: made.model,
    after,
    diff: unifiedDiff(into.file, into.text, after),
    told: {
      ...made.told,
      leftOut: [...made.told.leftOut, ...otherCache],
      chosen: [...made.told.chosen, ...(isSeen ? [] : [NOT_SEEN])],
    },
    mend: made.mend,
    planned,
    policies,
    refused,
    lasting: refused.filter((each) => !mendsByReading(each, unread, planned)),
  };
}

const NOT_SEEN =
  "The machine wasn't looked at: which of its ports are free is known by the stack file alone.";

/** The facts of a machine by which servers are made; what its stack file says isn't among them. */
function factsFor(into: OneMachine, seen: HostFacts | undefined) {
  const isSame =
    seen !== undefined &&
    totalFinding(into.settings.totalGiB, seen.memory.totalGiB)?.verdict !== "refused";
  return isSame ? { isSeen: true, facts: seen } : { isSeen: false, facts: factsByFile(into) };
}

/** The facts of a machine that nobody looked at, by its stack file: nothing runs on it. */
export function factsByFile({ name, settings }: OneMachine): HostFacts {
  const { totalGiB, device } = settings;
  return {
    readAt: new Date().toISOString(),
    host: name,
    kernel: "",
    kernelArguments: [],
    gpus: [],
    memory: { totalGiB, availableGiB: totalGiB },
    docker: { reachable: false, reason: "" },
    servers: [],
    ports: [],
    modelCache: { path: settings.modelCache, usual: true, models: [] },
    clients: [],
    ...defined({ device }),
  };
}

/** The servers alone: a stack file has services of its own. */
const withoutServices = (read: ReturnType<typeof readServers>): typeof read => ({
  ...read,
  services: [],
  leftOut: [...read.leftOut, ...read.services.map(serviceLeftOut)],
});

/** Says of a command's folder of models that the machine has another one. */
function cacheLeftOut(named: string | undefined, settings: MachineSettings): LeftOut[] {
  if (named === undefined) return [];
  const operator = { home: homeOn(settings, { home: "~" }) };
  if (onMachine(named, operator) === onMachine(settings.modelCache, operator)) return [];
  const why = `all servers of a machine share \`modelCache\`, which is ${settings.modelCache}: \`serving fetch\` brings what it lacks.`;
  return [{ what: `models in ${named}`, why }];
}
