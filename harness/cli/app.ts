import { Command } from "commander";
import { EXIT, WrongUse } from "../../commandLine/exit";
import { endingInOrder } from "../../commandLine/interrupt";
import { type Format, formatOption, printResult } from "../../commandLine/output";
import { failureOf, runBounded } from "../app/boundedCommand";
import { commandEnvironment } from "../app/commandEnvironment";
import { type AppRun, withApp } from "../app/lifecycle";
import { CommandNotStarted, type JobEnd } from "../app/supervisor";
import { type ContractOptions, ledgerOf, readContract, withContractOptions } from "./contractOptions";

/** `serving app`: the application under test, from launch to stop. */
export function appCommand(): Command {
  return new Command("app")
    .description("start, use and stop the application under test")
    .addHelpText("after", "\nExample:\n  serving app run --config automation.yaml -- ./evaluate.sh")
    .addCommand(runCommand());
}

function runCommand(): Command {
  const command = new Command("run")
    .description(
      "start the app, wait until it is ready, run an evaluator against it, and stop the app whatever happens. The evaluator finds the app's address in HX_APP_URL (with --prefix P: P + APP_URL) and is bounded by verification.conformance.timeout_sec where that is set",
    )
    .argument("<evaluator...>", "the evaluator's command and its arguments, after --");
  return withContractOptions(command)
    .addOption(formatOption())
    .addHelpText(
      "after",
      "\nEvery process that carries the run's mark (LOCAL_SERVING_JOB in its environment) is ended with it, also outside\nthe app's process group. What must outlive the run is started without that variable.\n\nExample:\n  serving app run --config automation.yaml -- ./evaluate.sh --strict",
    )
    .action(async (evaluator: string[], options: ContractOptions & { format: Format }) => {
      const { contract } = readContract(options);
      const { app, conformance } = contract.verification;
      if (app === undefined) throw new WrongUse("the config declares no app (verification.app)");
      const ledger = await ledgerOf(options);
      const env = commandEnvironment(process.env);
      const run = await endingInOrder((interrupt) =>
        withApp<JobEnd | CommandNotStarted>(
          { app, project: options.project, env, ledger, interrupt },
          (address, signal) =>
            runBounded({
              argv: evaluator,
              cwd: process.cwd(),
              env: { ...env, [`${options.prefix}APP_URL`]: address },
              // With --format json our stdout is one document, so the evaluator's goes where its errors go.
              streams: {
                stdout: options.format === "json" ? 2 : 1,
                stderr: 2,
                // A process group in the background must not read from a terminal.
                ...(process.stdin.isTTY ? {} : { stdin: 0 }),
              },
              ...(conformance === undefined ? {} : { timeoutSec: conformance.timeout_sec }),
              jobs: ledger.jobs,
              interrupt: signal,
            }).catch((error: unknown) => {
              if (error instanceof CommandNotStarted) return error;
              throw error;
            }),
        ),
      );
      const report = reportOf(run, conformance?.timeout_sec);
      ledger.record({ ...report, event: "app run", argv: evaluator });
      printResult(options.format, { ...report, ledger: ledger.directory }, () =>
        text(report, ledger.directory),
      );
      process.exitCode = report.verdict === "pass" ? EXIT.fine : EXIT.faults;
    });
}

interface Report extends Omit<AppRun<unknown>, "result"> {
  readonly verdict: "pass" | "fail";
  /** `null` when the evaluator never ran to its end. */
  readonly evaluator: JobEnd | null;
}

function reportOf(run: AppRun<JobEnd | CommandNotStarted>, timeoutSec: number | undefined): Report {
  const { result, ...app } = run;
  const evaluator = result === undefined || result instanceof Error ? null : result;
  const failure = run.failure ?? evaluatorFailure(result, timeoutSec);
  return {
    ...app,
    verdict: failure === undefined ? "pass" : "fail",
    ...(failure === undefined ? {} : { failure }),
    evaluator,
  };
}

function evaluatorFailure(
  result: JobEnd | CommandNotStarted | undefined,
  timeoutSec: number | undefined,
): string | undefined {
  if (result === undefined) return "the evaluator did not run";
  if (result instanceof CommandNotStarted) return `the evaluator could not be started: ${result.message}`;
  const failure = failureOf(result, timeoutSec);
  return failure === undefined ? undefined : `the evaluator ${failure}`;
}

function text(report: Report, ledger: string): string {
  const states = report.states.map(({ state, because }) => `${state}: ${because}`);
  const verdict = report.failure === undefined ? "pass" : `fail: ${report.failure}`;
  return [...states, verdict, `ledger: ${ledger}`].join("\n");
}
