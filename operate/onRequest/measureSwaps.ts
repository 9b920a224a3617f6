import type { Outcome } from "../../commandLine/command";
import { Failed, WrongUse } from "../../commandLine/exit";
import { endingInOrder, interruption } from "../../commandLine/interrupt";
import { columns, say } from "../../commandLine/output";
import { expectTerminal, saysYes } from "../../commandLine/saysYes";
import type { MachinePlan } from "../../components/plan";
import { parseMeminfo } from "../../machines/memory";
import { duration } from "../../units/duration";
import { hundredths } from "../../units/memory";
import { hostOf } from "../sees/host";
import { hasOnDemand, type SwapMachine } from "../sees/onDemand/onDemand";
import { stackFile } from "../stack/stackFile";
import { keptStarts } from "../verify/keptStarts";
import { type StartByRequestOptions, startedByRequest } from "./startByRequest";
import { stopByRequest } from "./stopByRequest";

/** One start and stop. */
export interface MeasuredSwap {
  readonly key: string;
  /** Until it was ready. */
  readonly seconds: number;
  /** MemAvailable once it had stopped. */
  readonly availableGiB: number;
}

/** What is said of starts and stops that were made. */
export interface SwapsMeasured {
  readonly firstGiB: number;
  readonly swaps: readonly MeasuredSwap[];
  /** Why there are no more. */
  readonly ended?: string;
}

const MOST_SWAPS = 100;

/** What a start is taken for where none was measured, in minutes. */
const USUAL_MINUTES = 6;

/**
 * The servers that are started in turn: two that don't run together where there are such, else
 * one.
 */
export function swappedServers({ onDemand, together }: SwapMachine): string[] {
  const keys = onDemand.servers.map(({ key }) => key);
  const sets = together?.sets ?? [];
  for (const one of keys)
    for (const other of keys)
      if (one !== other && !sets.some((set) => set.includes(one) && set.includes(other)))
        return [one, other];
  return keys.slice(0, 1);
}

/** Starts and stops servers so often, and says what is left in memory. */
export function measureSwaps(
  machine: MachinePlan,
  count: number,
  options: StartByRequestOptions,
): Promise<Outcome> {
  if (count > MOST_SWAPS) throw new WrongUse(`--swaps ${count}: at most ${MOST_SWAPS}.`);
  if (!hasOnDemand(machine))
    throw new WrongUse(
      `--swaps measures servers that llama-swap starts, but ${machine.name} has no \`onDemand\`.`,
    );
  return endingInOrder(async (signal) => {
    const keys = swappedServers(machine);
    say(beforeText(machine, { keys, count }, options));
    if (!options.yes) {
      expectTerminal();
      if (!(await saysYes("Begin?", signal)))
        return {
          result: { machine: machine.name, swaps: [] },
          text: "Nothing was started.",
          failed: true,
        };
    }
    const found = await swapsOf(machine, { keys, count }, { options, signal });
    const text = swapsText(machine, found);
    if (signal.aborted) say(text);
    return {
      result: { machine: machine.name, ...found, record: recordOf(found) ?? null },
      text,
      failed: found.ended !== undefined,
    };
  });
}

interface Asked {
  readonly keys: readonly string[];
  readonly count: number;
}

/** How long it takes, and whom it disturbs. */
function beforeText(
  machine: SwapMachine,
  { keys, count }: Asked,
  options: StartByRequestOptions,
): string {
  const lastStart = keptStarts(stackFile(options), machine.name);
  const known = keys.map((key) => {
    const server = machine.inferenceServers.find((each) => each.key === key);
    return server && lastStart(server.container);
  });
  const each = known.map((seconds) => (seconds ?? USUAL_MINUTES * 60) / 60);
  const minutes = Math.ceil((count * each.reduce((sum, one) => sum + one, 0)) / each.length);
  const guess = known.includes(undefined)
    ? `; starts that weren't measured count as ${USUAL_MINUTES} min`
    : "";
  return `${keys.join(" and ")} ${keys.length === 1 ? "is" : "are"} started and stopped ${count} times${keys.length === 1 ? "" : " in turn"}: about ${minutes} min${guess}. What runs now is stopped, and clients wait meanwhile. Ctrl-C ends it and prints what was measured.`;
}

