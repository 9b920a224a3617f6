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
    /** Files that passed with a mutant. */
    private readonly passed: Record<string, readonly string[]>,
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
    for (const { number, file } of open) {
      const order = this.order(number, file);
      const isQuick = (tests: string) => (this.known[tests]?.ms ?? 0) < QUICK_MS;
      await this.sweep(order.filter(isQuick).slice(0, ALONE), [number]);
      console.log(`${file}: ${this.verdicts.get(number) ?? `nothing quick of ${order.length}`}`);
    }
    const quickest = files.toSorted((a, b) => (this.known[a]?.ms ?? 0) - (this.known[b]?.ms ?? 0));
    const numbers = open.map(({ number }) => number);
    for (let at = 0; at < quickest.length; at += TOGETHER) {
      await this.sweep(quickest.slice(at, at + TOGETHER), numbers);
      const left = numbers.filter((each) => !this.verdicts.has(each)).length;
      console.log(`${at + TOGETHER} of ${quickest.length} files: ${left} left`);
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
    let rest = files.filter((file) => this.open([file], numbers).length > 0);
    while (rest.length > 0) {
      const on = this.open(rest, numbers);
      const failing = await this.failing(rest, on);
      if (failing === undefined) return;
      const [only, ...more] = this.open([failing], numbers);
      if (only !== undefined && more.length === 0 && on.length > 1)
        await this.sweep([failing], [only]);
      else if (only !== undefined) await this.sift(failing, [only, ...more]);
      rest = rest
        .slice(rest.indexOf(failing) + 1)
        .filter((file) => this.open([file], numbers).length > 0);
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

  /** Those without a verdict that a file reaches and has not passed with. */
  private open(files: readonly string[], numbers: readonly number[]): number[] {
    return numbers.filter((number) => {
      const passed = this.passed[number] ?? [];
      const isOpen = (file: string) =>
        this.known[file]?.reached.includes(number) && !passed.includes(file);
      return !this.verdicts.has(number) && files.some(isOpen);
    });
  }

  private pass(files: readonly string[], numbers: readonly number[]): void {
    for (const number of numbers)
      this.passed[number] = [...new Set([...(this.passed[number] ?? []), ...files])];
    this.keep();
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
    this.pass(files.slice(0, at < 0 ? files.length : at), on);
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
