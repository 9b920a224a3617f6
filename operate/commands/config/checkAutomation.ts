import { Command } from "commander";
import { faultLine, UnreadableInput } from "../../../faults/fault";
import { type AutomationCheck, checkAutomation } from "../../../harness/automation/checkAutomation";
import { EXIT } from "../../exit";
import { type Format, formatOption, printResult } from "../../output";
import { type AutomationOptions, automationFiles, withAutomationOptions } from "./automationOptions";

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
    .action((file: string, options: AutomationOptions & { format: Format }) => {
      const check = checkReadable(file, options);
      printResult(options.format, check.result, () => text(file, check.result));
      process.exitCode = check.exit;
    });
}

/** A file that can't be read is a result too, so that a script finds a document on stdout whatever happens. */
function checkReadable(file: string, options: AutomationOptions): { result: AutomationCheck; exit: number } {
  try {
    const result = checkAutomation(automationFiles(file, options), process.env, options.prefix);
    return { result, exit: result.valid ? EXIT.fine : EXIT.faults };
  } catch (error) {
    if (!(error instanceof UnreadableInput)) throw error;
    const { input, reason, place } = error;
    const issue = {
      path: "",
      code: "unreadable",
      message: reason,
      severity: "error",
      ...(input === file ? {} : { file: input }),
      ...place,
    } as const;
    return { result: { valid: false, issues: [issue], resolved: null }, exit: EXIT.wrongUse };
  }
}

function text(file: string, check: AutomationCheck): string {
  const lines = check.issues.map((issue) => `${issue.severity}: ${faultLine(issue, file)}`);
  if (check.valid) return [...lines, `${file}: valid`].join("\n");
  const count = check.issues.filter(({ severity }) => severity === "error").length;
  return [...lines, `${file}: ${count} ${count === 1 ? "fault" : "faults"}`].join("\n");
}
