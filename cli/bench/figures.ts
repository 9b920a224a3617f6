import { columns } from "@local-serving/base/commandLine/output";
import { Failed } from "@local-serving/base/faults/fault";
import { jsonIn } from "@local-serving/base/faults/json";
import * as z from "zod";
import type { Recipe } from "../../components/catalogue";
import { conditionsOf } from "../models/speeds";
import { type GpuState, gpuText } from "../sees/gpu";
import type { BenchRun } from "./runs";

/** What vLLM's client saves, as far as it is read here. */
const saved = z.object({
  completed: z.int(),
  total_input_tokens: z.int().positive(),
  output_throughput: z.number(),
  median_ttft_ms: z.number().positive(),
  p99_ttft_ms: z.number(),
  median_tpot_ms: z.number(),
});

/**
 * Faster than any answer is written: where tokens come in less, in ms, the server held them back
 * and sent them at once.
 */
const LEAST_STEP_MS = 0.1;

type Counters = Readonly<Record<"queries" | "hits", number>>;

/** What one run of vLLM's client measured: medians, in seconds and tokens per second. */
export interface BenchFigures {
  readonly title: string;
  readonly requests: number;
  readonly promptTokens: number;
  readonly firstToken: number;
  readonly firstTokenP99: number;
  /** Until the first token; of a cold prompt it is the prefill rate. */
  readonly prefill: number;
  /** Of one answer; `null` where it has but one token, or where all came at once. */
  readonly decode: number | null;
  readonly together: number;
  /** Share of the prompts that came from the cache; `null` where prefix caching is off. */
  readonly reuse: number | null;
  /** Whether clients had prompts read meanwhile; the run's own differ a little in length. */
  readonly disturbed: boolean;
  /** The GPU where it was slowest meanwhile; absent where nothing tells. */
  readonly gpu?: GpuState;
}

/** What held the GPU back in any of the runs: then these speeds aren't the machine's. */
export const slowedIn = (runs: readonly BenchFigures[]): string | undefined =>
  runs.map(({ gpu }) => gpu?.slowedBy).find((each) => each != null) ?? undefined;

/**
 * Reads a run's figures. Throws `Failed` where a request failed, or the file isn't of the known
 * form.
 */
export function figuresOf(
  { title, requests, before }: BenchRun,
  text: string,
  first: Counters,
  last: Counters,
): BenchFigures {
  const { data, error } = saved.safeParse(jsonIn(text));
  if (data === undefined)
    throw new Failed(`The benchmark results of this vLLM can't be read: ${z.prettifyError(error)}`);
  const failed = requests - data.completed;
  if (failed > 0)
    throw new Failed(`${title}: ${failed} of ${requests} requests failed. See: serving doctor`);
  const { total_input_tokens: read, median_ttft_ms: wait, median_tpot_ms: step } = data;
  const looked = last.queries - first.queries;
  return {
    title,
    requests,
    promptTokens: Math.round(read / requests),
    firstToken: wait / 1000,
    firstTokenP99: data.p99_ttft_ms / 1000,
    prefill: Math.round(read / requests / (wait / 1000)),
    decode: step >= LEAST_STEP_MS ? Math.round(10_000 / step) / 10 : null,
    together: data.output_throughput,
    reuse: looked > 0 ? (last.hits - first.hits) / read : null,
    disturbed: looked > read * (1 + before / requests) * 1.02,
  };
}

/** A table of the runs, and the rates beside what was published. */
export function benchText(runs: readonly BenchFigures[], speeds: Recipe["speeds"]): string[] {
  const [cold, one] = runs;
  const published = (what: "prefill" | "decode") => {
    const said = speeds.filter((each) => each.what === what);
    const texts = said.map((each) => {
      const how = conditionsOf(each);
      return `${each.tokensPerSecond}${how === "" ? "" : ` with ${how}`} (${each.source})`;
    });
    return texts.join(", ") || "not known";
  };
  const rows = runs.map(({ title, firstToken, firstTokenP99, decode, together, reuse }) => [
    title,
    `${firstToken.toFixed(2)} s`,
    `${firstTokenP99.toFixed(2)} s`,
    ...(decode === null ? ["-", "-"] : [decode.toFixed(1), together.toFixed(1)]),
    reuse === null ? "off" : `${Math.round(reuse * 100)} %`,
  ]);
  return [
    ...columns([["", "first token", "p99", "tokens/s each", "together", "reused"], ...rows], {
      numbers: true,
    }),
    "",
    `prefill ${cold?.prefill} tokens/s for a cold prompt; published: ${published("prefill")}`,
    `decode ${one?.decode} tokens/s for one agent; published: ${published("decode")}`,
    ...runs.flatMap(({ title, gpu }) => (gpu === undefined ? [] : [`${title}: ${gpuText(gpu)}`])),
  ];
}
