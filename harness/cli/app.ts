import { Argument, type Command } from "commander";
import { command, commandGroup } from "../../commandLine/command";
import { WrongUse } from "../../commandLine/exit";
import { endingInOrder } from "../../commandLine/interrupt";
import type { Format } from "../../commandLine/output";
import { defined } from "../../faults/defined";
import { failureOf, runBounded } from "../app/boundedCommand";
import { commandEnvironment } from "../app/commandEnvironment";
import { type AppRun, withApp } from "../app/lifecycle";
import { CommandNotStarted, type JobEnd } from "../app/supervisor";
import { type ContractOptions, contractOptions, ledgerOf, readContract } from "./contract";

/** `serving app`: the application under test, from launch to stop. */
export function appCommand(): Command {
  const form = {
    name: "app",
    description: "Start, use and stop the application under test.",
    example: "app run --config automation.yaml -- ./evaluate.sh",
  };
  return commandGroup(form, [runCommand()]);
}

function runCommand(): Command {
  return command({
    name: "run",
    description:
      "Start the app, wait until it is ready, run an evaluator against it, and always stop the app. The evaluator finds the app's address in HX_APP_URL (with --prefix P: P + APP_URL). verification.conformance.timeout_sec bounds it if set.",
    arguments: [new Argument("<evaluator...>", "the evaluator's command and its arguments, after --")],
    options: contractOptions(),
    notes:
      "Every process that carries the run's mark (LOCAL_SERVING_JOB in its environment) ends with it, inside the app's\nprocess group or not. Start what must outlive the run without that variable.",
    example: "app run --config automation.yaml -- ./evaluate.sh --strict",
    run: async (options: ContractOptions & { readonly format: Format }, evaluator: string[]) => {
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
              streams: {
                // With --format json our stdout is one document, so the evaluator's output goes to stderr.
                stdout: options.format === "json" ? 2 : 1,
                stderr: 2,
                // A process group in the background must not read from a terminal.
                ...(process.stdin.isTTY ? {} : { stdin: 0 }),
              },
              ...defined({ timeoutSec: conformance?.timeout_sec }),
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
      return {
        result: { ...report, ledger: ledger.directory },
        text: textOf(report, ledger.directory),
        failed: report.verdict === "fail",
      };
    },
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
  return { ...app, verdict: failure === undefined ? "pass" : "fail", ...defined({ failure }), evaluator };
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

function textOf(report: Report, ledger: string): string {
  const states = report.states.map(({ state, because }) => `${state}: ${because}`);
  const verdict = report.failure === undefined ? "pass" : `fail: ${report.failure}`;
  return [...states, verdict, `ledger: ${ledger}`].join("\n");
}
