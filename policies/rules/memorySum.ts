import {
  figure,
  holdsUnknown,
  knownMap,
  list,
  map,
  UNKNOWN,
} from "@local-serving/vllm/argv/unknown";
import {
  AGGREGATE_LIMIT,
  shareText,
  tenThousandths,
  utilizationText,
} from "@local-serving/vllm/utilization";
import { adviseShare, partsBeyondShares } from "../../components/memory";
import { setsWith } from "../../components/memory/together";
import { OPERATING_SYSTEM, TYPE } from "../../components/planned";
import { shareNow, shareToStart, warnedText } from "../lib/advisedShare";
import { nameOf, serverName } from "../lib/block";
import { asksForGpus, type DeclaredResource, knownText } from "../lib/container";
import { eitherOf } from "../lib/eitherOf";
import { readContainer } from "../lib/inferenceServer";
import { cacheTooSmall, type LargestShare, largestShares } from "../lib/largestShares";
import { machinesIn, onComputers } from "../lib/oneComputer";
import { roleOf } from "../lib/role";
import { declaredSets } from "../lib/together";
import { advice, type Change, type Finding, type Found, type Rule, violation } from "./rule";

/** Sums of figures with two decimals are compared in hundredths of a GiB. */
const HUNDRED = 100;

/** One line of the machine's ledger, in hundredths of a GiB. */
interface Line {
  readonly name: string;
  readonly hundredths: number;
  /** Declared in the stack file or measured; anything else is somebody's experience. */
  readonly certain: boolean;
}

/** All memory that a machine's plan names fits into the machine. */
export const memorySum: Rule = {
  name: "memory-sum",
  description:
    "The declared and measured memory of everything on a machine sums to at most its total, and each server that starts on request fits beside what always runs.",
  level: "mandatory",
  advises: true,
  saidBy: "aggregate-utilization",
  of: TYPE.machine,
  judgeResource: (machine) => [judgedLines(machine) ?? [], judgedSets(machine)].flat(),
  judgeStack: (resources) =>
    onComputers(resources).flatMap(({ component }) =>
      component === undefined || machinesIn(component) === undefined
        ? []
        : (judgedLines(component) ?? []),
    ),
};

/** The lines of what always runs, with the largest set of servers that start on request. */
function judgedLines(machine: DeclaredResource): Found {
  if (machine.props.memory === undefined) return [];
  const memory = map(machine.props.memory);
  const lines = typeof memory === "object" ? linesOf(memory.lines) : undefined;
  const total = Math.round(figure(machine.props.totalGiB) * HUNDRED);
  if (lines === undefined || !Number.isFinite(total))
    return violation(
      machine,
      "The machine's memory can't be summed. `memory.lines` and `totalGiB` must be plain values.",
    );
  const largest = largestShares(machine);
  const certain = lines.filter((line) => line.certain);
  const all = sum(lines);
  const isRefused = sum(certain) > total;
  if (!isRefused && all <= total) return undefined;
  const together = machinesIn(machine);
  const where = together === undefined ? "" : ` ${together} are one computer with one memory.`;
  const cures = largest.map((share) => {
    const others = certain.filter(({ name }) => name !== share.name);
    const giving = { machine, share };
    const isEnough = advisedFor(giving).value > 0;
    return { text: remedy(giving, total - sum(others)), isEnough };
  });
  const others = certain.filter(
    ({ name }) => name !== OPERATING_SYSTEM && !largest.some((server) => server.name === name),
  );
  const cure = eitherOf(cures)
    .map((each) => ` ${each}`)
    .join("");
  const figures = `${counted(all)} of ${gib(total)}`;
  if (!isRefused)
    return advice(
      machine,
      `The memory of ${machine.name} may not fit: ${figures} with defaults. Measure them, or leave more room.${cure}${leftOut(lines)}${listed(machine, lines)}${where}`,
    );
  const message = `The memory of ${machine.name} doesn't fit: ${figures}, ${counted(all - total)} too much.${cure}${givesWay(others)}${listed(machine, lines)}${where}`;
  return violation(machine, message, changeOf(machine, largest));
}

