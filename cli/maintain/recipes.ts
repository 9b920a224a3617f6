import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { EXIT, explainFailure, WrongUse } from "@local-serving/base/commandLine/exit";
import { printResult } from "@local-serving/base/commandLine/output";
import { replaceFile } from "@local-serving/base/commandLine/replaceFile";
import { runAtOnce } from "@local-serving/base/commandLine/run";
import { FaultyInput, UnreadableInput } from "@local-serving/base/faults/fault";
import { counted } from "@local-serving/base/faults/quoting";
import { valueBy } from "@local-serving/base/faults/schemaFaults";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { parseYaml, readYamlFile } from "@local-serving/base/faults/yamlDocument";
import { modelFolder } from "@local-serving/machines/hubCache";
import { lackedKeys, mergeRecipe } from "./mergeRecipe";
import {
  recipeFile,
  SPARK,
  type SparkEntry,
  type SparkProfile,
  sparkEntries,
  taxonomy,
} from "./sparkEntries";

const REPOSITORY = "vllm-project/recipes";
const PROJECT = resolve(__dirname, "../..");

/** What became of a checkout's entries. */
interface Merge {
  /** New texts of our recipes, by file. */
  readonly changed: Map<string, string>;
  readonly lines: string[];
  contradictions: number;
  skipped: number;
  faults: number;
}

/**
 * Merges what a checkout of vllm-project/recipes says of one DGX Spark into the recipes of a
 * project. Returns what was done, and whether somebody has to look at it. Throws `WrongUse` for
 * anything but a clean checkout with its history.
 */
export function mergeRecipes(
  args: readonly string[],
  project: string,
): { readonly text: string; readonly failed: boolean } {
  const [checkout, ...more] = args;
  if (checkout === undefined || more.length > 0)
    throw new WrongUse("Usage: npm run recipes -- CHECKOUT (a clone of vllm-project/recipes)");
  const git = gitOf(checkout);
  const { [SPARK]: spark } = sparkOf(checkout);
  const merge: Merge = { changed: new Map(), lines: [], contradictions: 0, skipped: 0, faults: 0 };
  for (const file of git("ls-files", "-z", "models").split("\0").filter(isYaml)) {
    const text = readTextFile(join(checkout, file));
    if (!text.includes(SPARK)) continue;
    const date = git("log", "-1", "--format=%cs", "--", file);
    mergeFile({ file, text, date, spark, project }, merge);
  }
  for (const [file, text] of merge.changed) replaceFile(file, text);
  const { lines, changed, contradictions, skipped, faults } = merge;
  const sum = `${counted(changed.size, "recipe")} changed, ${counted(contradictions, "contradiction")}, ${counted(skipped, "entry", "entries")} skipped, ${counted(faults, "file")} unreadable.`;
  const head = `${REPOSITORY}, commit ${git("log", "-1", "--format=%h of %cs")}`;
  return { text: [head, "", ...lines, "", sum].join("\n"), failed: contradictions + faults > 0 };
}

const isYaml = (file: string): boolean => /\.ya?ml$/.test(file);

/** Runs Git in a checkout. Throws `WrongUse` unless each file's last commit can be known there. */
function gitOf(checkout: string): (...args: readonly string[]) => string {
  const isNone = (why: string) =>
    new WrongUse(`${checkout} is not a checkout of ${REPOSITORY}: ${why}`);
  const git = (...args: readonly string[]): string => {
    const { code, out, err } = runAtOnce(["git", "-C", checkout, ...args]);
    if (code !== 0) throw isNone(err.trim().split("\n")[0] || "git fails there");
    return out.trim();
  };
  if (git("rev-parse", "--show-prefix") !== "") throw isNone("it is a folder inside of one");
  if (!existsSync(join(checkout, "taxonomy.yaml"))) throw isNone("it has no taxonomy.yaml");
  if (git("rev-parse", "--is-shallow-repository") === "true")
    throw new WrongUse(
      `${checkout} is a shallow clone, so the age of its files is not known: git -C ${checkout} fetch --unshallow`,
    );
  const own = git("status", "--porcelain", "--", "models", "taxonomy.yaml");
  if (own !== "")
    throw new WrongUse(
      `${checkout} has uncommitted changes, so the age of those files is not known: git -C ${checkout} stash`,
    );
  return git;
}

const sparkOf = (checkout: string) => {
  const file = join(checkout, "taxonomy.yaml");
  return valueBy(taxonomy, file, readYamlFile(file)).hardware_profiles;
};

/** One file of the checkout, and where its entries go. */
interface TheirFile {
  readonly file: string;
  readonly text: string;
  readonly date: string;
  readonly spark: SparkProfile;
  readonly project: string;
}

function mergeFile(theirs: TheirFile, merge: Merge): void {
  const { file, text, date, spark } = theirs;
  try {
    const { entries, skipped } = sparkEntries(
      valueBy(recipeFile, file, parseYaml(file, text)),
      spark,
    );
    for (const { what, why } of skipped) merge.lines.push(`skipped ${what}: ${why} (${file})`);
    merge.skipped += skipped.length;
    for (const entry of entries) mergeEntry(entry, theirs, merge);
  } catch (error) {
    // Another file may still be whole.
    if (!(error instanceof FaultyInput || error instanceof UnreadableInput)) throw error;
    if (!error.message.startsWith(file)) throw error;
    merge.lines.push(`unreadable, of ${date}: ${error.message}`);
    merge.faults++;
  }
}

function mergeEntry(entry: SparkEntry, { file, date, project }: TheirFile, merge: Merge): void {
  const { id } = entry;
  const ours = join(project, "models", modelFolder(id), "recipe.yaml");
  if (!existsSync(ours)) {
    const lacked = lackedKeys(entry).join(", ");
    const why = `models/ lacks it, and the entry doesn't give what a recipe needs (${lacked}), nor the model's config.json: \`serving models add ${id} --config FILE\``;
    merge.lines.push(`skipped ${id}: ${why} (${file})`);
    merge.skipped++;
    return;
  }
  const before = merge.changed.get(ours) ?? readTextFile(ours);
  const source = `${REPOSITORY}, ${file}, for one DGX Spark`;
  const merged = mergeRecipe(ours, before, entry, { source, date });
  if (merged.text !== before) merge.changed.set(ours, merged.text);
  merge.contradictions += merged.contradictions.length;
  merge.lines.push(
    `${id} (${file}, ${date})`,
    ...merged.added.map((value) => `  added ${value}`),
    ...merged.contradictions.map((value) => `  contradicts, ours stays: ${value}`),
    ...(merged.leftOut.length === 0 ? [] : [`  left to you: ${merged.leftOut.join(", ")}`]),
  );
}

/**
 * `npm run recipes -- CHECKOUT`. Returns the exit code: 0, 1 if somebody has to look, 2 for wrong use.
 */
export function runMerge(args: readonly string[], project: string = PROJECT): number {
  try {
    const { text, failed } = mergeRecipes(args, project);
    printResult("text", undefined, text);
    return failed ? EXIT.faults : EXIT.fine;
  } catch (error) {
    return explainFailure(error, "recipes");
  }
}

if (require.main === module) process.exitCode = runMerge(process.argv.slice(2));
