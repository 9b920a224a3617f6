import {
  demandFigures,
  fitTogether,
  leftBeside,
  shareLeft,
  type TogetherFigures,
} from "../../components/memory";
import type { MachinePlan } from "../../components/plan";
import { serversOn } from "../../components/plan";
import { LABEL } from "../../components/planned";
import { defined } from "../../faults/defined";
import { listOf } from "../../faults/quoting";
import type { ContainerState } from "../../machines/docker/containers";
import {
  AGGREGATE_LIMIT,
  type MemoryDemand,
  VLLM_DEFAULT_UTILIZATION,
} from "../../vllm/utilization";

/** A server that starts on request, as it counts in a sum. */
type OnRequest = TogetherFigures["servers"][number];

/** Docker's words for a container that holds its memory. */
const HOLDS_MEMORY = ["running", "paused", "restarting"];

/** A container, as far as it decides what may start. */
export type SeenContainer = Pick<
  ContainerState,
  "name" | "status" | "labels" | "memory" | "gpuMemoryUtilization"
>;

/** Who stops before a server starts, and why. */
export interface GivesWay {
  readonly stops: readonly OnRequest[];
  /** Why, with the figures; "" where nobody stops. */
  readonly why: string;
  /** Why the server can't start at all, whoever stops. */
  readonly refused?: string;
}

/**
 * Decides who stops so that a server can start. It goes by what runs: a server that was started
 * with more than the plan has counts with that, and one of ours that the plan doesn't have counts,
 * too. Of those that could stay, the ones that take most of the memory do.
 */
export function giveWay(
  machine: MachinePlan,
  together: TogetherFigures,
  key: string,
  seen: readonly SeenContainer[],
): GivesWay {
  const runs = seen.filter(({ status }) => HOLDS_MEMORY.includes(status));
  const strangers = runs.filter((each) => isStranger(machine, each));
  const figures = asRunning(machine, together, runs, strangers);
  const wanted = figures.servers.find((each) => each.key === key);
  if (wanted === undefined) return { stops: [], why: "" };
  const running = figures.servers.filter(
    ({ key: other, container }) => other !== key && runs.some(({ name }) => name === container),
  );
  if (fitTogether(figures, [wanted, ...running])) return { stops: [], why: "" };
  const stays = mostThatStay(figures, wanted, running);
  if (stays === undefined)
    return { stops: [], why: "", refused: refusal(figures, wanted, strangers) };
  return {
    stops: running.filter((each) => !stays.includes(each)),
    why: `${key} takes ${wanted.takenGiB.toFixed(2)} GiB. Beside ${listOf(running.map((each) => each.key))}, ${shortage(figures, [wanted, ...running])}.`,
  };
}

/** What is too much where these run at once. */
function shortage(figures: TogetherFigures, members: readonly OnRequest[]): string {
  const left = leftBeside(figures, members);
  const floor = members.length > 1 ? `, counting the floor of ${figures.floorGiB} GiB` : "";
  return left < 0
    ? `${(-left).toFixed(2)} GiB are missing${floor}`
    : `the shares come to ${(AGGREGATE_LIMIT - shareLeft(figures, members)).toFixed(2)}, above the limit of ${AGGREGATE_LIMIT.toFixed(2)}`;
}

function refusal(
  figures: TogetherFigures,
  wanted: OnRequest,
  strangers: readonly SeenContainer[],
): string {
  const names = strangers.map(({ name }) => name);
  const fits = `${wanted.key} takes ${wanted.takenGiB.toFixed(2)} GiB and doesn't fit beside what always runs: ${shortage(figures, [wanted])}.`;
  return names.length === 0
    ? `${fits} \`serving plan\` shows what fits, and \`serving drift\` whether something runs with more memory than planned.`
    : `${fits} ${listOf(names)} ${names.length === 1 ? "runs on this machine but isn't" : "run on this machine but aren't"} in the stack file: \`docker stop ${names.join(" ")}\`.`;
}

