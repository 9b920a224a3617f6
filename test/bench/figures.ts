export interface Figures {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

type Work = () => unknown;

/** Times `runs` calls of `work`, after one that isn't counted. */
export async function timed(runs: number, work: Work): Promise<Figures> {
  await work();
  const times: number[] = [];
  for (let run = 0; run < runs; run++) times.push(await timeOf(work));
  return figuresOf(times);
}

/**
 * Times two things in turns (ours, other, ours, other, ...), after one of each that isn't counted.
 * The ratio is taken pair by pair, so that a machine that gets slower on the way slows both.
 */
export async function inTurns(
  pairs: number,
  ours: Work,
  other: Work,
): Promise<{ readonly ours: Figures; readonly other: Figures; readonly ratio: Figures }> {
  await ours();
  await other();
  const times: [number, number][] = [];
  for (let pair = 0; pair < pairs; pair++) times.push([await timeOf(ours), await timeOf(other)]);
  return {
    ours: figuresOf(times.map(([a]) => a)),
    other: figuresOf(times.map(([, b]) => b)),
    ratio: figuresOf(times.map(([a, b]) => a / b)),
  };
}

async function timeOf(work: Work): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function figuresOf(values: readonly number[]): Figures {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  return { median: at(Math.floor(sorted.length / 2)), min: at(0), max: at(sorted.length - 1) };
}

export function report(name: string, figures: Figures, remark = ""): void {
  const ms = (value: number) => `${value.toFixed(value < 100 ? 2 : 0)} ms`.padStart(11);
  console.log(
    `${name.padEnd(46)} ${ms(figures.median)}  (${ms(figures.min).trim()} to ${ms(figures.max).trim()})  ${remark}`,
  );
}

/** Two lines of the report, `ours` with its ratio to the other and the most that this is to be. */
export function reportTurns(
  [name, other]: readonly [name: string, other: string],
  turns: Awaited<ReturnType<typeof inTurns>>,
  goal: number,
): void {
  const { median, min, max } = turns.ratio;
  report(other, turns.other);
  report(
    name,
    turns.ours,
    `${median.toFixed(2)} x in turns (${min.toFixed(2)} to ${max.toFixed(2)}), goal: at most ${goal}`,
  );
}
