import { command, commandGroup } from "@local-serving/base/commandLine/command";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { type Format, say } from "@local-serving/base/commandLine/output";
import { defined } from "@local-serving/base/faults/defined";
import { Argument, type Command } from "commander";
import { type AppSetting, type AppUser, type StateChange, withApp } from "../app/lifecycle";
import { failureOf, runBounded } from "../app/supervisor";
import { type ContractOptions, contractOptions, readContract, withLedger } from "./options";

/** `serving harness app`: the application under test, from launch to stop. */
export function appCommand(): Command {
  const form = {
    name: "app",
    description: "Start, use and stop the application under test.",
    example: "harness app run --config automation.yaml -- ./evaluate.sh",
  };
  return commandGroup(form, [runCommand()]);
}

function runCommand(): Command {
  return command({
    name: "run",
    description:
      "Start the app, wait until it is ready, run an evaluator against it, and always stop the app. The evaluator finds the app's address in HX_APP_URL (with --prefix P: P + APP_URL). verification.conformance.timeout_sec bounds it if set.",
    arguments: [
      new Argument("<evaluator...>", "the evaluator's command and its arguments, after --"),
    ],
    options: contractOptions(),
    notes:
      "Every process that carries the run's mark (LOCAL_SERVING_JOB in its environment) ends with it, inside the app's\nprocess group or not. Start what must outlive the run without that variable.",
    example: "harness app run --config automation.yaml -- ./evaluate.sh --strict",
    run: evaluated,
  });
}

/** Starts the app, runs the evaluator against it, and says how both ended. */
async function evaluated(
  options: ContractOptions & { readonly format: Format },
  evaluator: string[],
) {
  const { contract } = readContract(options);
  const { app, conformance } = contract.verification;
  if (app === undefined) throw new WrongUse("the config declares no app (verification.app)");
  const timeoutSec = conformance?.timeout_sec;
  const isLive = process.stderr.isTTY === true;
  const shown = isLive ? { onState: (change: StateChange) => say(stateText(change)) } : {};
  const { ledger, result: used } = await withLedger(options, (setting) =>
    untilStopped({ app, project: options.project, ...setting, ...shown }, (address, interrupt) =>
      runBounded({
        argv: evaluator,
        cwd: process.cwd(),
        env: { ...setting.env, [`${options.prefix}APP_URL`]: address },
        streams: streamsFor(options.format),
        ...defined({ timeoutSec }),
        jobs: setting.ledger.jobs,
        interrupt,
      }),
    ),
  );
  const { result, ...run } = used;
  const ended = result && failureOf(result, timeoutSec);
  const unmet =
    result === undefined ? "the evaluator did not run" : ended && `the evaluator ${ended}`;
  const failure = run.failure ?? unmet;
  const verdict = failure === undefined ? "pass" : "fail";
  const report = {
    ...run,
    verdict,
    ...defined({ failure }),
    evaluator: result?.notStarted === undefined ? (result ?? null) : null,
  };
  ledger.record({ ...report, event: "app run", argv: evaluator });
  const states = isLive ? [] : run.states.map(stateText);
  const end = failure === undefined ? verdict : `${verdict}: ${failure}`;
  return {
    result: { ...report, ledger: ledger.directory },
    text: [...states, end, `ledger: ${ledger.directory}`].join("\n"),
    failed: verdict === "fail",
  };
}

const stateText = ({ state, because }: StateChange): string => `${state}: ${because}`;

/** Uses the app; of an interruption it says what became of the app, since no result is printed. */
async function untilStopped<Result>(setting: AppSetting, use: AppUser<Result>) {
  const run = await withApp(setting, use);
  if (setting.interrupt.aborted)
    say(
      run.endedBy === undefined
        ? "interrupted; the app wasn't started"
        : "interrupted; app stopped",
    );
  return run;
}

/** Where the evaluator reads and writes. */
const streamsFor = (format: Format) => ({
  // With --format json our stdout is one document, so the evaluator's output goes to stderr.
  stdout: format === "json" ? 2 : 1,
  stderr: 2,
  // A process group in the background must not read from a terminal.
  ...(process.stdin.isTTY ? {} : { stdin: 0 }),
});
