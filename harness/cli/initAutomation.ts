import { Command } from "commander";
import { type Format, formatOption } from "../../commandLine/output";
import { AUTOMATION_TEMPLATE } from "../automation/template";
import { writeTemplate } from "./writeTemplate";

/** `serving config init automation [FILE]`: a commented template; an existing file is never replaced. */
export function initAutomationCommand(): Command {
  return new Command("automation")
    .description("write a commented automation config to start from; an existing file stays as it is")
    .argument("[file]", "where to write it", "automation.yaml")
    .addOption(formatOption())
    .addHelpText("after", "\nExample:\n  serving config init automation automation.yaml")
    .action((file: string, options: { format: Format }) =>
      writeTemplate(options.format, file, AUTOMATION_TEMPLATE),
    );
}
