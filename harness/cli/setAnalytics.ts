import { existsSync } from "node:fs";
import { Command } from "commander";
import { EXIT } from "../../commandLine/exit";
import { type Format, formatOption, printResult } from "../../commandLine/output";
import { type Fault, UnreadableInput } from "../../faults/fault";
import { readJsonFile } from "../../faults/jsonDocument";
import { renderDocument, setKey } from "../analytics/setKey";
import { replaceFile } from "../files/replaceFile";
import { harnessFile } from "../harness";
import { issueLines } from "./checkResult";
import { type HarnessOptions, homeOption, prefixOption } from "./harnessOptions";

type Options = HarnessOptions & { config?: string; format: Format };

/** `serving config set analytics KEY VALUE`: writes one key of the session-analytics file. */
export function setAnalyticsCommand(): Command {
  return new Command("analytics")
    .description("set one key of the session-analytics file, in one step; never a secret")
    .argument("<key>", "the dotted key, such as embedding.workers")
    .argument("<value>", "its value; a list has commas between its items, or is a JSON array")
    .option(
      "--config <file>",
      "the file (default: the one in the harness's folder); it is made where there is none",
    )
    .addOption(prefixOption())
    .addOption(homeOption())
    .addOption(formatOption())
    .addHelpText("after", "\nExample:\n  serving config set analytics judge.default.model qwen3-coder-next")
    .action((key: string, value: string, options: Options) => {
      const file = options.config ?? harnessFile(options.home, "analytics");
      const result = setKey(readDocument(file), key, value, options.prefix);
      if ("fault" in result) return report(options.format, file, key, false, [result.fault]);
      replaceFile(file, renderDocument(result.document));
      report(options.format, file, key, true, []);
    });
}

function readDocument(file: string): Record<string, unknown> {
  if (!existsSync(file)) return {};
  const { value, duplicates } = readJsonFile(file);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UnreadableInput(file, "holds no JSON object");
  const [twice] = duplicates;
  // Writing the file would silently drop one of the two.
  if (twice !== undefined)
    throw new UnreadableInput(file, "gives a key twice; take one away first", twice.place);
  return value as Record<string, unknown>;
}

function report(format: Format, file: string, key: string, written: boolean, issues: readonly Fault[]): void {
  printResult(format, { written, file, key, issues }, () =>
    written ? `${file}: ${key} is set` : [...issueLines(issues, file), `${file} is unchanged`].join("\n"),
  );
  process.exitCode = written ? EXIT.fine : EXIT.faults;
}