/**
 * Every set of servers that start on request fits by what is declared and measured, and so does
 * each of them alone.
 */
function judgedSets(machine: DeclaredResource): Finding[] {
  const { beside, servers, sets } = declaredSets(machine);
  const whole = (value: unknown) => Math.round(figure(value) * HUNDRED);
  const left = whole(machine.props.totalGiB) - whole(beside.certainGiB);
  const limit = tenThousandths(AGGREGATE_LIMIT) - tenThousandths(figure(beside.utilization) || 0);
  const largest = largestShares(machine);
  return servers.flatMap((server) => {
    const name = knownText(server.name) ?? "a server";
    const needs = whole(server.certainGiB);
    const share = tenThousandths(figure(server.utilization));
    const inSets = setsWith(sets, name);
    const tooMuch = inSets.some((set) => {
      const members = servers.filter((each) => set.includes(knownText(each.name) ?? ""));
      return !(members.reduce((sum, { certainGiB }) => sum + whole(certainGiB), 0) <= left);
    });
    if (inSets.length > 0 && !tooMuch) return [];
    const [own] = largest.filter((each) => each.name === name);
    const cure = own === undefined ? "" : ` ${remedy({ machine, share: own }, left)}`;
    const change = own && changeOf(machine, [own]);
    const who = serverName(machine, name);
    if (tooMuch) {
      const message = `${who} doesn't fit beside the servers of its set. What always runs leaves ${gib(left)} for all of them.`;
      return violation(machine, message, change);
    }
    const why =
      needs > left
        ? `it needs ${gib(needs)}, but ${gib(left)} is left`
        : `it needs a share of ${shareText(share)}, but ${shareText(Math.max(0, limit))} is left`;
    const message = `${who} never fits: ${why}.${cure} The rest is taken by what always runs.`;
    return violation(machine, message, change);
  });
}

const pinnedOf = (machine: DeclaredResource): string[] =>
  Object.keys(knownMap(knownMap(machine.props.memory).fixedKvCache));

/** Lines as they stand in a machine component's inputs; `undefined` when one can't be read. */
function linesOf(given: unknown): Line[] | undefined {
  const entries = list(given);
  if (entries === UNKNOWN) return undefined;
  const lines = entries.map((entry): Line | undefined => {
    const line = knownMap(entry);
    const [name, hundredths] = [knownText(line.name), Math.round(figure(line.gib) * HUNDRED)];
    if (name === undefined || !Number.isFinite(hundredths)) return undefined;
    return { name, hundredths, certain: line.basis === "setting" || line.basis === "measured" };
  });
  return lines.every((line) => line !== undefined) ? lines : undefined;
}

/** A server whose share gives way, as the machine has it. */
interface Giving {
  readonly machine: DeclaredResource;
  readonly share: LargestShare;
}

const advisedFor = ({ machine, share }: Giving) =>
  adviseShare(share, shareNow(machine, share.name));

/** What mends the memory of a server that has so many hundredths of a GiB beside everything else. */
function remedy(giving: Giving, free: number): string {
  const { name, needs } = giving.share;
  const advised = advisedFor(giving);
  const { value, fits } = advised;
  const who = serverName(giving.machine, name);
  if (fits > 0 && value === 0)
    return `At most ${utilizationText(fits)} is left for ${who}, but it needs ${shareToStart(needs)}.`;
  if (fits > 0)
    return `Set \`gpuMemoryUtilization\` of ${who} to ${utilizationText(value)}.${warnedText(advised)}`;
  const isPinned = pinnedOf(giving.machine).includes(name);
  return `No \`gpuMemoryUtilization\` fits for ${who}${isPinned ? lowerCache(giving, free) : "."}`;
}

