import type { Command } from "commander";
import { appCommand } from "./app";
import { configCommand } from "./config";
import { doctorCommand } from "./doctor";
import { gateCommand } from "./gate";
import { inventoryCommand } from "./inventory";
import { kvCommand } from "./kv";
import { pinCommand } from "./pin";
import { planCommand } from "./plan";

/** Every command of `serving`, in the order in which `--help` lists them. */
export function commands(): Command[] {
  return [
    planCommand(),
    kvCommand(),
    pinCommand(),
    doctorCommand(),
    inventoryCommand(),
    configCommand(),
    appCommand(),
    gateCommand(),
  ];
}
