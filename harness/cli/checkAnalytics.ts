import { Command } from "commander";
import { type Format, formatOption } from "../../commandLine/output";
import { readJsonFile } from "../../faults/jsonDocument";
import { configureAnalytics, shownDocument } from "../analytics/configuration";
import { readDotenv } from "../analytics/dotenv";
import { checkResult, reportCheck, reportUnreadable } from "./checkResult";
import { type HarnessOptions, prefixOption } from "./harnessOptions";

/** `serving config check analytics FILE [--dotenv FILE]`. */
export function checkAnalyticsCommand(): Command {
  return new Command("analytics")
    .description("check a session-analytics file, and the variables that lie over it")
    .argument("<file>", "the file, such as ~/.hx/session-analytics.json")
    .option("--dotenv <file>", "a .env file whose variables are checked, too")
    .addOption(prefixOption())
    .addOption(formatOption())
    .addHelpText(
      "after",
      "\nExample:\n  serving config check analytics ~/.hx/session-analytics.json --dotenv .env",
    )
    .action((file: string, options: Pick<HarnessOptions, "prefix"> & { dotenv?: string; format: Format }) =>
      reportUnreadable(options.format, file, async () => {
        const configuration = configureAnalytics({
          prefix: options.prefix,
          document: readJsonFile(file),
          dotenv:
            options.dotenv === undefined
              ? undefined
              : { file: options.dotenv, variables: readDotenv(options.dotenv) },
          environment: process.env,
          settings: [],
        });
        reportCheck(options.format, file, checkResult(configuration.faults, shownDocument(configuration)));
      }),
    );
}
