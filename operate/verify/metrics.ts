import type { Api } from "./api";
import { BadAnswer } from "./probe";

/** One sample of Prometheus text. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Samples of a /metrics page by name. */
export class Metrics {
  constructor(private readonly samples: ReadonlyMap<string, readonly Sample[]>) {}

  /** Sum over all engines and labels; `undefined` where there is no such metric. */
  sum(name: string): number | undefined {
    const found = this.samples.get(name);
    return found?.reduce((sum, sample) => sum + sample.value, 0);
  }

  /** Sum over the samples with one label value; `undefined` where there is no such metric, 0 where no such sample. */
  sumWhere(name: string, label: string, value: string): number | undefined {
    return this.samples
      .get(name)
      ?.filter((sample) => sample.labels[label] === value)
      .reduce((sum, sample) => sum + sample.value, 0);
  }

  /** Labels of the first sample, which is how vLLM tells its configuration. */
  labels(name: string): Readonly<Record<string, string>> | undefined {
    return this.samples.get(name)?.[0]?.labels;
  }
}

/** Reads the metrics of a server. Throws `BadAnswer` when it shows none. */
export async function readMetrics(api: Api): Promise<Metrics> {
  const answer = await api.get("/metrics");
  const metrics = answer.status === 200 ? parseMetrics(answer.text) : undefined;
  if (metrics?.sum("vllm:num_requests_running") === undefined) {
    throw new BadAnswer(`/metrics answered ${answer.status} without vLLM's metrics`);
  }
  return metrics;
}

export function parseMetrics(text: string): Metrics {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split("\n")) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (match === null) continue;
    const [, name = "", labels = "", value = ""] = match;
    const known = samples.get(name) ?? [];
    known.push({ labels: parseLabels(labels), value: Number(value) });
    samples.set(name, known);
  }
  return new Metrics(samples);
}

function parseLabels(text: string): Record<string, string> {
  // One label after the other: a pattern that looks for the next one anywhere takes hours over a long line of letters.
  const label = /\s*(\w+)="([^"\\]*(?:\\.[^"\\]*)*)"\s*,?/y;
  const pairs: [string, string][] = [];
  for (let match = label.exec(text); match !== null; match = label.exec(text)) {
    const [, name = "", value = ""] = match;
    pairs.push([name, value.replace(/\\(.)/g, "$1")]);
  }
  return Object.fromEntries(pairs);
}
