import "@local-serving/base/faults/interpretSchemas";
import { runProgram } from "@local-serving/base/commandLine/program";
import { todaysWords } from "./earlierWords";
import { serving } from "./servingCommand";
import { keyReference } from "./stack/keyReference";

void runProgram("serving", serving, todaysWords(process.argv.slice(2)), keyReference);
