import { Command } from "commander";
import { type Format, formatOption } from "../../commandLine/output";
import { checkAutomation } from "../automation/checkAutomation";
import { type AutomationOptions, automationFiles, withAutomationOptions } from "./automationOptions";
import { reportCheck, reportUnreadable } from "./checkResult";

/** `serving config check automation FILE`: every fault of an automation config, and its resolved contract. */
export function checkAutomationCommand(): Command {
  const command = new Command("automation")
    .description("check an automation config (YAML or JSON) and show what it resolves to")
    .argument("<file>", "the automation config");
  return withAutomationOptions(command)
    .addOption(formatOption())
    .addHelpText(
      "after",
      "\nExample:\n  serving config check automation automation.yaml --mapping verification.yaml",
    )
    .action((file: string, options: AutomationOptions & { format: Format }) =>
      reportUnreadable(options.format, file, async () => {
        const check = checkAutomation(automationFiles(file, options), process.env, options.prefix);
        reportCheck(options.format, file, check);
      }),
    );
}
