import { readdirSync } from "node:fs";
import { join } from "node:path";
import { EXIT, explainFailure, WrongUse } from "@local-serving/base/commandLine/exit";
import { UnreadableInput } from "@local-serving/base/faults/fault";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { factsOfMachine } from "../fit/machines";
import { judgeFit } from "../fit/verdict";
import type { HostFacts } from "../sees/computer/facts";
import { projectOrProgram } from "../stack/stackFile";

const RECIPE = /\.(?:ya?ml|sh|txt)$/;

const HEAD =
  "| recipe | model | share | window | verdict | why | source |\n| --- | --- | --- | --- | --- | --- | --- |";

/**
 * What `serving fit` says of every recipe in a folder, as a table in Markdown. The comment in a
 * recipe's first line is its source. Throws `WrongUse` for a folder or a machine that isn't there.
 */
export async function fitTable(folder: string, machine: string): Promise<string> {
  const facts = factsOfMachine(machine);
  const rows: string[] = [];
  for (const name of recipesIn(folder)) {
    const file = join(folder, name);
    const cells = await cellsOf(file, facts);
    rows.push(`| ${[name, ...cells, sourceOf(file)].map(cell).join(" | ")} |`);
  }
  return `${[HEAD, ...rows].join("\n")}\n`;
}

/** The comment in a recipe's first line, which says where it was published, and when. */
const sourceOf = (file: string): string => /^# ?(.*)/.exec(readTextFile(file))?.[1] ?? "";

function recipesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => RECIPE.test(name))
      .sort();
  } catch (error) {
    throw new WrongUse(
      `${folder} can't be read: ${error instanceof Error ? error.message : error}`,
    );
  }
}

async function cellsOf(file: string, facts: HostFacts): Promise<readonly string[]> {
  const place = { name: facts.host, project: projectOrProgram() };
  try {
    const { verdict, why, server } = (await judgeFit(file, facts, place)).fit;
    const { gpuMemoryUtilization: share = "", maxModelLen: window = "" } = server.settings ?? {};
    return [server.model, String(share), String(window), verdict, why];
  } catch (error) {
    if (!(error instanceof WrongUse || error instanceof UnreadableInput)) throw error;
    return ["", "", "", "not read", error.message.replace(`${file}: `, "")];
  }
}

/** A text that can stand in a cell. */
const cell = (text: string): string => text.replaceAll("|", "\\|").replace(/\s+/g, " ").trim();

/** Prints the table of `FOLDER [MACHINE]`, and returns the exit code. */
export async function runFitTable([folder, machine = "spark"]: readonly string[]): Promise<number> {
  try {
    if (folder === undefined) throw new WrongUse("Write npm run fit-table -- FOLDER [MACHINE].");
    process.stdout.write(await fitTable(folder, machine));
    return EXIT.fine;
  } catch (error) {
    return explainFailure(error, "fit-table");
  }
}

if (require.main === module)
  void runFitTable(process.argv.slice(2)).then((code) => {
    process.exitCode = code;
  });
