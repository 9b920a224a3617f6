import type { Command } from "commander";
import { configCommand } from "./config";
import { kvCommand } from "./kv";
import { pinCommand } from "./pin";
import { planCommand } from "./plan";

/** Every command of `serving`, in the order in which `--help` lists them. */
export function commands(): Command[] {
  return [planCommand(), kvCommand(), pinCommand(), configCommand()];
}
