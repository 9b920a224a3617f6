import type { CommandTable } from "@local-serving/base/commandLine/command";
import { MORE_COMMANDS } from "@local-serving/base/commandLine/program";
import type { Command } from "commander";
import { commandLineOf } from "./commandLineOf";
import { PLAN_DESCRIPTION } from "./planDescription";

/** Every command of `serving`, in the order in which `--help` lists them. */
export const COMMANDS: CommandTable = {
  init: {
    group: "Prepare:",
    description: "Look at a machine and write its stack file, each value with its reason.",
    load: async () => (await import("./commands/init")).initCommand(),
  },
  models: {
    group: "Prepare:",
    description: "List the known models, and whether each fits on the machine of the stack file.",
    load: async () => (await import("./commands/models")).modelsCommand(),
  },
  fit: {
    group: "Prepare:",
    description: "Say whether a published recipe or command, or a model, would start on a machine.",
    load: async () => (await import("./commands/fit")).fitCommand(),
  },
  plan: {
    group: "Prepare:",
    description: PLAN_DESCRIPTION,
    load: async () => (await import("./commands/plan")).planCommand(),
  },
  pin: {
    group: "Prepare:",
    description:
      "Pin an image: its digest, the versions inside it, and whether it may run; or look for newer ones.",
    load: async () => (await import("./commands/pin")).pinCommand(),
  },
  fetch: {
    group: "Prepare:",
    description:
      "Pull the images and download the models of the stack file, before `up` stops anything.",
    load: async () => (await import("./commands/fetch")).fetchCommand(),
  },
  preview: {
    group: "Change the machine:",
    description:
      "Show what `up` would change, judged by the policies. It changes nothing on a machine.",
    load: async () => (await import("./commands/update")).updateCommand("preview"),
  },
  up: {
    group: "Change the machine:",
    description:
      "Apply the stack file. At a terminal one yes covers downloads, change, wait and probes.",
    load: async () => (await import("./commands/update")).updateCommand("up"),
  },
  down: {
    group: "Change the machine:",
    description:
      "Remove what `up` made. The model cache stays, and so does everything that isn't ours.",
    load: async () => (await import("./commands/update")).updateCommand("down"),
  },
  verify: {
    group: "Check it:",
    description: "Probe a running environment as its clients use it, and say what to change.",
    load: async () => (await import("./commands/verify")).verifyCommand(),
  },
  doctor: {
    group: "Check it:",
    description:
      "Say what is wrong with a machine and which line of the stack file fixes it. Changes nothing.",
    load: async () => (await import("./commands/doctor")).doctorCommand(),
  },
  bench: {
    group: "Check it:",
    description:
      "Measure a running server with vLLM's own client: how fast it reads prompts and answers agents.",
    load: async () => (await import("./commands/bench")).benchCommand(),
  },
  status: {
    group: "Every day:",
    description: "Say what runs: each server and service, the memory, and what they do.",
    load: async () => (await import("./commands/status")).statusCommand(),
  },
  logs: {
    group: "Every day:",
    description: "Print the end of the log of a server or service, of all its ranks, without keys.",
    load: async () => (await import("./commands/logs")).logsCommand(),
  },
  stop: {
    group: "Every day:",
    description: "Stop a server or service to free its memory. Everything else is kept.",
    load: async () => (await import("./commands/startStop")).stopCommand(),
  },
  start: {
    group: "Every day:",
    description:
      "Start a stopped server or service. A server that starts on request must fit beside what runs.",
    load: async () => (await import("./commands/startStop")).startCommand(),
  },
  backup: {
    group: "Every day:",
    description: "Copy the chat UI's data on its machine. The chat UI is stopped meanwhile.",
    load: async () => (await import("./commands/backup")).backupCommand(),
  },
  restore: {
    group: "Every day:",
    description: "List the copies of the chat UI's data, or put one back.",
    load: async () => (await import("./commands/restore")).restoreCommand(),
  },
  clients: {
    group: MORE_COMMANDS,
    description: "Write files for clients on other computers.",
    load: async () => (await import("./commands/clients")).clientsCommand(),
  },
  harness: {
    group: MORE_COMMANDS,
    description:
      "Check, show, write and freeze an automation harness's files; run its app and gates.",
    load: async (words) =>
      (await import("@local-serving/harness/cli/harness")).harnessCommand(words, {
        reference: {
          description:
            "Write the reference of every configuration file, or check that it is up to date.",
          load: async () => (await import("./commands/reference")).referenceCommand(),
        },
      }),
  },
  completion: {
    group: MORE_COMMANDS,
    description: "Print a script that lets your shell complete commands, options and names.",
    load: async () => (await import("./commands/completion")).completionCommand(),
  },
};

/** Commands that help doesn't list. */
export const UNLISTED: CommandTable = {
  refresh: {
    description:
      "Find out what is gone from the machine since it was applied, so that the next `up` makes it again.",
    load: async () => (await import("./commands/update")).updateCommand("refresh"),
  },
  candidates: {
    description: "List what may stand in place of the last of these words, each with what it is.",
    load: async () => (await import("./commands/completion")).candidatesCommand(serving),
  },
};

/** Builds the command line for these arguments; nothing runs until `parseAsync`. */
export const serving = (args: readonly string[]): Promise<Command> =>
  commandLineOf(COMMANDS, args, UNLISTED);
