import type { CommandTable } from "./loadNamed";

/** Every command of `serving`, in the order in which `--help` lists them. */
export const COMMANDS: CommandTable = {
  plan: async () => (await import("./plan")).planCommand(),
  kv: async () => (await import("./kv")).kvCommand(),
  wait: async () => (await import("./wait")).waitCommand(),
  verify: async () => (await import("./verify")).verifyCommand(),
  doctor: async () => (await import("./doctor")).doctorCommand(),
  pin: async () => (await import("./pin")).pinCommand(),
  inventory: async () => (await import("./inventory")).inventoryCommand(),
  config: async (args) => (await import("./config")).configCommand(args),
  app: async () => (await import("./app")).appCommand(),
  gate: async () => (await import("./gate")).gateCommand(),
};
