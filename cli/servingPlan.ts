import "@local-serving/base/faults/interpretSchemas";
import { runProgram } from "@local-serving/base/commandLine/program";
import { commandLineOf } from "./commandLineOf";
import { planCommand } from "./commands/plan";
import { PLAN_DESCRIPTION } from "./planDescription";
import { keyReference } from "./stack/keyReference";

// `serving plan` alone, which starts faster without the code of the other commands.
const COMMANDS = { plan: { description: PLAN_DESCRIPTION, load: planCommand } };

void runProgram(
  "serving",
  (words) => commandLineOf(COMMANDS, words),
  process.argv.slice(2),
  keyReference,
);
