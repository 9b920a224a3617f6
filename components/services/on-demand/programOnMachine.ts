import { join } from "node:path";
import { scriptText } from "@local-serving/machines/shell";
import type { OnDemandPlan } from "./onDemandPlan";

/** Brings and places llama-swap on a machine; programOnMachine.sh says what each word does. */
const SCRIPT = scriptText(join(__dirname, "programOnMachine.sh"));

/** Variable that carries the script: in the command it would be the first lines of each failure. */
const SCRIPT_VARIABLE = "PROGRAM_SCRIPT";

/** What the script is told to do. */
type ProgramWord = "look" | "bring" | "place" | "read" | "remove";

type Program = OnDemandPlan["program"];

/** The variables by which the script knows the program. */
const programVariables = ({ path, from, version, sha256 = "" }: Program) => ({
  PROGRAM: path,
  PROGRAM_FROM: from,
  PROGRAM_VERSION: version,
  PROGRAM_SHA256: sha256,
});

/** A command with these variables, and with the script in one of its own. */
export const programCommand = (word: ProgramWord): string =>
  `sh -c "$${SCRIPT_VARIABLE}" program ${word}`;

/** The variables of such a command. */
export const programEnvironment = (program: Program): Record<string, string> => ({
  [SCRIPT_VARIABLE]: SCRIPT,
  ...programVariables(program),
});

/** Words that run the script on a machine; `variables` are further ones, such as a proxy's. */
export function programWords(
  program: Program,
  word: ProgramWord,
  variables: readonly string[] = [],
): string[] {
  const told = Object.entries(programVariables(program)).map((each) => each.join("="));
  return ["env", ...variables, ...told, "sh", "-c", SCRIPT, "program", word];
}

/** Where the script puts what came of an archive so far. */
export const partOfArchive = ({ folder }: Pick<OnDemandPlan, "folder">): string =>
  `${folder}/.llama-swap.part`;
