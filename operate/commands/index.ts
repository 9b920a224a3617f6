import type { CommandTable } from "../../commandLine/command";

/** Every command of `serving`, in the order in which `--help` lists them. */
export const COMMANDS: CommandTable = {
  plan: async () => (await import("./plan")).planCommand(),
  kv: async () => (await import("./kv")).kvCommand(),
  wait: async () => (await import("./wait")).waitCommand(),
  verify: async () => (await import("./verify")).verifyCommand(),
  doctor: async () => (await import("./doctor")).doctorCommand(),
  pin: async () => (await import("./pin")).pinCommand(),
  inventory: async () => (await import("./inventory")).inventoryCommand(),
  config: async (args) =>
    (await import("../../harness/cli/config")).configCommand(args, {
      reference: async () => (await import("./reference")).referenceCommand(),
    }),
  app: async () => (await import("../../harness/cli/app")).appCommand(),
  gate: async () => (await import("../../harness/cli/gate")).gateCommand(),
  completion: async () => (await import("./completion")).completionCommand(COMMANDS),
};
