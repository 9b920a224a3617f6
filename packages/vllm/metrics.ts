type Labels = Readonly<Record<string, string>>;

/** The samples of a /metrics page. */
export class Metrics {
  private readonly samples: ReturnType<typeof samplesIn>;

  constructor(text: string) {
    this.samples = samplesIn(text);
  }

  /** Sum over all engines and labels that are asked for; `undefined` if there is no such metric. */
  sum(name: string, isMeant: (labels: Labels) => boolean = () => true): number | undefined {
    const named = this.samples.filter((sample) => sample.name === name);
    const meant = named.filter(({ labels }) => isMeant(labels));
    return named.length === 0 ? undefined : meant.reduce((sum, { value }) => sum + value, 0);
  }

  /** Sums over all samples, by what a label says; those that lack it count for "". */
  sumsBy(name: string, label: string): ReadonlyMap<string, number> {
    const sums = new Map<string, number>();
    for (const sample of this.samples) {
      const said = sample.labels[label] ?? "";
      if (sample.name === name) sums.set(said, (sums.get(said) ?? 0) + sample.value);
    }
    return sums;
  }

  /** Labels of the first sample, by which vLLM tells its configuration. */
  labels(name: string): Labels | undefined {
    return this.samples.find((sample) => sample.name === name)?.labels;
  }
}

function samplesIn(text: string) {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value = ""] =
      /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    return name === undefined ? [] : [{ name, labels: labelsIn(labels), value: Number(value) }];
  });
}

function labelsIn(text: string): Labels {
  // One label after the other: a pattern that looks for the next one anywhere takes hours over a
  // long line of letters.
  const labels = text.matchAll(/\s*(\w+)="([^"\\]*(?:\\.[^"\\]*)*)"\s*,?/gy);
  return Object.fromEntries(
    [...labels].map(([, name, value = ""]) => [name, value.replace(/\\(.)/g, "$1")]),
  );
}
