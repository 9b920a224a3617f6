import type { Command } from "commander";
import { appCommand } from "./app";
import { configCommand } from "./config";
import { doctorCommand } from "./doctor";
import { gateCommand } from "./gate";
import { inventoryCommand } from "./inventory";
import { kvCommand } from "./kv";
import { pinCommand } from "./pin";
import { planCommand } from "./plan";
import { verifyCommand } from "./verify";
import { waitCommand } from "./wait";

/** Every command of `serving`, in the order in which `--help` lists them. */
export function commands(): Command[] {
  return [
    planCommand(),
    kvCommand(),
    waitCommand(),
    verifyCommand(),
    doctorCommand(),
    pinCommand(),
    inventoryCommand(),
    configCommand(),
    appCommand(),
    gateCommand(),
  ];
}
