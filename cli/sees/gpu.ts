import { setTimeout as sleep } from "node:timers/promises";
import type { Host } from "./host";

/** How a GPU works at one moment; a figure that its driver doesn't give is `null`. */
export interface GpuState {
  /** Share of the last moments in which it worked, from 0 to 1. */
  readonly busy: number | null;
  readonly clockMHz: number | null;
  /** Most that its clock could be. */
  readonly maxClockMHz: number | null;
  readonly celsius: number | null;
  readonly watts: number | null;
  /** Why it runs slower than it could, in words; `null` where nothing holds it back. */
  readonly slowedBy: string | null;
  /** Whether its limit of power holds the clock: usual for a card at full load, and no fault. */
  readonly atPowerLimit: boolean | null;
}

/** What is asked of nvidia-smi, and what each reason that holds its clock back is called. */
const FIGURES = [
  "utilization.gpu",
  "clocks.sm",
  "clocks.max.sm",
  "temperature.gpu",
  "power.draw",
  "clocks_event_reasons.sw_power_cap",
];
const REASONS: Readonly<Record<string, string>> = {
  "clocks_event_reasons.hw_thermal_slowdown": "heat (the hardware's own limit)",
  "clocks_event_reasons.sw_thermal_slowdown": "heat (the driver's limit)",
  "clocks_event_reasons.hw_power_brake_slowdown": "the power supply (power brake)",
};

/**
 * A busy GPU below this clock is in a state of low power: 695 to 890 MHz were seen on a DGX Spark
 * that was 96 % busy (hasso5703/dgx-spark-qwen38 #8), where 2,000 and more are usual.
 */
const SLOW = { busy: 0.9, clockMHz: 900 };
const LOW_POWER = "a state of low power (busy, but its clock is below 900 MHz)";

/** The first GPU of a machine, by nvidia-smi; `undefined` where that isn't there or doesn't say. */
export async function readGpu({ ask }: Pick<Host, "ask">): Promise<GpuState | undefined> {
  const query = [...FIGURES, ...Object.keys(REASONS)].join(",");
  const { code, out } = await ask([
    "nvidia-smi",
    `--query-gpu=${query}`,
    "--format=csv,noheader,nounits",
  ]);
  return code === 0 ? gpuIn(out) : undefined;
}

/** Reads that answer of nvidia-smi, of which each line is a GPU. */
export function gpuIn(text: string): GpuState | undefined {
  const words =
    text
      .split("\n", 1)[0]
      ?.split(",")
      .map((word) => word.trim()) ?? [];
  const names = Object.values(REASONS);
  if (words.length !== FIGURES.length + names.length) return undefined;
  const [use = null, clockMHz = null, maxClockMHz = null, celsius = null, watts = null] =
    words.map(figure);
  const capped = words[FIGURES.length - 1] ?? "";
  const active = names.filter((_, index) => words[FIGURES.length + index] === "Active");
  const busy = use === null ? null : use / 100;
  const isSlow =
    busy !== null && busy >= SLOW.busy && clockMHz !== null && clockMHz < SLOW.clockMHz;
  if (active.length === 0 && isSlow) active.push(LOW_POWER);
  const slowedBy = active.length === 0 ? null : active.join(", ");
  const atPowerLimit = /^(?:Not )?Active$/.test(capped) ? capped === "Active" : null;
  return { busy, clockMHz, maxClockMHz, celsius, watts, slowedBy, atPowerLimit };
}

/** `[N/A]` and `[Not Supported]` are no figures. */
const figure = (word: string): number | null =>
  /^\d+(?:\.\d+)?$/.test(word) ? Number(word) : null;

/** Milliseconds between two looks at a GPU. */
const EVERY_MS = 3000;

/** A GPU that does less than this says nothing of the speed that was measured meanwhile. */
const WORKS = 0.5;

/** Measures something, and looks meanwhile at how the GPU works: what was slowest is kept. */
export async function whileWatched<Result>(
  host: Pick<Host, "ask">,
  work: () => Promise<Result>,
  everyMs = EVERY_MS,
): Promise<{ readonly result: Result; readonly gpu?: GpuState }> {
  const over = new AbortController();
  const looked = slowestUntil(host, over.signal, everyMs);
  try {
    const result = await work();
    over.abort();
    const gpu = await looked;
    return gpu === undefined ? { result } : { result, gpu };
  } finally {
    over.abort();
  }
}

async function slowestUntil(host: Pick<Host, "ask">, over: AbortSignal, everyMs: number) {
  let slowest: GpuState | undefined;
  while (!over.aborted) {
    await sleep(everyMs, undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) break;
    const now = await readGpu(host);
    // A machine without the program has none in three seconds either.
    if (now === undefined) break;
    if ((now.busy ?? 0) >= WORKS) slowest = slower(slowest, now);
  }
  return slowest;
}

function slower(one: GpuState | undefined, other: GpuState): GpuState {
  if (one === undefined) return other;
  if ((one.slowedBy === null) !== (other.slowedBy === null))
    return one.slowedBy === null ? other : one;
  return (other.clockMHz ?? Number.POSITIVE_INFINITY) < (one.clockMHz ?? Number.POSITIVE_INFINITY)
    ? other
    : one;
}

/** A GPU in a line: `GPU 96 % busy, 870 of 3003 MHz, 62 °C, 31.4 W`. */
export function gpuText(state: GpuState): string {
  const { busy, clockMHz, maxClockMHz, celsius, watts, slowedBy, atPowerLimit } = state;
  const most = maxClockMHz === null ? "" : ` of ${maxClockMHz}`;
  const figures = [
    busy === null ? "" : `${Math.round(busy * 100)} % busy`,
    clockMHz === null ? "" : `${clockMHz}${most} MHz`,
    celsius === null ? "" : `${celsius} °C`,
    watts === null ? "" : `${watts.toFixed(1)} W`,
    atPowerLimit === true ? "at its power limit" : "",
  ].filter((each) => each !== "");
  const slowed = slowedBy === null ? "" : `; slowed down by ${slowedBy}`;
  return `GPU ${figures.join(", ") || "gives no figures"}${slowed}`;
}
