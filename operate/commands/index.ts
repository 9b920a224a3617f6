import type { Command } from "commander";
import { configCommand } from "./config";

/** Every command of `serving`, in the order in which `--help` lists them. */
export function commands(): Command[] {
  return [configCommand()];
}
