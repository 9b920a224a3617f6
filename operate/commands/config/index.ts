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
    .addHelpText("after", "\nExample:\n  serving config check automation automation.yaml")
    .addCommand(
      group(
        "check",
        "check a file and list every fault",
        [checkAutomationCommand(), checkProvidersCommand(), checkAnalyticsCommand()],
        "automation automation.yaml",
      ),
    )
    .addCommand(
      group(
        "show",
        "show effective values and where they come from",
        [showAnalyticsCommand()],
        "analytics --format json",
      ),
    )
    .addCommand(
      group(
        "set",
        "write one key of a file",
        [setAnalyticsCommand()],
        "analytics judge.default.model qwen3-coder-next",
      ),
    )
    .addCommand(
      group(
        "init",
        "write a commented template",
        [initAutomationCommand(), initProvidersCommand(), initAnalyticsCommand()],
        "automation automation.yaml",
      ),
    )
    .addCommand(
      group(
        "freeze",
        "write a resolved contract, once",
        [freezeAutomationCommand()],
        "automation automation.yaml --out contract.json",
      ),
    )
    .addCommand(referenceCommand());
}

function group(name: string, description: string, commands: readonly Command[], example: string): Command {
  return commands.reduce(
    (parent, command) => parent.addCommand(command),
    new Command(name)
      .description(description)
      .addHelpText("after", `\nExample:\n  serving config ${name} ${example}`),
  );
}
