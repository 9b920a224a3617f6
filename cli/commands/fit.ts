import { existsSync } from "node:fs";
import { basename } from "node:path";
import { command, type Outcome } from "@local-serving/base/commandLine/command";
import { headed, terminalWidth } from "@local-serving/base/commandLine/layout";
import { say } from "@local-serving/base/commandLine/output";
import { shellWord } from "@local-serving/base/faults/shellWords";
import { Argument, type Command, Option } from "commander";
import { operatorHome } from "../../components/evidence";
import { fitText } from "../fit/fitText";
import { factsOfMachine, MACHINE_NAMES } from "../fit/machines";
import { judgeFit } from "../fit/verdict";
import { factsByFile } from "../init/add/addServers";
import type { HostFacts } from "../sees/computer/facts";
import { readOneMachine } from "../stack/readStack";
import {
  impliedStack,
  projectOrProgram,
  sampleMeant,
  stackFile,
  stacksHere,
} from "../stack/stackFile";

interface FitOptions {
  readonly machine?: string;
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
        `${MACHINE_NAMES.map((name) => `\`${name}\``).join(", ")}, or a file with what \`serving init --facts\` printed (default: the machine of this folder's stack file, else \`spark\`)`,
      ),
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
  const facts = machine === undefined ? factsHere() : factsOfMachine(machine);
  const place = { name: facts.host, project: projectOrProgram(), home: operatorHome() };
  const found = await judgeFit(given, facts, place);
  const { verdict } = found.fit;
  const starts = verdict === "starts" || verdict === "may start";
  const failed = !starts || (verdict === "may start" && strict === true);
  const next = starts ? ["", headed("Next:", nextOf(given, found.fit.server.model))] : [];
  const text = [fitText(found, terminalWidth(process.stdout)), ...next].join("\n");
  return { result: found.fit, text, failed };
}

/** The machine of this folder's stack file, where it has one of its own; else a DGX Spark. */
function factsHere(): HostFacts {
  if (stacksHere().length === 0 || sampleMeant({}) !== undefined || impliedStack() === undefined)
    return factsOfMachine("spark");
  const file = stackFile({});
  say(`It is judged for the machine of ${basename(file)}, as if nothing else ran there.`);
  return factsByFile(readOneMachine(file));
}

/** What writes the server, from the image's digest to the files of coding clients. */
function nextOf(given: string, model: string): string[] {
  const isHere = stacksHere().length > 0;
  const isName = !/\s/.test(given.trim()) && given !== "-" && !existsSync(given);
  if (isName) return [...(isHere ? [] : ["serving init"]), `serving models use ${model} --write`];
  const source = given === "-" ? "FILE" : shellWord(given);
  return [`serving init --from-command ${source}   # pins its image, and sets up coding clients`];
}