async function swapsOf(
  machine: SwapMachine,
  { keys, count }: Asked,
  { options, signal }: { readonly options: StartByRequestOptions; readonly signal: AbortSignal },
): Promise<SwapsMeasured> {
  const host = hostOf(machine.dockerHost);
  const available = async () => parseMeminfo(await host.meminfo())?.availableGiB ?? Number.NaN;
  const one = (key = "") => {
    const server = machine.inferenceServers.find((each) => each.key === key);
    if (server === undefined) throw new Failed(`${machine.name} has no server ${key}.`);
    return { machine, server };
  };
  const states = await host.containers();
  const swaps: MeasuredSwap[] = [];
  let firstGiB = Number.NaN;
  try {
    // What runs is stopped first, so that each figure is of an empty machine.
    for (const { key, container } of machine.onDemand.servers)
      if (states.some(({ name, status }) => name === container && status === "running"))
        await stopByRequest(one(key));
    firstGiB = await available();
    while (swaps.length < count && !signal.aborted) {
      const key = keys[swaps.length % keys.length] ?? "";
      const began = performance.now();
      const started = await startedByRequest(one(key), { ...options, yes: true }, signal);
      if (typeof started === "string") return { firstGiB, swaps, ended: started };
      if (started.waited.outcome !== "ready")
        return { firstGiB, swaps, ended: `${key} did not start: ${started.waited.reason}` };
      const seconds = Math.round((performance.now() - began) / 1000);
      await stopByRequest(one(key));
      const availableGiB = await available();
      swaps.push({ key, seconds, availableGiB });
      say(
        `${swaps.length} of ${count}: ${key} ${duration(seconds)}, ${availableGiB.toFixed(2)} GiB`,
      );
      if (availableGiB < machine.memoryFloorGiB)
        return {
          firstGiB,
          swaps,
          ended: `MemAvailable is ${availableGiB.toFixed(2)} GiB with nothing running, below memoryFloorGiB (${machine.memoryFloorGiB}). Restart the machine.`,
        };
    }
  } catch (error) {
    if (!(error instanceof Failed) || swaps.length === 0) throw error;
    return { firstGiB, swaps, ended: error.message };
  }
  return swaps.length < count
    ? { firstGiB, swaps, ended: interruption(signal) }
    : { firstGiB, swaps };
}

/** What the stack file keeps of it; `undefined` where nothing was measured. */
function recordOf({ firstGiB, swaps }: SwapsMeasured) {
  const last = swaps.at(-1);
  if (last === undefined || Number.isNaN(firstGiB - last.availableGiB)) return undefined;
  const lostGiB = hundredths(firstGiB - last.availableGiB);
  return { swaps: swaps.length, lostGiB, at: new Date().toISOString().slice(0, 10) };
}

/** The starts and stops as a table, and the record to paste. */
export function swapsText({ name }: Pick<MachinePlan, "name">, found: SwapsMeasured): string {
  const { firstGiB, swaps, ended } = found;
  const record = recordOf(found);
  const rows = swaps.map(({ key, seconds, availableGiB }, index) => [
    `${index + 1}`,
    key,
    duration(seconds),
    `${availableGiB.toFixed(2)} GiB`,
  ]);
  return [
    ...columns([
      ["", "server", "ready after", "MemAvailable after its stop"],
      ["0", "", "", `${firstGiB.toFixed(2)} GiB`],
      ...rows,
    ]),
    ...(ended === undefined ? [] : ["", `It ended early: ${ended}`]),
    ...(record === undefined
      ? []
      : [
          "",
          `For the stack file (machines.${name}.onDemand):`,
          `  measuredSwaps: { swaps: ${record.swaps}, lostGiB: ${record.lostGiB}, at: ${record.at} }`,
        ]),
  ].join("\n");
}
