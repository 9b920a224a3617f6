import { Command } from "commander";
import { type Format, formatOption } from "../../commandLine/output";
import { analyticsTemplate } from "../analytics/template";
import { harnessFile } from "../harness";
import { type HarnessOptions, homeOption, prefixOption } from "./harnessOptions";
import { writeTemplate } from "./writeTemplate";

/** `serving config init analytics [FILE]`. */
export function initAnalyticsCommand(): Command {
  return new Command("analytics")
    .description("write a session-analytics file to start from, where there is none yet")
    .argument("[file]", "the file (default: the one in the harness's folder)")
    .addOption(prefixOption())
    .addOption(homeOption())
    .addOption(formatOption())
    .addHelpText("after", "\nExample:\n  serving config init analytics")
    .action((file: string | undefined, options: HarnessOptions & { format: Format }) =>
      writeTemplate(
        options.format,
        file ?? harnessFile(options.home, "analytics"),
        analyticsTemplate(options.prefix),
      ),
    );
}
