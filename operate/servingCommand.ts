import { type AddHelpTextContext, Command, CommanderError } from "commander";
import { type CommandTable, loadNamed } from "../commandLine/command";
import { EXIT } from "../commandLine/exit";
import { say } from "../commandLine/output";
import { versionText } from "./packages/version";

/** Every command of `serving`, in the order in which `--help` lists them. */
export const COMMANDS: CommandTable = {
  init: async () => (await import("./commands/init")).initCommand(),
  plan: async () => (await import("./commands/plan")).planCommand(),
  models: async () => (await import("./commands/models")).modelsCommand(),
  kv: async () => (await import("./commands/kv")).kvCommand(),
  preview: async () => (await import("./commands/update")).updateCommand("preview"),
  up: async () => (await import("./commands/update")).updateCommand("up"),
  refresh: async () => (await import("./commands/update")).updateCommand("refresh"),
  down: async () => (await import("./commands/update")).updateCommand("down"),
  wait: async () => (await import("./commands/wait")).waitCommand(),
  verify: async () => (await import("./commands/verify")).verifyCommand(),
  drift: async () => (await import("./commands/drift")).driftCommand(),
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
  inventory: async () => (await import("./commands/inventory")).inventoryCommand(),
  config: async (args) =>
    (await import("../harness/cli/config")).configCommand(args, {
      reference: async () => (await import("./commands/reference")).referenceCommand(),
    }),
  app: async () => (await import("../harness/cli/app")).appCommand(),
  gate: async () => (await import("../harness/cli/gate")).gateCommand(),
  upgrade: async () => (await import("./commands/upgrade")).upgradeCommand(),
  completion: async () => (await import("./commands/completion")).completionCommand(COMMANDS),
};

const VERSION = /^(?:-V|--version)$/;

/** Builds the command line for these arguments; nothing runs until `parseAsync`. */
export async function serving(args: readonly string[]): Promise<Command> {
  const program = new Command("serving")
    .description("Plan, check and operate a local model-serving machine.")
    .option("-V, --version", "print the version, and its commit where that is known")
    .on("option:version", () => {
      // Asked for late: a clone asks git.
      const version = versionText();
      process.stdout.write(`${version}\n`);
      throw new CommanderError(EXIT.fine, "commander.version", version);
    })
    .showHelpAfterError("(add --help for an example)")
    .addHelpText("beforeAll", refuseUnknown)
    .addHelpText("after", "\nExample:\n  serving plan --stack dgx")
    .configureOutput({ writeErr: (text) => say(text.trimEnd()) })
    // An option behind a command is that command's, also where the command before it has one of the
    // same name.
    .enablePositionalOptions()
    .exitOverride();
  // No command is needed to say the version.
  const commands = VERSION.test(args[0] ?? "") ? [] : await loadNamed(COMMANDS, args);
  for (const command of commands) program.addCommand(inherit(program, command));
  return program;
}

/** `help nosuch` is refused as `nosuch` alone is: commander would print the list without a word. */
function refuseUnknown({ error, command }: AddHelpTextContext): string {
  const [word, name] = command.args;
  if (error && word === "help" && name !== undefined) command.parse([name], { from: "user" });
  return "";
}

/** commander copies settings to sub-commands only when it makes them itself. */
function inherit(parent: Command, command: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(command, child);
  return command;
}
