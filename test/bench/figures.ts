/** Middle, least and largest of several runs, in the unit given. */
export interface Figures {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Times `runs` calls of `work`, after one that isn't counted. */
export async function timed(runs: number, work: () => unknown): Promise<Figures> {
  await work();
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const at = (index: number) => times[index] ?? Number.NaN;
  return { median: at(Math.floor(times.length / 2)), min: at(0), max: at(times.length - 1) };
}

/** One line of the report. */
export function report(name: string, figures: Figures, remark = ""): void {
  const ms = (value: number) => `${value.toFixed(value < 100 ? 2 : 0)} ms`.padStart(11);
  console.log(
    `${name.padEnd(46)} ${ms(figures.median)}  (${ms(figures.min).trim()} to ${ms(figures.max).trim()})  ${remark}`,
  );
}
