import type { Fault, FaultMaker } from "@local-serving/base/faults/fault";
import type { ConfigView } from "./ruleContext";

/** Every key whose text a shell is given. */
const COMMANDS = [
  ["verification", "coverage", "command"],
  ["verification", "app", "command"],
  ["verification", "app", "ready", "command"],
  ["verification", "visual", "command"],
] as const;

/** Faults of commands that no shell could be started with. */
export const commandFaults = (config: ConfigView, at: FaultMaker): Fault[] =>
  COMMANDS.filter((path) => config.text(path)?.includes("\0") === true).map((path) =>
    at.error(path, "wrong_form", "A command can't hold a NUL character. Remove it."),
  );