/** The running servers that may stay, most of the memory first; `undefined` where none may. */
function mostThatStay(
  figures: TogetherFigures,
  wanted: OnRequest,
  running: readonly OnRequest[],
): readonly OnRequest[] | undefined {
  let most: { readonly stay: readonly OnRequest[]; readonly taken: number } | undefined;
  for (let set = 0; set < 2 ** running.length; set += 1) {
    const stay = running.filter((_, index) => (set & (2 ** index)) !== 0);
    const taken = stay.reduce((sum, { takenGiB }) => sum + takenGiB, 0);
    if (most !== undefined && taken <= most.taken) continue;
    if (fitTogether(figures, [wanted, ...stay])) most = { stay, taken };
  }
  return most?.stay;
}

/** Whether a container is a server of ours on this machine that the plan doesn't have. */
const isStranger = (
  { name: machine, containers }: MachinePlan,
  { name, labels, ...seen }: SeenContainer,
) =>
  labels[LABEL.machine] === machine &&
  containers.every((each) => each.name !== name) &&
  (labels[LABEL.server] !== undefined || seen.gpuMemoryUtilization !== undefined);

/** The plan's figures, with those of what runs where they are larger. */
function asRunning(
  machine: MachinePlan,
  together: TogetherFigures,
  runs: readonly SeenContainer[],
  strangers: readonly SeenContainer[],
): TogetherFigures {
  const { totalGiB, beside, servers } = together;
  const { fixedKvCache = {} } = machine.ledger;
  const planned = new Map(serversOn(machine).map((each) => [each.container.name, each.memory]));
  const figures = (demand: MemoryDemand, name: string) =>
    demandFigures(
      { ...demand, ...defined({ outsideGiB: fixedKvCache[name]?.outsideGiB }) },
      totalGiB,
    );
  const more = runs.flatMap((each) => {
    const stranger = strangers.includes(each);
    const onRequest = servers.some(({ container }) => container === each.name);
    const asked = planned.get(each.name);
    const real = demandOf(each) ?? (stranger ? NOT_KNOWN : undefined);
    if (onRequest || real === undefined || (asked === undefined && !stranger)) return [];
    const [is, was] = [figures(real, each.name), asked && figures(asked, each.name)];
    return beyond(is, was);
  });
  const sum = (figure: keyof (typeof more)[number]) =>
    more.reduce((all, each) => all + each[figure], 0);
  return {
    ...together,
    beside: {
      takenGiB: beside.takenGiB + sum("takenGiB"),
      certainGiB: beside.certainGiB + sum("certainGiB"),
      utilization: beside.utilization + sum("utilization"),
    },
    servers: servers.map((server) => {
      const run = runs.find(({ name }) => name === server.container);
      const real = run && demandOf(run);
      return real === undefined ? server : larger(server, figures(real, server.container));
    }),
  };
}

type Figures = ReturnType<typeof demandFigures>;

const larger = (server: OnRequest, real: Figures): OnRequest => ({
  ...server,
  takenGiB: Math.max(server.takenGiB, real.takenGiB),
  certainGiB: Math.max(server.certainGiB, real.certainGiB),
  utilization: Math.max(server.utilization, real.utilization),
});

const beyond = (is: Figures, was?: Figures): Figures => ({
  takenGiB: Math.max(0, is.takenGiB - (was?.takenGiB ?? 0)),
  certainGiB: Math.max(0, is.certainGiB - (was?.certainGiB ?? 0)),
  utilization: Math.max(0, is.utilization - (was?.utilization ?? 0)),
});

/** What a container asks of the memory, where its arguments tell it. */
function demandOf({ memory, gpuMemoryUtilization }: SeenContainer): MemoryDemand | undefined {
  if (memory !== undefined) return memory;
  return gpuMemoryUtilization === undefined ? undefined : { utilization: gpuMemoryUtilization };
}

/** What a server takes that says nothing. */
const NOT_KNOWN: MemoryDemand = { utilization: VLLM_DEFAULT_UTILIZATION };
