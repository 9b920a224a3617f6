import type { Command } from "commander";
import type { CommandTable } from "../commandLine/command";
import { commandLineOf } from "./commandLineOf";

/** Every command of `serving`, in the order in which `--help` lists them. */
export const COMMANDS: CommandTable = {
  init: async () => (await import("./commands/init")).initCommand(),
  plan: async () => (await import("./commands/plan")).planCommand(),
  models: async () => (await import("./commands/models")).modelsCommand(),
  preview: async () => (await import("./commands/update")).updateCommand("preview"),
  up: async () => (await import("./commands/update")).updateCommand("up"),
  down: async () => (await import("./commands/update")).updateCommand("down"),
  verify: async () => (await import("./commands/verify")).verifyCommand(),
  status: async () => (await import("./commands/status")).statusCommand(),
  logs: async () => (await import("./commands/logs")).logsCommand(),
  stop: async () => (await import("./commands/startStop")).stopCommand(),
  start: async () => (await import("./commands/startStop")).startCommand(),
  backup: async () => (await import("./commands/backup")).backupCommand(),
  restore: async () => (await import("./commands/restore")).restoreCommand(),
  clients: async () => (await import("./commands/clients")).clientsCommand(),
  bench: async () => (await import("./commands/bench")).benchCommand(),
  doctor: async () => (await import("./commands/doctor")).doctorCommand(),
  pin: async () => (await import("./commands/pin")).pinCommand(),
  fetch: async () => (await import("./commands/fetch")).fetchCommand(),
  harness: async (args) =>
    (await import("../harness/cli/harness")).harnessCommand(args, {
      reference: async () => (await import("./commands/reference")).referenceCommand(),
    }),
  completion: async () => (await import("./commands/completion")).completionCommand(),
};

/** Commands that help doesn't list. */
export const UNLISTED: CommandTable = {
  refresh: async () => (await import("./commands/update")).updateCommand("refresh"),
  candidates: async () => (await import("./commands/completion")).candidatesCommand(serving),
};

/** Builds the command line for these arguments; nothing runs until `parseAsync`. */
export const serving = (args: readonly string[]): Promise<Command> =>
  commandLineOf(COMMANDS, args, UNLISTED);
