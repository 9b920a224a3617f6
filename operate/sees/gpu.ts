import type { Host } from "./host";

/** How a GPU works at one moment; a figure that its driver doesn't give is `null`. */
export interface GpuState {
  /** Share of the last moments in which it worked, from 0 to 1. */
  readonly busy: number | null;
  readonly clockMHz: number | null;
  readonly celsius: number | null;
  readonly watts: number | null;
  /** Why it runs slower than it could, in words; `null` where nothing holds it back. */
  readonly slowedBy: string | null;
}

/** What is asked of nvidia-smi, and what each reason that holds its clock back is called. */
const FIGURES = ["utilization.gpu", "clocks.sm", "temperature.gpu", "power.draw"];
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
  const [use = null, clockMHz = null, celsius = null, watts = null] = words.map(figure);
  const active = names.filter((_, index) => words[FIGURES.length + index] === "Active");
  const busy = use === null ? null : use / 100;
  const isSlow =
    busy !== null && busy >= SLOW.busy && clockMHz !== null && clockMHz < SLOW.clockMHz;
  if (active.length === 0 && isSlow) active.push(LOW_POWER);
  const slowedBy = active.length === 0 ? null : active.join(", ");
  return { busy, clockMHz, celsius, watts, slowedBy };
}

/** `[N/A]` and `[Not Supported]` are no figures. */
const figure = (word: string): number | null =>
  /^\d+(?:\.\d+)?$/.test(word) ? Number(word) : null;

/** A GPU in a line: `GPU 96 % busy, 870 MHz, 62 °C, 31.4 W`. */
export function gpuText({ busy, clockMHz, celsius, watts, slowedBy }: GpuState): string {
  const figures = [
    busy === null ? "" : `${Math.round(busy * 100)} % busy`,
    clockMHz === null ? "" : `${clockMHz} MHz`,
    celsius === null ? "" : `${celsius} °C`,
    watts === null ? "" : `${watts.toFixed(1)} W`,
  ].filter((each) => each !== "");
  const slowed = slowedBy === null ? "" : `; slowed down by ${slowedBy}`;
  return `GPU ${figures.join(", ") || "gives no figures"}${slowed}`;
}