/** Behind what doesn't fit: its KV cache of fixed size is lowered, if it then holds one window. */
function lowerCache({ machine, share }: Giving, free: number): string {
  const named = { ...share, name: serverName(machine, share.name) };
  const tooSmall = cacheTooSmall(named, free / HUNDRED - (share.needs.outsideGiB ?? 0));
  return tooSmall === "" ? ": lower or remove its `kvCacheMemoryBytes`." : `. ${tooSmall}`;
}

/** Which lines the largest shares don't count, behind these shares. */
function leftOut(lines: readonly Line[]): string {
  const parts = partsBeyondShares(lines).map((part) => `\`${part}\``);
  return parts.length === 0
    ? ""
    : ` That leaves out ${parts.join(" and ")}: no share makes room for it.`;
}

/** The first share that can be lowered to what fits. */
function changeOf(machine: DeclaredResource, largest: readonly LargestShare[]): Change | undefined {
  return largest.flatMap((share) => {
    const { value } = advisedFor({ machine, share });
    return value > 0 ? [{ server: share.name, setting: "gpuMemoryUtilization", value }] : [];
  })[0];
}

/** The lines by what is known of them, as sentences behind others. */
function listed(machine: DeclaredResource, lines: readonly Line[]): string {
  const [certain, defaults] = [true, false].map((is) =>
    spelled(
      machine,
      lines.filter((line) => line.certain === is),
    ),
  );
  return ` Declared or measured: ${certain || "nothing"}.${defaults ? ` Defaults: ${defaults}.` : ""}`;
}

/** What an operator may shrink beside our servers, the largest first. */
function givesWay(others: readonly Line[]): string {
  if (others.length === 0) return "";
  const names = [...others].sort((a, b) => b.hundredths - a.hundredths).map((line) => line.name);
  return ` What else can be reduced, the largest first: ${names.join(", ")}.`;
}

/** A line of a server begins with its container's name. */
function spelled(machine: DeclaredResource, lines: readonly Line[]): string {
  const named = (line: string) => {
    const [first = "", ...rest] = line.split(": ");
    return [serverName(machine, first), ...rest].join(": ");
  };
  return lines.map(({ name, hundredths }) => `${named(name)} ${counted(hundredths)}`).join(" + ");
}

const sum = (lines: readonly Line[]): number =>
  lines.reduce((total, line) => total + line.hundredths, 0);

const counted = (hundredths: number): string => (hundredths / HUNDRED).toFixed(2);
const gib = (hundredths: number): string => `${counted(hundredths)} GiB`;

/**
 * On this machine a GPU's memory is everybody's: whoever is given the GPU takes from the same pool
 * as the servers.
 */
export const otherGpuMemory: Rule = {
  name: "other-gpu-memory",
  description:
    "The memory of containers with GPUs that are not inference servers is declared for their machine (`otherGpuMemoryGiB`), so that it counts.",
  level: "mandatory",
  judgeMachine({ component, containers, machine }) {
    if (component === undefined || figure(component.props.otherGpuMemoryGiB) > 0) return [];
    return containers
      .filter(
        ({ props }) =>
          asksForGpus(props) && !holdsUnknown([props.gpus, props.deviceRequests, props.runtime]),
      )
      .filter((container) => readContainer(container).kind === "no")
      .filter((container) => !holdsOllama(container, component))
      .map((container) => {
        const message = `${nameOf(container)} has GPUs on ${machine}, and its memory isn't counted. It is no inference server: measure it and declare \`otherGpuMemoryGiB\` of the machine, or start the container without GPUs.`;
        return violation(container, message);
      });
  },
};

/** The chat UI with Ollama inside, whose models have a line of their own. */
function holdsOllama(container: DeclaredResource, component: DeclaredResource): boolean {
  const { mode } = knownMap(component.props.simpleServer);
  return mode === "integrated" && roleOf(container) === "chat-ui";
}
