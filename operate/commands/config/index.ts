import { Command } from "commander";
import { type CommandTable, loadNamed } from "../loadNamed";

/** What can be done with the harness's configuration, and with which file. */
const GROUPS: Readonly<Record<string, { readonly description: string; readonly files: CommandTable }>> = {
  check: {
    description: "check a file and list every fault",
    files: {
      automation: async () => (await import("./checkAutomation")).checkAutomationCommand(),
      providers: async () => (await import("./checkProviders")).checkProvidersCommand(),
      analytics: async () => (await import("./checkAnalytics")).checkAnalyticsCommand(),
    },
  },
  show: {
    description: "show effective values and where they come from",
    files: { analytics: async () => (await import("./showAnalytics")).showAnalyticsCommand() },
  },
  set: {
    description: "write one key of a file",
    files: { analytics: async () => (await import("./setAnalytics")).setAnalyticsCommand() },
  },
  init: {
    description: "write a commented template",
    files: {
      automation: async () => (await import("./initAutomation")).initAutomationCommand(),
      providers: async () => (await import("./initProviders")).initProvidersCommand(),
      analytics: async () => (await import("./initAnalytics")).initAnalyticsCommand(),
    },
  },
  freeze: {
    description: "write a resolved contract, once",
    files: { automation: async () => (await import("./freezeAutomation")).freezeAutomationCommand() },
  },
};

const TABLE: CommandTable = {
  ...Object.fromEntries(
    Object.entries(GROUPS).map(([name, { description, files }]) => [
      name,
      async ([file]) =>
        withCommands(new Command(name).description(description), await loadNamed(files, [file])),
    ]),
  ),
  reference: async () => (await import("./reference")).referenceCommand(),
};

/** `serving config`: the files by which an automation harness is told what to do. */
export async function configCommand(args: readonly (string | undefined)[]): Promise<Command> {
  const config = new Command("config").description(
    "check, show, write and freeze the harness's configuration",
  );
  return withCommands(config, await loadNamed(TABLE, args));
}

function withCommands(parent: Command, commands: readonly Command[]): Command {
  for (const command of commands) parent.addCommand(command);
  return parent;
}
