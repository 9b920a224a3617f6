import type { InferenceServerPlan } from "../inference-server/plannedServer";
import type { PlannedContainer } from "../planned/container";
import { serviceNamed } from "../services/registry";
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
   * Set where this part is saved if the same has run here before: what it made is kept in this
   * volume.
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

/** What a first boot was seen to compile for (specification, "Errors"). */
const COMPILES: Span = { least: 600, most: 900 };

/**
 * What the kernels of vLLM do not depend on: by vLLM 0.30.0's own key of its compile cache
 * (`compute_hash` of its configurations), its API's arguments, and what only Docker sees.
 */
const FLAGS_WITHOUT_KERNELS = new Set([
  "--gpu-memory-utilization",
  "--kv-cache-memory-bytes",
  "--enable-prefix-caching",
  "--prefix-match-unit",
  "--served-model-name",
  "--host",
  "--port",
  "--allowed-origins",
  "--api-key",
  "--seed",
  "--tokenizer",
  "--enable-auto-tool-choice",
  "--tool-call-parser",
  "--reasoning-parser",
  "--chat-template",
  "--master-addr",
]);
const VARIABLES_WITHOUT_KERNELS =
  /^env (MAX_JOBS|NINJA_JOBS|HF_TOKEN_PATH|VLLM_ENGINE_READY_TIMEOUT_S|LOCAL_SERVING_.*)$/;
const needsKernels = ({ argument }: ArgumentChange) =>
  /^(--|env )/.test(argument)
    ? !FLAGS_WITHOUT_KERNELS.has(argument) && !VARIABLES_WITHOUT_KERNELS.test(argument)
    : ["image", "first argument"].includes(argument);

/**
 * How long a server is on its way: the old one's end, where there is one, its weights, its kernels.
 */
export function serverSteps(
  server: InferenceServerPlan,
  weightsGB: Span,
  before?: { readonly server: InferenceServerPlan; readonly changes: readonly ArgumentChange[] },
): Step[] {
  const least = BASE_SECONDS + SECONDS_PER_GB * weightsGB.least;
  const most = (BASE_SECONDS + SECONDS_PER_GB * weightsGB.most) * SLOWEST;
  const gb = weightsGB.least === weightsGB.most ? `${weightsGB.most}` : `at most ${weightsGB.most}`;
  return [
    ...(before === undefined ? [] : [stopping(before.server.container)]),
    {
      what: `loading ${gb} GB of weights`,
      least: Math.round(least),
      most: Math.round(most),
      source: "a DGX Spark took 4 min for 22 GB and 7 for 75, and a recipe says up to 15 for those",
    },
    ...compiling(server, before),
  ];
}

/** How long a service is on its way. */
export function serviceSteps({ role }: PlannedContainer, before?: PlannedContainer): Step[] {
  const starts = serviceNamed(role)?.starts;
  return [
    ...(before === undefined ? [] : [stopping(before)]),
    ...(starts === undefined ? [] : [{ what: "starting", ...starts }]),
  ];
}

/** Docker waits so long for its end; images are pulled before. */
const stopping = ({ stopGraceSeconds: most }: PlannedContainer): Step => ({
  what: "stopping the old one",
  least: 0,
  most,
  source: "its `stopGraceSeconds`",
});

function compiling(server: InferenceServerPlan, before: Parameters<typeof serverSteps>[2]): Step[] {
  const step = {
    what: "compiling kernels",
    source: "first boots were seen to take so long",
    ...COMPILES,
  };
  const keptIn = server.jitVolume;
  if (before === undefined) return [{ ...step, keptIn }];
  if (before.server.jitVolume !== keptIn) return [step];
  const changes = before.changes.filter(needsKernels);
  const raised = server.serve.maxModelLen > before.server.serve.maxModelLen;
  const surely = ({ argument }: ArgumentChange) =>
    ["image", "first argument", "--revision"].includes(argument);
  if (raised || changes.some(surely)) return [{ ...step, keptIn }];
  return changes.length === 0 ? [] : [{ ...step, least: 0, keptIn }];
}

/**
 * All parts together; with `kept`, without those that are saved where the same has run here before.
 */
export function totalOf(steps: readonly Step[], kept = false): Span {
  const counted = steps.filter(({ keptIn }) => !kept || keptIn === undefined);
  const sum = (figure: keyof Span) => counted.reduce((all, step) => all + step[figure], 0);
  return { least: sum("least"), most: sum("most") };
}

const MINUTE = 60;

/** `4 to 9 min`, `up to 2 min`, `8 to 74 s`. */
function spanText({ least, most }: Span): string {
  const [low, high, unit] =
    most < 2 * MINUTE
      ? [least, most, "s"]
      : [Math.floor(least / MINUTE), Math.ceil(most / MINUTE), "min"];
  return low === 0 ? `up to ${high} ${unit}` : `${low} to ${high} ${unit}`;
}

/** How long all of it takes, and when less. */
export function stepsText(steps: readonly Step[]): string {
  const volume = steps.find(({ keptIn }) => keptIn !== undefined)?.keptIn;
  const shorter = `, or ${spanText(totalOf(steps, true))} if its kernels are in the volume ${volume} already`;
  return `${spanText(totalOf(steps))}${volume === undefined ? "" : shorter}`;
}

/** The same with its parts, each with its source. */
export function stepsWithSources(steps: readonly Step[]): string {
  const parts = steps.map((step) => `${step.what}, ${spanText(step)} (${step.source})`);
  return `${stepsText(steps)}: ${parts.join("; ")}`;
}
