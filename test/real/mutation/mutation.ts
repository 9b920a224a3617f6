import { type Bundle, bundled, type Tests, textOf } from "./bundle";
import type { Mutant } from "./mutants";

/**
 * A mutant that one test reaches more often keeps it from ending; no test here reaches one a
 * hundredth as often.
 */
const ENDLESS = 1_000_000;

/** Says whether a mutant is on, and notes which are reached. */
class Switch {
  private readonly marks: Uint8Array;
  private on: number | undefined;
  private times = 0;

  constructor(mutants: number) {
    this.marks = new Uint8Array(mutants);
  }

  /** Before each test, and before all are declared. */
  set(mutant: number | undefined): void {
    this.on = mutant;
    this.times = 0;
    this.marks.fill(0);
  }

  reached(): Set<number> {
    return new Set([...this.marks.keys()].filter((mutant) => this.marks[mutant] === 1));
  }

  readonly isOn = (mutant: number): boolean => {
    this.marks[mutant] = 1;
    if (mutant !== this.on) return false;
    this.times++;
    if (this.times > ENDLESS) throw new Error("this test would not end");
    return true;
  };
}

/** What one test took without a mutant, in ms, and which it reached. */
interface Known {
  readonly key: string;
  readonly ms: number;
  readonly reached: ReadonlySet<number>;
}

/**
 * Tests that are loaded once, with every mutant inside, and run for each mutant that they reach.
 */
export class Mutation {
  private readonly state: Switch;
  private readonly tests: Tests;
  /** Reached while the tests were declared, or by their first run alone, which fills caches. */
  private readonly once: Set<number>;
  /** The quickest first. */
  private known: readonly Known[] = [];

  private constructor(private readonly bundle: Bundle) {
    this.state = new Switch(bundle.mutants.length);
    this.tests = bundle.tests(this.state.isOn);
    this.once = this.state.reached();
  }

  /**
   * Mutants of the files, by paths from the repository's root. Throws where a test fails without a
   * mutant.
   */
  static async of(files: readonly string[]): Promise<Mutation> {
    const mutation = new Mutation(await bundled(files));
    const first = await mutation.runAll();
    const second = await mutation.runAll();
    const again = new Set(second.flatMap(({ reached }) => [...reached]));
    for (const { reached } of first)
      for (const each of reached) if (!again.has(each)) mutation.once.add(each);
    mutation.known = second.sort((a, b) => a.ms - b.ms);
    return mutation;
  }

  /**
   * Runs every test without a mutant. Throws where one fails, as some would that a mutant left
   * something behind for.
   */
  async runAll(): Promise<Known[]> {
    const known: Known[] = [];
    for (const [key, { name, run }] of this.tests) {
      this.state.set(undefined);
      const begun = performance.now();
      try {
        await run();
      } catch (error) {
        throw new Error(`without a mutant fails: ${name}`, { cause: error });
      }
      known.push({ key, ms: performance.now() - begun, reached: this.state.reached() });
    }
    return known;
  }

  /** The mutants of one file, and those of them that no test notices. */
  async survivors(
    file: string,
  ): Promise<{ readonly all: readonly Mutant[]; readonly survived: readonly Mutant[] }> {
    const numbers = [...this.bundle.mutants.keys()].filter(
      (mutant) => this.bundle.mutants[mutant]?.file === file,
    );
    const isWanted = speaksOf(file);
    const wanted = this.known.filter(({ key }) =>
      isWanted(textOf(this.tests.get(key)?.file ?? "")),
    );
    const reaching = wanted.filter(({ reached }) => numbers.some((each) => reached.has(each)));
    const caught = new Map<string, number>();
    const survived: number[] = [];
    for (const mutant of numbers) {
      // A test that caught many will catch the next.
      const order = reaching.sort((a, b) => (caught.get(b.key) ?? 0) - (caught.get(a.key) ?? 0));
      const own = order.filter(({ reached }) => reached.has(mutant));
      let by = await this.caughtBy(mutant, own, this.tests);
      if (by === undefined && this.once.has(mutant)) {
        // A constant's mutants may meet a test that reaches no other of the file.
        const others = own.length > 0 ? [] : wanted;
        by = await this.caughtAnew(mutant, [...new Set([...order, ...others])], isWanted);
      }
      if (by === undefined) survived.push(mutant);
      else caught.set(by, (caught.get(by) ?? 0) + 1);
    }
    const named = (each: readonly number[]) =>
      each.flatMap((mutant) => this.bundle.mutants[mutant] ?? []);
    return { all: named(numbers), survived: named(survived) };
  }

  /** By everything evaluated again; a key of its own where that fails. */
  private async caughtAnew(
    mutant: number,
    by: readonly Known[],
    isWanted: (text: string) => boolean,
  ): Promise<string | undefined> {
    this.state.set(mutant);
    let tests: Tests;
    try {
      tests = this.bundle.tests(this.state.isOn, isWanted);
    } catch {
      return "evaluation";
    }
    return this.caughtBy(mutant, by, tests);
  }

  /** Key of the first test that fails. */
  private async caughtBy(
    mutant: number,
    by: readonly Known[],
    tests: Tests,
  ): Promise<string | undefined> {
    for (const { key } of by) {
      this.state.set(mutant);
      try {
        await tests.get(key)?.run();
      } catch {
        return key;
      }
    }
    return undefined;
  }
}

/**
 * Whether a file of tests names one of a file's rules: others judge by other rules. All do where it
 * has none.
 */
function speaksOf(file: string): (tests: string) => boolean {
  const rules = file.startsWith("policies/rules/")
    ? textOf(file).matchAll(/^ {2}name: "([\w-]+)",$/gm)
    : [];
  const names = [...rules].flatMap(([, name]) => name ?? []);
  return (tests) => names.length === 0 || names.some((name) => tests.includes(name));
}
