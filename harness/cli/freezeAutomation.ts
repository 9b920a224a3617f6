import { Command } from "commander";
import { EXIT, explainWriting } from "../../commandLine/exit";
import { endingInOrder } from "../../commandLine/interrupt";
import { type Format, formatOption, printResult } from "../../commandLine/output";
import { FaultyInput } from "../../faults/fault";
import { commandEnvironment } from "../app/commandEnvironment";
import { checkAutomation } from "../automation/checkAutomation";
import { type Freezing, freezeContract } from "../gates/freezeContract";
import { type AutomationOptions, automationFiles, withAutomationOptions } from "./automationOptions";
import { ledgerOf, ledgerOption } from "./contractOptions";

type FreezeOptions = AutomationOptions & { ledger?: string; out: string; base: string; format: Format };

/** `serving config freeze automation FILE --out FILE`: the resolved contract, written once. */
export function freezeAutomationCommand(): Command {
  const command = new Command("automation")
    .description(
      "resolve an automation config and write the contract, once; every later gate reads that file",
    )
    .argument("<file>", "the automation config")
    .requiredOption("--out <file>", "where the contract goes; an existing file is never replaced")
    .option("--base <ref>", "commit whose coverage is captured when the baseline is `admission`", "HEAD")
    .addOption(ledgerOption());
  return withAutomationOptions(command)
    .addOption(formatOption())
    .addHelpText(
      "after",
      "\nExample:\n  serving config freeze automation automation.yaml --out contract.json --base main",
    )
    .action(async (file: string, options: FreezeOptions) => {
      const check = checkAutomation(automationFiles(file, options), process.env, options.prefix);
      if (check.resolved === null) {
        if (options.format === "json") printResult("json", { frozen: false, ...check }, () => "");
        throw new FaultyInput(file, check.issues);
      }
      const { resolved } = check;
      const result = await endingInOrder((interrupt) =>
        freezeContract(resolved, {
          file: options.out,
          base: options.base,
          root: options.project,
          env: commandEnvironment(process.env),
          openLedger: () => ledgerOf(options),
          interrupt,
        }),
      ).catch((error: unknown) => explainWriting(options.out, error));
      printResult(options.format, { frozen: !("fault" in result), ...result }, () => text(result));
      process.exitCode = "fault" in result ? EXIT.faults : EXIT.fine;
    });
}

function text(result: Freezing): string {
  return "fault" in result ? `refused: ${result.fault}` : `${result.file}: frozen, sha256 ${result.sha256}`;
}
