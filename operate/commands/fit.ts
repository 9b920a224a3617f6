import { Argument, type Command, Option } from "commander";
import { command, type Outcome } from "../../commandLine/command";
import { terminalWidth } from "../../commandLine/layout";
import { operatorHome } from "../../components/evidence";
import { fitText } from "../fit/fitText";
import { factsOfMachine, MACHINE_NAMES } from "../fit/machines";
import { judgeFit } from "../fit/verdict";
import { projectOrProgram } from "../stack/stackFile";

interface FitOptions {
  readonly machine: string;
  readonly strict?: true;
}

export function fitCommand(): Command {
  return command({
    name: "fit",
    arguments: [
      new Argument(
        "<recipe>",
        "file with a published command (`vllm serve ...`, `docker run ...`) or recipe, - for stdin, the command itself in quotes, or a model's name or hub id",
      ),
    ],
    options: [
      new Option(
        "--machine <machine>",
        `${MACHINE_NAMES.map((name) => `\`${name}\``).join(", ")}, or a file with what \`serving init --facts\` printed`,
      ).default("spark"),
      new Option("--strict", "exit with 1 also where it only may start"),
    ],
    notes: `It plans in memory what \`serving init --from-command\` or \`serving models use\` would write: no project is needed, nothing is
written or started. A model that the catalogue lacks is read from this computer's model cache; the network is not used.

The verdict is of the start alone: "starts" and "may start" by published starts of its like, "cannot start" by arithmetic,
"not judged" where too little is known. What else the policies refuse, \`serving plan\` says.

Exit code: 0 it starts or may start, 1 it can't start or isn't judged, 2 wrong use, or a text that no server can be read from.`,
    example: "fit recipe.yaml --machine spark-64",
    run: fitOutcome,
  });
}

async function fitOutcome({ machine, strict }: FitOptions, given: string): Promise<Outcome> {
  const facts = factsOfMachine(machine);
  const place = { name: facts.host, project: projectOrProgram(), home: operatorHome() };
  const found = await judgeFit(given, facts, place);
  const { verdict } = found.fit;
  const failed = verdict !== "starts" && (verdict !== "may start" || strict === true);
  return { result: found.fit, text: fitText(found, terminalWidth(process.stdout)), failed };
}
