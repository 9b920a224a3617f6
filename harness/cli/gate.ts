import { Command } from "commander";
import { EXIT, WrongUse } from "../../commandLine/exit";
import { endingInOrder } from "../../commandLine/interrupt";
import { type Format, formatOption, printResult } from "../../commandLine/output";
import { FaultyInput, faultLine } from "../../faults/fault";
import { commandEnvironment } from "../app/commandEnvironment";
import type { GateResult } from "../gates/coverageGate";
import { coverageGate } from "../gates/coverageGate";
import { visualGate } from "../gates/visualGate";
import { type ContractOptions, ledgerOf, readContract, withContractOptions } from "./contractOptions";

type GateOptions = ContractOptions & { format: Format };

/** `serving gate`: what a change must pass before it lands. */
export function gateCommand(): Command {
  return new Command("gate")
    .description("run a gate of an automation contract")
    .addHelpText("after", "\nExample:\n  serving gate coverage --contract contract.json")
    .addCommand(coverageCommand())
    .addCommand(visualCommand());
}

function coverageCommand(): Command {
  const command = new Command("coverage").description(
    "run the coverage command in the project and judge what it reports by the contract's floors and baseline",
  );
  return withContractOptions(command)
    .addOption(formatOption())
    .addHelpText("after", "\nExample:\n  serving gate coverage --contract contract.json")
    .action(async (options: GateOptions) => {
      const { contract, baseline } = contractOf("coverage", options);
      const { coverage } = contract.verification;
      if (coverage === undefined) throw new WrongUse("the contract has no coverage (verification.coverage)");
      const setting = {
        coverage,
        root: options.project,
        env: commandEnvironment(process.env),
        ledger: await ledgerOf(options),
      };
      const result = await endingInOrder((interrupt) => coverageGate({ ...setting, interrupt }, baseline));
      finish("coverage", result, options, setting.ledger.directory);
    });
}

function visualCommand(): Command {
  const command = new Command("visual").description(
    "start the app, run the UI check in a throwaway checkout of HEAD, and judge its result. The check finds the browser's address in HX_VISUAL_URL and the app's in HX_APP_URL (with --prefix P: P + VISUAL_URL, P + APP_URL)",
  );
  return withContractOptions(command)
    .addOption(formatOption())
    .addHelpText("after", "\nExample:\n  serving gate visual --config automation.yaml --project .")
    .action(async (options: GateOptions) => {
      const { visual, app } = contractOf("visual", options).contract.verification;
      if (visual === undefined) throw new WrongUse("the contract has no visual check (verification.visual)");
      if (app === undefined) throw new WrongUse("the contract has no app (verification.app)");
      const { project, prefix } = options;
      const ledger = await ledgerOf(options);
      const env = commandEnvironment(process.env);
      const result = await endingInOrder((interrupt) =>
        visualGate({ visual, app, project, env, prefix, ledger, interrupt }),
      );
      finish("visual", result, options, ledger.directory);
    });
}

/** The contract to judge by. A faulty config fails the gate, and with `--format json` a script finds that on stdout. */
function contractOf(gate: string, options: GateOptions): ReturnType<typeof readContract> {
  try {
    return readContract(options);
  } catch (error) {
    if (error instanceof FaultyInput && options.format === "json") {
      const failures = error.faults.map((fault) => faultLine(fault, error.input));
      printResult("json", { gate, verdict: "fail", failures, issues: error.faults }, () => "");
    }
    throw error;
  }
}

function finish(gate: string, result: GateResult, options: GateOptions, ledger: string): void {
  printResult(options.format, { gate, ...result, ledger }, () =>
    [
      `${gate} gate: ${result.verdict}`,
      ...result.failures.map((failure) => `  ${failure}`),
      `ledger: ${ledger}`,
    ].join("\n"),
  );
  process.exitCode = result.verdict === "pass" ? EXIT.fine : EXIT.faults;
}
