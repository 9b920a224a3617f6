import "@local-serving/base/faults/interpretSchemas";
import { isAlone } from "@local-serving/base/commandLine/ownCommand";
import { runProgram } from "@local-serving/base/commandLine/program";
import { harnessProgram } from "./cli/harness";

isAlone("harness");
void runProgram("harness", harnessProgram, process.argv.slice(2));
