import { WrongUse } from "@local-serving/base/commandLine/exit";
import { counted } from "@local-serving/base/faults/quoting";
import { repositoryFolder } from "@local-serving/machines/hubCache";
import { isOn, readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import type { InferenceServerPlan } from "../../components/inference-server";

/** What the server is asked, by the names of the options; lengths in tokens. */
export type BenchShape = Readonly<
  Record<"prompt" | "new" | "answer" | "cold" | "agents" | "calls", number>
>;

/**
 * The shape that was asked for. Throws `WrongUse`, with what to write instead, for one that the
 * server can't take.
 */
export function shapeFor(
  { key, maxModelLen: window, maxNumSeqs }: InferenceServerPlan["serve"],
  asked: Omit<BenchShape, "cold" | "agents"> & Partial<BenchShape>,
): BenchShape {
  // A random prompt is decoded and encoded again on its way, and may come out a little longer.
  const longest = (after: number) => Math.floor((window - after) / 1.01);
  const {
    prompt,
    answer,
    calls,
    cold = Math.min(131_072, longest(1)),
    agents = Math.min(4, maxNumSeqs),
  } = asked;
  const shape = { prompt, new: asked.new, answer, cold, agents, calls };
  const most = {
    answer: window >> 1,
    prompt: longest(answer),
    new: prompt >> 1,
    cold: longest(1),
    agents: maxNumSeqs,
  };
  for (const flag of ["answer", "prompt", "new", "cold", "agents"] as const) {
    if (shape[flag] <= most[flag]) continue;
    const why = `${key} has maxModelLen ${window} and maxNumSeqs ${maxNumSeqs}, prompts have ${prompt} tokens, answers ${answer}`;
    throw new WrongUse(
      `--${flag} ${shape[flag]} is too much: ${why}. Write --${flag} ${most[flag]} or less.`,
    );
  }
  return shape;
}

/** One start of vLLM's client. */
export interface BenchRun {
  readonly title: string;
  /** Requests that are under way at once. */
  readonly atOnce: number;
  readonly requests: number;
  /** Requests in front of them that aren't measured. */
  readonly before: number;
  /** Words of its option `--dataset-name`, and the options of that data set. */
  readonly dataset: readonly string[];
}

/**
 * Each start of vLLM's client: the cold prompt, then every number of agents. A request `before`
 * isn't measured: it fills the cache with what the others share.
 */
export function runsOf({
  prompt,
  new: fresh,
  answer,
  cold,
  agents,
  calls,
}: BenchShape): BenchRun[] {
  const random = ["random", "--random-input-len", String(cold), "--random-output-len", "1"];
  const lengths = {
    "num-prefixes": 1,
    "prefix-len": prompt - fresh,
    "suffix-len": fresh,
    "output-len": answer,
  };
  const shared = Object.entries(lengths).flatMap(([name, of]) => [
    `--prefix-repetition-${name}`,
    String(of),
  ]);
  const loop = { before: 1, dataset: ["prefix_repetition", ...shared] };
  const runs = Array.from({ length: agents }, (_, index) => index + 1).map((atOnce) => {
    return {
      title: counted(atOnce, "agent"),
      atOnce,
      requests: atOnce * calls,
      ...loop,
    };
  });
  return [{ title: `${cold} cold`, atOnce: 1, requests: 1, before: 0, dataset: random }, ...runs];
}

/**
 * How long all runs take at these rates, in tokens a second; Python starts and makes the prompts of
 * each in 20 s or so.
 */
export function secondsOf(shape: BenchShape, prefill: number, decode: number): number {
  const { prompt, new: fresh, answer, cold, agents, calls } = shape;
  const prompts = cold + agents * prompt + (fresh * calls * agents * (agents + 1)) / 2;
  return prompts / prefill + (agents * (calls + 1) * answer) / decode + 20 * (agents + 1);
}

/**
 * The client's argv inside the server's container; vLLM 0.26, 0.30 and 0.32 take the same. Another
 * seed makes other prompts.
 */
export function benchArguments(
  server: InferenceServerPlan,
  run: BenchRun,
  seed: number,
  folder: string,
): string[] {
  const { model, hubModels, modelCache, container, reach } = server;
  const host = reach.onLink ? reach.address : "127.0.0.1";
  const started = readServerArguments(container.command);
  const own = (name: string) =>
    started.options.get(name)?.flatMap((word) => [`--${name}`, String(word)]);
  const cache = container.mounts.find(({ source }) => source === modelCache)?.target ?? "";
  const revision = hubModels.find(({ id }) => id === model.id)?.revision;
  // Without the hub, the name of a model with a pinned revision need not lead to its files.
  const files =
    revision === undefined
      ? model.id
      : `${repositoryFolder(cache, model.id)}/snapshots/${revision}`;
  return [
    "vllm",
    "bench",
    "serve",
    "--backend",
    "openai",
    "--host",
    host,
    "--port",
    String(server.serve.port),
    "--model",
    server.servedModelName,
    ...(own("tokenizer") ?? ["--tokenizer", files]),
    ...(own("tokenizer-mode") ?? []),
    ...(isOn(started, "trust-remote-code") ? ["--trust-remote-code"] : []),
    "--dataset-name",
    ...run.dataset,
    "--num-prompts",
    String(run.requests),
    "--num-warmups",
    String(run.before),
    "--max-concurrency",
    String(run.atOnce),
    "--seed",
    String(seed),
    "--temperature",
    "0",
    "--ignore-eos",
    "--save-result",
    "--result-dir",
    folder,
    "--result-filename",
    "result.json",
  ];
}
