import { type CommandTable, printRefusal } from "@local-serving/base/commandLine/command";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { asksForJson, programOf } from "@local-serving/base/commandLine/program";
import type { Command } from "commander";
import { goneWord } from "./earlierWords";
import { versionText } from "./packages/version";
import { WHICH_STACK } from "./stack/whichStack";

const SERVING = {
  name: "serving",
  description: "Plan, check and operate a local model-serving machine.",
  version: versionText,
  notes: WHICH_STACK,
  example: "plan --stack dgx",
};

/**
 * `serving` with these commands, and others that help doesn't list, for these arguments; nothing
 * runs until `parseAsync`.
 */
export async function commandLineOf(
  commands: CommandTable,
  args: readonly string[],
  unlisted: CommandTable = {},
): Promise<Command> {
  const gone = goneWord(args);
  if (gone === undefined) return programOf(SERVING, commands, args, unlisted);
  const refusal = new WrongUse(gone);
  if (asksForJson(args)) printRefusal(refusal);
  throw refusal;
}
