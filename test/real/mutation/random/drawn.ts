import { spawnSync } from "node:child_process";
import { basename } from "node:path";
import { type Mutant, withMutants } from "../mutants";
import { isScript, type ScriptMutant, scriptMutants } from "./scripts";

/** What a mutant is found by: its line changes with every other change. */
export interface Drawn extends Omit<Mutant, "line"> {
  /** How many of the same texts stand before it in the file; left out where none does. */
  readonly nth?: number;
}

/** A mutant in a tree, by the number of its switch; a script's with the whole changed text. */
export interface Placed {
  readonly file: string;
  readonly number: number;
  readonly text?: string;
}

/** The files of a tree that mutants are drawn from: of the commit that they were drawn from, too. */
const ROOMS = ["components", "packages", "cli", "harness", "machines", "vllm", "operate"];

/** Scripts are a fortieth of the mutants, and do what can't be undone: a tenth is drawn from them. */
const OF_SCRIPTS = 0.1;

/** Shorter texts are in functions that have nothing to do with each other. */
const TELLING = 20;

export const isScriptFile = (file: string): boolean => /\.(sh|py)$/.test(file);

/** Sources of a commit, without tests and declarations. */
export function populationOf(root: string, commit: string): Population {
  const git = (...args: string[]): string =>
    spawnSync("git", ["-C", root, ...args], { encoding: "utf8", maxBuffer: 1 << 28 }).stdout;
  const files = git("ls-tree", "-r", "--name-only", commit)
    .split("\n")
    .filter(
      (file) =>
        /(?<!\.d)\.ts$|\.sh$|\.py$/.test(file) && !/(^|\/)test\/|^(docs\/)?examples\//.test(file),
    );
  return new Population(files, (file) => git("show", `${commit}:${file}`));
}

/** Numbers of mutants that no two files share. */
const PER_FILE = 100_000;

const firstOf = (index: number): number => index * PER_FILE;

/** All mutants of a tree, in the order in which they stand. */
export class Population {
  private readonly known = new Map<string, readonly (Mutant | ScriptMutant)[]>();

  constructor(
    readonly files: readonly string[],
    private readonly text: (file: string) => string,
  ) {}

  of(file: string): readonly (Mutant | ScriptMutant)[] {
    const known = this.files.includes(file) ? this.known.get(file) : [];
    if (known !== undefined) return known;
    const text = this.text(file);
    const mutants = isScriptFile(file)
      ? scriptMutants(file, text)
      : withMutants(file, text, 0).mutants;
    this.known.set(file, mutants);
    return mutants;
  }

  /** The mutants of these texts in a file. */
  same(file: string, { within, from, to }: Omit<Drawn, "file">): (Mutant | ScriptMutant)[] {
    return this.of(file).filter(
      (each) => each.within === within && each.from === from && each.to === to,
    );
  }

  place(mutant: Mutant | ScriptMutant): Placed {
    const { file } = mutant;
    const number = firstOf(this.files.indexOf(file)) + this.of(file).indexOf(mutant);
    return { file, number, ...("text" in mutant && { text: mutant.text }) };
  }

  /** A file's text with these of its mutants inside. */
  inside(file: string, numbers: ReadonlySet<number>): string {
    const first = firstOf(this.files.indexOf(file));
    return withMutants(file, this.text(file), first, (each) => numbers.has(each)).code;
  }
}

/** Draws so many mutants, the same for the same seed. */
export function draw(population: Population, seed: number, count: number): Drawn[] {
  const random = mulberry32(seed);
  const ofScripts = Math.round(count * OF_SCRIPTS);
  const files = population.files.filter((file) => ROOMS.includes(file.split("/")[0] ?? ""));
  const kinds = [files.filter((file) => !isScriptFile(file)), files.filter(isScriptFile)];
  const counts = [count - ofScripts, ofScripts];
  const drawn = kinds.flatMap((ofKind, kind) => {
    const left = ofKind.flatMap((file) => population.of(file));
    const taken: (Mutant | ScriptMutant)[] = [];
    while (taken.length < (counts[kind] ?? 0) && left.length > 0) {
      const [mutant] = left.splice(Math.floor(random() * left.length), 1);
      if (mutant !== undefined && (!("text" in mutant) || isScript(mutant.file, mutant.text)))
        taken.push(mutant);
    }
    return taken;
  });
  return drawn.map((mutant) => {
    const { file, within, from, to } = mutant;
    const nth = population.same(file, mutant).indexOf(mutant);
    return { file, within, from, to, ...(nth > 0 && { nth }) };
  });
}

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Where each drawn mutant is now; `undefined` where its code is gone. Code that moved is found by
 * its text: in a function or constant of the same name, in a file of the same name, or anywhere if
 * it is long and there once. A text that stood there before, too, is other code.
 */
export function find(
  drawn: readonly Drawn[],
  before: Population,
  now: Population,
): (Placed | undefined)[] {
  const taken = new Set<Mutant | ScriptMutant>();
  const take = (mutant: Mutant | ScriptMutant | undefined): Placed | undefined => {
    if (mutant === undefined) return undefined;
    taken.add(mutant);
    return now.place(mutant);
  };
  const inPlace = drawn.map((each) => take(now.same(each.file, each)[each.nth ?? 0]));
  return drawn.map((each, index) => {
    if (inPlace[index] !== undefined) return inPlace[index];
    const arrived = now.files
      .flatMap((file) => now.of(file))
      .filter((other) => other.from === each.from && other.to === each.to)
      .filter((other) => now.same(other.file, other).length > before.same(other.file, other).length)
      .filter((other) => !taken.has(other));
    const ofName = arrived.filter(({ within }) => within === each.within);
    const ofFile = arrived.filter(({ file }) => basename(file) === basename(each.file));
    const ofBoth = ofName.filter((other) => ofFile.includes(other));
    const likely = ofBoth.length > 0 ? ofBoth : ofName;
    if (likely.length > 0) return take(likely[each.nth ?? 0] ?? likely[0]);
    if (ofFile.length === 1) return take(ofFile[0]);
    return each.from.length >= TELLING && arrived.length === 1 ? take(arrived[0]) : undefined;
  });
}
