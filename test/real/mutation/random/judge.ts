import { basename } from "node:path";
import type { Runner } from "./apart";

/** What a file of tests did without a mutant. */
export interface WithoutMutant {
  /** Names of the tests that failed. */
  readonly failed: readonly string[];
  readonly ms: number;
  readonly reached: readonly number[];
}

/** The file of tests that caught a mutant; null where none did. */
export type Verdicts = Map<number, string | null>;

/** Quick and likely files that a mutant is run with alone; the others see all that are left at once. */
const ALONE = 5;
const QUICK_MS = 8000;
/** Files that one process runs. */
const TOGETHER = 25;

/** A file that takes this much longer than without a mutant won't end. */
const limitOf = (ms: number): number => 120_000 + 10 * ms;

const FIRST_LIMIT_MS = 900_000;

/** A mutant that is to be judged. */
export interface Question {
  readonly number: number;
  /** File that it is in. */
  readonly file: string;
  /** File of tests that caught it before. */
  readonly by: string | null | undefined;
}

/** Judges mutants by the files of tests that reach them. */
export class Judge {
  constructor(
    private readonly runner: Runner,
    private readonly known: Record<string, WithoutMutant>,
    private readonly verdicts: Verdicts,
    private readonly keep: () => void,
  ) {}

  async judge(questions: readonly Question[]): Promise<void> {
    const files = await this.runner.files();
    for (const { number, by } of questions) {
      if (typeof by !== "string") continue;
      const again = files.includes(by) ? by : files.find((each) => basename(each) === basename(by));
      if (again === undefined) continue;
      await this.learn(again);
      await this.sweep([again], [number]);
    }
    const open = questions.filter(({ number }) => !this.verdicts.has(number));
    console.log(`${questions.length - open.length} judged, ${open.length} left`);
    if (open.length === 0) return;
    for (const file of files) await this.learn(file);
    const left = new Map<string, number[]>();
    for (const { number, file } of open) {
      const order = this.order(number, file);
      const likely = order
        .filter((tests) => (this.known[tests]?.ms ?? 0) < QUICK_MS)
        .slice(0, ALONE);
      await this.sweep(likely, [number]);
      const others = order.filter((tests) => !likely.includes(tests) && !this.verdicts.has(number));
      for (const tests of others) left.set(tests, [...(left.get(tests) ?? []), number]);
      const by = this.verdicts.get(number) ?? `nothing, ${others.length} of ${order.length} left`;
      console.log(`${file}: ${by}`);
    }
    // Those that see the most mutants first.
    const most = [...left].sort(([, a], [, b]) => b.length - a.length).map(([tests]) => tests);
    for (let at = 0; at < most.length; at += TOGETHER) {
      const batch = most.slice(at, at + TOGETHER);
      await this.sweep(batch, [...new Set(batch.flatMap((tests) => left.get(tests) ?? []))]);
      console.log(`${at + batch.length} of ${most.length} files`);
    }
    for (const { number } of open) if (!this.verdicts.has(number)) this.note(number, null);
  }

  /** Runs a file without a mutant, which tells what it reaches. */
  private async learn(file: string): Promise<WithoutMutant> {
    const known = this.known[file];
    if (known !== undefined) return known;
    const ran = await this.runner.run({ files: [file], on: [], isWhole: true }, FIRST_LIMIT_MS);
    const failed = ran === undefined ? [""] : (ran.failed[0] ?? []).map(([name]) => name);
    const { ms = 0, reached = [] } = ran ?? {};
    this.known[file] = { failed, ms, reached };
    this.keep();
    const faults = failed.map((name) => `; fails before anything is changed: ${name}`);
    console.log(`${file}: ${ms} ms, reaches ${reached.length}${faults.join("")}`);
    return { failed, ms, reached };
  }

  private note(number: number, by: string | null): void {
    this.verdicts.set(number, by);
    this.keep();
  }

  /** Likely and quick ones first. */
  private order(number: number, file: string): string[] {
    const words = new Set(wordsOf(file));
    const rank = (test: string): number => {
      const kin = wordsOf(test).filter((each) => words.has(each)).length;
      const { ms = 0, reached = [] } = this.known[test] ?? {};
      return (ms * (20 + reached.length)) / (1 + 4 * kin);
    };
    return Object.keys(this.known)
      .filter((test) => this.known[test]?.reached.includes(number))
      .sort((a, b) => rank(a) - rank(b));
  }

  /** Finds those that files catch, all at once. */
  private async sweep(files: readonly string[], numbers: readonly number[]): Promise<void> {
    let rest = files;
    while (rest.length > 0) {
      const open = this.reaching(rest, numbers);
      const failing = open.length > 0 ? await this.failing(rest, open) : undefined;
      if (failing === undefined) return;
      await this.sift(failing, this.reaching([failing], open));
      rest = rest.slice(rest.indexOf(failing) + 1);
    }
  }

  /** Finds those that a file catches, which fails with all of them. */
  private async sift(file: string, numbers: readonly number[]): Promise<void> {
    const [only] = numbers;
    if (only === undefined) return;
    if (numbers.length === 1) return this.note(only, file);
    const half = Math.ceil(numbers.length / 2);
    for (const part of [numbers.slice(0, half), numbers.slice(half)])
      if ((await this.failing([file], part)) !== undefined) await this.sift(file, part);
  }

  /** Those without a verdict that one of the files reaches. */
  private reaching(files: readonly string[], numbers: readonly number[]): number[] {
    const reached = new Set(files.flatMap((file) => this.known[file]?.reached ?? []));
    return numbers.filter((each) => reached.has(each) && !this.verdicts.has(each));
  }

  /** The first file in which a test fails that passes without these mutants. */
  private async failing(
    files: readonly string[],
    on: readonly number[],
  ): Promise<string | undefined> {
    const known = files.flatMap((file) => this.known[file] ?? []);
    const limit = limitOf(known.reduce((sum, { ms }) => sum + ms, 0));
    const isWhole = known.some(({ failed }) => failed.length > 0);
    const run = async (of: readonly string[], mutants: readonly number[]) => {
      const ran = await this.runner.run({ files: of, on: mutants, isWhole }, limit);
      return ran?.failed.map((failures, index) => {
        const before = this.known[of[index] ?? ""]?.failed;
        return failures.filter(([name]) => !before?.includes(name));
      });
    };
    const failed = await run(files, on);
    const at = failed?.findIndex((failures) => failures.length > 0) ?? 0;
    const file = files[at];
    if (file === undefined) return undefined;
    const isSlow =
      failed === undefined || failed[at]?.some(([, message]) => /timed out/i.test(message));
    if (!isSlow) return file;
    // Which file takes too long is not known, and a busy machine may be as slow without a mutant.
    if (failed === undefined && files.length > 1) {
      for (const each of files) if ((await this.failing([each], on)) !== undefined) return each;
      return undefined;
    }
    const without = await run([file], []);
    return without?.[0]?.length === 0 ? file : undefined;
  }
}

const wordsOf = (path: string): string[] =>
  path
    .replace(/^test\//, "")
    .split(/[^A-Za-z]|(?=[A-Z])/)
    .map((word) => word.toLowerCase())
    .filter((word) => word.length > 2 && word !== "test");
