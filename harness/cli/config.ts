import type { Command } from "commander";
import { type CommandTable, commandGroup, loadNamed } from "../../commandLine/command";
import { WrongUse } from "../../commandLine/exit";
import { isStackFile, stackFileHint } from "./checkResult";
import { INIT_COMMANDS } from "./init";

/** What can be done with the harness's configuration, and with which file. */
const GROUPS = [
  {
    name: "check",
    description: "Check a file and list every fault.",
    example: "config check automation automation.yaml",
    files: {
      automation: async () => (await import("./automation")).checkAutomationCommand(),
      providers: async () => (await import("./providers")).checkProvidersCommand(),
      analytics: async () => (await import("./analytics")).checkAnalyticsCommand(),
    },
  },
  {
    name: "show",
    description: "Show effective values and where they come from.",
    example: "config show analytics --format json",
    files: { analytics: async () => (await import("./analytics")).showAnalyticsCommand() },
  },
  {
    name: "set",
    description: "Write one key of a file.",
    example: "config set analytics judge.default.model qwen3-coder-next",
    files: { analytics: async () => (await import("./analytics")).setAnalyticsCommand() },
  },
  {
    name: "init",
    description: "Write a commented template.",
    example: "config init automation automation.yaml",
    files: INIT_COMMANDS,
  },
  {
    name: "freeze",
    description: "Write a resolved contract, once.",
    example: "config freeze automation automation.yaml --out contract.json",
    files: { automation: async () => (await import("./automation")).freezeAutomationCommand() },
  },
] as const;

const TABLE: CommandTable = Object.fromEntries(
  GROUPS.map(({ files, ...form }) => [
    form.name,
    async ([file]) => {
      // `config check Pulumi.dgx.yaml` is easily typed: nearly every other command is about that
      // file.
      if (form.name === "check" && file !== undefined && isStackFile(file))
        throw new WrongUse(`${file}: ${stackFileHint(file)}`);
      return commandGroup(form, await loadNamed(files, [file]));
    },
  ]),
);

/**
 * `serving config`: the harness's configuration files. `more` are commands about other files as
 * well.
 */
export async function configCommand(
  args: readonly (string | undefined)[],
  more: CommandTable = {},
): Promise<Command> {
  return commandGroup(
    {
      name: "config",
      description: "Check, show, write and freeze the harness's configuration.",
      example: "config check automation automation.yaml",
    },
    await loadNamed({ ...TABLE, ...more }, args),
  );
}
