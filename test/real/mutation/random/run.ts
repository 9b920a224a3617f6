import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Runner, startApart } from "./apart";
import { type Drawn, draw, find, type Placed, type Population, populationOf } from "./drawn";
import { Judge, type WithoutMutant } from "./judge";
import { putInside } from "./tree";

const ROOT = join(__dirname, "../../../..");
const LIST = join(__dirname, "../random.json");
/** A worktree, and what is known of it: a run that was broken off goes on from there. */
const TREE = process.env.MUTANTS_TREE ?? `${ROOT}-mutants`;
const STATE = `${TREE}.json`;
const MODULES = join(ROOT, "node_modules");

const COUNT = 300;

interface List {
  readonly commit: string;
  readonly seed: number;
  readonly mutants: readonly Listed[];
}

/** `by` is the file of tests that caught it, null where none did; left out, it was not run. */
type Listed = Drawn & { readonly by?: string | null };

interface State {
  readonly commit: string;
  readonly known: Record<string, WithoutMutant>;
  readonly verdicts: Record<string, string | null>;
  readonly passed: Record<string, readonly string[]>;
}

/** A drawn mutant and what became of it. */
interface Judged {
  readonly mutant: Listed;
  /** Left out where its code is gone. */
  readonly placed: Placed | undefined;
  /** Left out where it was not run. */
  readonly by: string | null | undefined;
}

const readList = (): List => JSON.parse(readFileSync(LIST, "utf8"));

function write(file: string, content: List | State): void {
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}

/** Judges the list in the tree of a commit: all of it, or what was caught before. */
async function judge(commit: string, isWhole: boolean): Promise<Judged[]> {
  const { commit: first, mutants } = readList();
  const population = populationOf(ROOT, commit);
  const places = find(mutants, populationOf(ROOT, first), population);
  const state = await readyTree(commit, population, places);
  const verdicts = new Map(commit === first ? noted(mutants, places) : []);
  for (const [number, by] of Object.entries(state.verdicts)) verdicts.set(Number(number), by);
  const keep = () => write(STATE, { ...state, verdicts: Object.fromEntries(verdicts) });
  const questions = mutants.flatMap(({ by }, index) => {
    const placed = places[index];
    const isAsked = placed !== undefined && (isWhole || typeof by === "string");
    return isAsked ? [{ number: placed.number, file: placed.file, by }] : [];
  });
  const runner = new Runner({ tree: TREE, modules: MODULES });
  try {
    await new Judge(runner, state.known, verdicts, state.passed, keep).judge(questions);
  } finally {
    runner.end();
  }
  return mutants.map((mutant, index) => {
    const placed = places[index];
    return { mutant, placed, by: placed && verdicts.get(placed.number) };
  });
}

/** What the list says of mutants at its own commit, by their numbers. */
function noted(
  mutants: readonly Listed[],
  places: readonly (Placed | undefined)[],
): [number, string | null][] {
  return mutants.flatMap(({ by }, index) => {
    const placed = places[index];
    return placed === undefined || by === undefined ? [] : [[placed.number, by]];
  });
}

/** The worktree with its mutants inside, built; as it was where the last run was broken off. */
async function readyTree(
  commit: string,
  population: Population,
  places: readonly (Placed | undefined)[],
): Promise<State> {
  if (existsSync(STATE)) {
    const kept: State = JSON.parse(readFileSync(STATE, "utf8"));
    if (kept.commit === commit) return kept;
  }
  if (existsSync(TREE)) git("-C", TREE, "checkout", "--quiet", "--force", "--detach", commit);
  else git("worktree", "add", "--quiet", "--detach", TREE, commit);
  git("-C", TREE, "clean", "-fdq");
  putInside(
    TREE,
    population,
    places.flatMap((each) => each ?? []),
  );
  const build = startApart({ tree: TREE, modules: MODULES }, ["npm", "run", "--silent", "build"]);
  const [code] = await once(build, "exit");
  if (code !== 0) throw new Error(`${TREE} can't be built with its mutants inside.`);
  return { commit, known: {}, verdicts: {}, passed: {} };
}

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

/** Says what is caught. Returns how many were caught, are still there and aren't any more. */
function report(judged: readonly Judged[]): number {
  const there = judged.filter(({ placed }) => placed !== undefined);
  const moved = there.filter(({ mutant, placed }) => placed?.file !== mutant.file);
  const caught = there.filter(({ by }) => typeof by === "string");
  const lost = there.filter(({ mutant, by }) => typeof mutant.by === "string" && by === null);
  const was = there.filter(({ mutant }) => typeof mutant.by === "string");
  for (const { mutant, placed } of lost) {
    const { within, from, to, by } = mutant;
    console.log(`${by} caught it, nothing does: ${placed?.file}, ${within}: ${from} -> ${to}`);
  }
  console.log(
    [
      `drawn ${judged.length}`,
      `gone ${judged.length - there.length}`,
      `moved ${moved.length}`,
      `of those that are there, caught then ${was.length}`,
      `caught now ${caught.length}`,
      `no longer ${lost.length}`,
    ].join(", "),
  );
  return lost.length;
}

async function main([word, ...rest]: readonly string[]): Promise<void> {
  if (word === "draw") {
    const [seed = "", commit = "HEAD"] = rest;
    const first = git("rev-parse", commit);
    const mutants = draw(populationOf(ROOT, first), Number(seed), COUNT);
    return write(LIST, { commit: first, seed: Number(seed), mutants });
  }
  if (word === "note") {
    const { commit, seed } = readList();
    const judged = await judge(commit, true);
    report(judged);
    const mutants = judged.map(({ mutant, by }) => ({
      ...mutant,
      ...(by !== undefined && { by }),
    }));
    return write(LIST, { commit, seed, mutants });
  }
  if (report(await judge(git("rev-parse", word ?? "HEAD"), false)) > 0) process.exitCode = 1;
}

main(process.argv.slice(2));
