import { command } from "@local-serving/base/commandLine/command";
import { explainWriting } from "@local-serving/base/commandLine/exit";
import { endingInOrder } from "@local-serving/base/commandLine/interrupt";
import { FaultyInput } from "@local-serving/base/faults/fault";
import { Argument, type Command, Option } from "commander";
import { commandEnvironment } from "../app/commandEnvironment";
import { checkAutomation } from "../automation/checkAutomation";
import { contractLines, uncheckedText } from "../automation/contractText";
import { reviewOverride } from "../automation/resolve";
import { freezeContract } from "../gates/freezeContract";
import { checked, checkOutcome } from "./checkResult";
import {
  type AutomationOptions,
  automationFiles,
  automationOptions,
  ledgerOf,
  ledgerOption,
} from "./options";

const FILE = new Argument("<file>", "the automation config");

export function checkAutomationCommand(): Command {
  return command({
    name: "automation",
    description: "Check an automation config (YAML or JSON) and show what it resolves to.",
    arguments: [FILE],
    options: automationOptions(),
    example: "harness check automation automation.yaml --mapping verification.yaml",
    run: (options: AutomationOptions, file: string) =>
      checked(
        file,
        () => {
          const check = checkAutomation(
            automationFiles(file, options),
            process.env,
            options.prefix,
          );
          if (check.resolved === null) return checkOutcome(file, check);
          const override = reviewOverride(process.env, options.prefix);
          return checkOutcome(file, check, {
            lines: contractLines(check.resolved, override),
            end: uncheckedText(check.resolved, options),
          });
        },
        ". `serving harness init automation` writes one",
      ),
  });
}

type FreezeOptions = AutomationOptions & {
  readonly ledger?: string;
  readonly out: string;
  readonly base: string;
};

export function freezeAutomationCommand(): Command {
  return command({
    name: "automation",
    description:
      "Resolve an automation config and write the contract, once; every later gate reads that file.",
    arguments: [FILE],
    options: [
      new Option(
        "--out <file>",
        "where the contract goes; an existing file is never replaced",
      ).makeOptionMandatory(),
      new Option(
        "--base <ref>",
        "commit whose coverage is captured when the baseline is `admission`",
      ).default("HEAD"),
      ledgerOption(),
      ...automationOptions(),
    ],
    example: "harness freeze automation automation.yaml --out contract.json --base main",
    refused: ({ faults }) => ({ frozen: false, valid: false, issues: faults, resolved: null }),
    run: async (options: FreezeOptions, file: string) => {
      const { resolved, issues } = checkAutomation(
        automationFiles(file, options),
        process.env,
        options.prefix,
      );
      if (resolved === null) throw new FaultyInput(file, issues);
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
      const failed = "fault" in result;
      return {
        result: { frozen: !failed, ...result },
        text: failed
          ? `refused: ${result.fault}`
          : `${result.file}: frozen, sha256 ${result.sha256}`,
        failed,
      };
    },
  });
}
