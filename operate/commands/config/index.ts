import { Command } from "commander";
import { checkAnalyticsCommand } from "./checkAnalytics";
import { checkAutomationCommand } from "./checkAutomation";
import { checkProvidersCommand } from "./checkProviders";
import { freezeAutomationCommand } from "./freezeAutomation";
import { initAnalyticsCommand } from "./initAnalytics";
import { initAutomationCommand } from "./initAutomation";
import { initProvidersCommand } from "./initProviders";
import { referenceCommand } from "./reference";
import { setAnalyticsCommand } from "./setAnalytics";
import { showAnalyticsCommand } from "./showAnalytics";

/** `serving config`: the files by which an automation harness is told what to do. */
export function configCommand(): Command {
  return new Command("config")
    .description("check, show, write and freeze the harness's configuration")
    .addCommand(
      group("check", "check a file and list every fault", [
        checkAutomationCommand(),
        checkProvidersCommand(),
        checkAnalyticsCommand(),
      ]),
    )
    .addCommand(group("show", "show effective values and where they come from", [showAnalyticsCommand()]))
    .addCommand(group("set", "write one key of a file", [setAnalyticsCommand()]))
    .addCommand(
      group("init", "write a commented template", [
        initAutomationCommand(),
        initProvidersCommand(),
        initAnalyticsCommand(),
      ]),
    )
    .addCommand(group("freeze", "write a resolved contract, once", [freezeAutomationCommand()]))
    .addCommand(referenceCommand());
}

function group(name: string, description: string, commands: readonly Command[]): Command {
  return commands.reduce(
    (parent, command) => parent.addCommand(command),
    new Command(name).description(description),
  );
}
