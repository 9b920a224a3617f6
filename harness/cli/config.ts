import { Command } from "commander";
import { type CommandTable, loadNamed } from "../../commandLine/loadNamed";

/** What can be done with the harness's configuration, and with which file. */
const GROUPS: Readonly<
  Record<string, { readonly description: string; readonly example: string; readonly files: CommandTable }>
> = {
  check: {
    description: "check a file and list every fault",
    example: "automation automation.yaml",
    files: {
      automation: async () => (await import("./checkAutomation")).checkAutomationCommand(),
      providers: async () => (await import("./checkProviders")).checkProvidersCommand(),
      analytics: async () => (await import("./checkAnalytics")).checkAnalyticsCommand(),
    },
  },
  show: {
    description: "show effective values and where they come from",
    example: "analytics --format json",
    files: { analytics: async () => (await import("./showAnalytics")).showAnalyticsCommand() },
  },
  set: {
    description: "write one key of a file",
    example: "analytics judge.default.model qwen3-coder-next",
    files: { analytics: async () => (await import("./setAnalytics")).setAnalyticsCommand() },
  },
  init: {
    description: "write a commented template",
    example: "automation automation.yaml",
    files: {
      automation: async () => (await import("./initAutomation")).initAutomationCommand(),
      providers: async () => (await import("./initProviders")).initProvidersCommand(),
      analytics: async () => (await import("./initAnalytics")).initAnalyticsCommand(),
    },
  },
  freeze: {
    description: "write a resolved contract, once",
    example: "automation automation.yaml --out contract.json",
    files: { automation: async () => (await import("./freezeAutomation")).freezeAutomationCommand() },
  },
};

const TABLE: CommandTable = Object.fromEntries(
  Object.entries(GROUPS).map(([name, { description, example, files }]) => [
    name,
    async ([file]) =>
      withCommands(
        new Command(name)
          .description(description)
          .addHelpText("after", `\nExample:\n  serving config ${name} ${example}`),
        await loadNamed(files, [file]),
      ),
  ]),
);

/** `serving config`: the harness's configuration files. `more` are commands about other files as well. */
export async function configCommand(
  args: readonly (string | undefined)[],
  more: CommandTable = {},
): Promise<Command> {
  const config = new Command("config")
    .description("check, show, write and freeze the harness's configuration")
    .addHelpText("after", "\nExample:\n  serving config check automation automation.yaml");
  return withCommands(config, await loadNamed({ ...TABLE, ...more }, args));
}

function withCommands(parent: Command, commands: readonly Command[]): Command {
  for (const command of commands) parent.addCommand(command);
  return parent;
}
