import { Command } from "commander";
import { EXIT } from "../../commandLine/exit";
import { type Format, formatOption, printResult, say } from "../../commandLine/output";
import { hasErrors } from "../../faults/fault";
import { configureAnalytics, shownValues } from "../analytics/configuration";
import { type AnalyticsOptions, collect, readAnalyticsSources } from "./analyticsSources";
import { issueLines } from "./checkResult";
import { homeOption, prefixOption } from "./harnessOptions";

/** `serving config show analytics`: effective values and the layer that each came from. */
export function showAnalyticsCommand(): Command {
  return new Command("analytics")
    .description("show every effective value and its layer: default < file < dotenv < env < cli")
    .option(
      "--config <file>",
      "the session-analytics file (default: the one in the harness's folder, if any)",
    )
    .option("--dotenv <file>", "the .env file (default: the one at the repository's root, if any)")
    .option("--set <key=value>", "an argument's value for a key that has a variable; repeatable", collect)
    .addOption(prefixOption())
    .addOption(homeOption())
    .addOption(formatOption())
    .addHelpText(
      "after",
      "\nExample:\n  serving config show analytics --set embedding.workers=2 --format json",
    )
    .action((options: AnalyticsOptions & { format: Format }) => {
      const sources = readAnalyticsSources(options);
      const configuration = configureAnalytics(sources);
      const values = shownValues(configuration);
      const issues = configuration.faults;
      for (const line of issueLines(issues, sources.document?.file ?? "settings")) say(line);
      process.exitCode = hasErrors(issues) ? EXIT.faults : EXIT.fine;
      // Whoever asks with a wrong argument does not want the answer without it.
      if (options.format === "text" && configuration.wrongArguments) return;
      printResult(options.format, { values, issues }, () =>
        table(
          Object.entries(values).map(([name, { value, layer }]) => [
            name,
            typeof value === "string" ? value : JSON.stringify(value),
            layer,
          ]),
        ),
      );
    });
}

function table(rows: readonly (readonly string[])[]): string {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const widths = [width(0), width(2)] as const;
  return rows
    .map(([name = "", value = "", layer = ""]) =>
      `${name.padEnd(widths[0])}  ${layer.padEnd(widths[1])}  ${value}`.trimEnd(),
    )
    .join("\n");
}
