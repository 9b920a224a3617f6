import { Command } from "commander";
import { checkAnalyticsCommand } from "./checkAnalytics";
import { checkProvidersCommand } from "./checkProviders";
import { initAnalyticsCommand } from "./initAnalytics";
import { initProvidersCommand } from "./initProviders";
import { referenceCommand } from "./reference";
import { setAnalyticsCommand } from "./setAnalytics";
import { showAnalyticsCommand } from "./showAnalytics";

/** `serving config`: the files by which an automation harness is told what to do. */
export function configCommand(): Command {
  return new Command("config")
    .description("check, show, write and freeze the harness's configuration")
    .addCommand(
      group("check", "check a file and list every fault", [checkProvidersCommand(), checkAnalyticsCommand()]),
    )
    .addCommand(group("show", "show effective values and where they come from", [showAnalyticsCommand()]))
    .addCommand(group("set", "write one key of a file", [setAnalyticsCommand()]))
    .addCommand(group("init", "write a commented template", [initProvidersCommand(), initAnalyticsCommand()]))
    .addCommand(referenceCommand());
}

function group(name: string, description: string, commands: readonly Command[]): Command {
  return commands.reduce(
    (parent, command) => parent.addCommand(command),
    new Command(name).description(description),
  );
}
