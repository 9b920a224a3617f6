import {
  type CommandTable,
  commandGroup,
  commandsOf,
} from "@local-serving/base/commandLine/command";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { programOf } from "@local-serving/base/commandLine/program";
import type { Command } from "commander";
import { version } from "../package.json";
import { harnessDocuments } from "../reference/documents";
import { checkAnalyticsCommand, setAnalyticsCommand, showAnalyticsCommand } from "./analytics";
import { appCommand } from "./app";
import { checkAutomationCommand, freezeAutomationCommand } from "./automation";
import { isStackFile, stackFileHint } from "./checkResult";
import { gateCommand } from "./gate";
import { INIT_COMMANDS } from "./init";
import { checkProvidersCommand } from "./providers";
import { referenceCommand } from "./reference";

/** What can be done with the harness's configuration, and with which file. */
const GROUPS = [
  {
    name: "check",
    description: "Check a file and list every fault.",
    example: "harness check automation automation.yaml",
    commands: [checkAutomationCommand, checkProvidersCommand, checkAnalyticsCommand],
  },
  {
    name: "show",
    description: "Show effective values and where they come from.",
    example: "harness show analytics --format json",
    commands: [showAnalyticsCommand],
  },
  {
    name: "set",
    description: "Write one key of a file.",
    example: "harness set analytics judge.default.model qwen3-coder-next",
    commands: [setAnalyticsCommand],
  },
  {
    name: "init",
    description: "Write a commented template.",
    example: "harness init automation automation.yaml",
    commands: INIT_COMMANDS,
  },
  {
    name: "freeze",
    description: "Write a resolved contract, once.",
    example: "harness freeze automation automation.yaml --out contract.json",
    commands: [freezeAutomationCommand],
  },
] as const;

/** `serving harness`. `more` are commands that need what isn't here. */
export async function harnessCommand(
  words: readonly string[],
  more: CommandTable,
): Promise<Command> {
  refuseStackFile(words);
  return commandGroup({ name: "harness", example: "harness check automation automation.yaml" }, [
    ...ownCommands(),
    ...(await commandsOf(more, words)),
  ]);
}

/** The same as a program of its own: `harness check`. */
export async function harnessProgram(words: readonly string[]): Promise<Command> {
  refuseStackFile(words);
  const made = [...ownCommands(), referenceCommand(harnessDocuments)];
  const table = made.map((command) => [
    command.name(),
    { description: command.description(), load: () => command },
  ]);
  return programOf(HARNESS_PROGRAM, Object.fromEntries(table), words);
}

const HARNESS_PROGRAM = {
  name: "harness",
  description: "Check, explain and freeze an automation harness's files; run its app and gates.",
  version: () => version,
  example: "check automation automation.yaml",
};

const ownCommands = (): Command[] => [
  ...GROUPS.map(({ commands, ...form }) =>
    commandGroup(
      form,
      commands.map((make) => make()),
    ),
  ),
  appCommand(),
  gateCommand(),
];

/** `harness check Pulumi.dgx.yaml` is easily typed: nearly every other command is about that file. */
function refuseStackFile([word, file]: readonly string[]): void {
  if (word === "check" && file !== undefined && isStackFile(file))
    throw new WrongUse(`${file}: ${stackFileHint(file)}`);
}
