import type { InferenceServerPlan } from "../inference-server";
import type { PlannedContainer } from "../planned";
import { serviceNamed } from "../services";
import { FLAGS, type Flag } from "../settings";
import type { ArgumentChange } from "./containerChange";

/** Seconds, from the least to the most that was seen or is allowed. */
export interface Span {
  readonly least: number;
  readonly most: number;
}

/** One part of the time until a container answers. */
export interface Step extends Span {
  readonly what: string;
  /** Who measured the figures, or what bounds them. */
  readonly source: string;
  /**
   * Volume that keeps what this part makes. The part is skipped if the same server has run here
   * before.
   */
  readonly keptIn?: string;
}

/**
 * A DGX Spark, measured by its owner (2026-08-27): from cached weights to ready, 22 GB in 4
 * minutes, 75 GB in 7.
 */
const BASE_SECONDS = 165;
const SECONDS_PER_GB = 3.4;

/** The recipe of a model of 75 GB says 10 to 15 minutes, where that owner measured 7. */
const SLOWEST = 15 / 7;

/** What a first start was seen to compile for (specification, "Errors"). */
const COMPILES: Span = { least: 600, most: 900 };

/** Flags without a setting that vLLM's kernels don't depend on, as `same` of the others says. */
const MORE_WITHOUT_KERNELS = ["--prefix-match-unit", "--api-key", "--seed", "--tokenizer"];
const flagsWith = (kernels: Flag["kernels"]) =>
  FLAGS.flatMap(({ flag, ...each }) =>
    each.kernels === kernels ? [flag, flag.replace("--", "--no-")] : [],
  );
const FLAGS_WITHOUT_KERNELS = new Set<string>([...flagsWith("same"), ...MORE_WITHOUT_KERNELS]);
const SURELY_OTHER = new Set<string>(["image", "first argument", ...flagsWith("other")]);
const VARIABLES_WITHOUT_KERNELS =
  /^env (MAX_JOBS|NINJA_JOBS|HF_TOKEN_PATH|VLLM_ENGINE_READY_TIMEOUT_S|LOCAL_SERVING_.*)$/;
const needsKernels = ({ argument }: ArgumentChange) =>
  /^(--|env )/.test(argument)
    ? !FLAGS_WITHOUT_KERNELS.has(argument) && !VARIABLES_WITHOUT_KERNELS.test(argument)
    : ["image", "first argument"].includes(argument);

/**
 * Returns how long a server takes to start: stopping the old one if there is one, loading weights,
 * compiling kernels. One that starts on request isn't started.
 */
export function serverSteps(
  server: InferenceServerPlan,
  weightsGB: Span,
  before?: { readonly server: InferenceServerPlan; readonly changes: readonly ArgumentChange[] },
): Step[] {
  if (server.container.start === "onRequest")
    return before === undefined ? [] : [stopping(before.server.container)];
  const least = BASE_SECONDS + SECONDS_PER_GB * weightsGB.least;
  const most = (BASE_SECONDS + SECONDS_PER_GB * weightsGB.most) * SLOWEST;
  const gb = weightsGB.least === weightsGB.most ? `${weightsGB.most}` : `at most ${weightsGB.most}`;
  return [
    ...(before === undefined ? [] : [stopping(before.server.container)]),
    {
      what: `loading ${gb} GB of weights`,
      least: Math.round(least),
      most: Math.round(most),
      source:
        "a DGX Spark took 4 min for 22 GB and 7 min for 75 GB; a recipe says up to 15 min for 75 GB",
    },
    ...compiling(server, before),
  ];
}

/** Returns how long a service takes to start. */
export function serviceSteps({ role }: PlannedContainer, before?: PlannedContainer): Step[] {
  const starts = serviceNamed(role)?.starts;
  return [
    ...(before === undefined ? [] : [stopping(before)]),
    ...(starts === undefined ? [] : [{ what: "starting", ...starts }]),
  ];
}

/** Docker waits that long for the old container to end. Images are pulled before. */
const stopping = ({ stopGraceSeconds: most }: PlannedContainer): Step => ({
  what: "stopping the old one",
  least: 0,
  most,
  source: "its `stopGraceSeconds`",
});

function compiling(server: InferenceServerPlan, before: Parameters<typeof serverSteps>[2]): Step[] {
  const step = {
    what: "compiling kernels",
    source: "first starts have taken this long",
    ...COMPILES,
  };
  const keptIn = server.jitVolume;
  if (before === undefined) return [{ ...step, keptIn }];
  if (before.server.jitVolume !== keptIn) return [step];
  const changes = before.changes.filter(needsKernels);
  const raised = server.serve.maxModelLen > before.server.serve.maxModelLen;
  if (raised || changes.some(({ argument }) => SURELY_OTHER.has(argument)))
    return [{ ...step, keptIn }];
  return changes.length === 0 ? [] : [{ ...step, least: 0, keptIn }];
}

/**
 * Adds up all parts. `kept` leaves out those that are skipped if the same server has run here
 * before.
 */
export function totalOf(steps: readonly Step[], kept = false): Span {
  const counted = steps.filter(({ keptIn }) => !kept || keptIn === undefined);
  const sum = (figure: keyof Span) => counted.reduce((all, step) => all + step[figure], 0);
  return { least: sum("least"), most: sum("most") };
}

const MINUTE = 60;

/** `4 to 9 min`, `up to 2 min`, `8 to 74 s`. */
function spanText({ least, most }: Span): string {
  const low = most < 2 * MINUTE ? least : Math.floor(least / MINUTE);
  return low === 0 ? `up to ${mostText(most)}` : `${low} to ${mostText(most)}`;
}

/** The end of a span, in its own unit. */
const mostText = (most: number): string =>
  most < 2 * MINUTE ? `${most} s` : `${Math.ceil(most / MINUTE)} min`;

/** Says how long all parts take, and when it takes less. */
export function stepsText(steps: readonly Step[]): string {
  const volume = steps.find(({ keptIn }) => keptIn !== undefined)?.keptIn;
  const all = totalOf(steps);
  if (volume === undefined) return spanText(all);
  const kept = totalOf(steps, true);
  // With the same least, the shorter time is a part of the longer one: only its end is said.
  const shorter =
    all.least === kept.least ? `at most ${mostText(kept.most)}` : `or ${spanText(kept)}`;
  return `${spanText(all)}, ${shorter} if its kernels are already in the volume ${volume}`;
}

/** Says it in a few words: `14 to 24 min, later in 4 to 9 min`. */
export function shortStepsText(steps: readonly Step[]): string {
  const all = totalOf(steps);
  const kept = totalOf(steps, true);
  const isSame = all.least === kept.least && all.most === kept.most;
  return `${spanText(all)}${isSame ? "" : `, later in ${spanText(kept)}`}`;
}

/** Says how long all parts take, whatever was kept of an earlier start. */
export const longestText = (steps: readonly Step[]): string => {
  const { least } = totalOf(steps, true);
  return spanText({ least, most: totalOf(steps).most });
};

/** Says the same with all parts and their sources. */
export const stepsWithSources = (steps: readonly Step[]): string =>
  `${stepsText(steps)}: ${partsWithSources(steps)}`;

/** The parts alone, each with its source. */
export const partsWithSources = (steps: readonly Step[]): string =>
  steps.map((step) => `${step.what}, ${spanText(step)} (${step.source})`).join("; ");
