import type { Command } from "commander";

/** Every command of `serving`, in the order in which `--help` lists them. */
export function commands(): Command[] {
  return [];
}
