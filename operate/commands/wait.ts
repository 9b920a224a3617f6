import { Command } from "commander";
import type { InferenceServerPlan, MachinePlan } from "../../components/plan/types";
import { EXIT, WrongUse } from "../exit";
import { wholeNumber } from "../numberArgument";
import { type Format, formatOption, printResult } from "../output";
import { plannedStack } from "../plannedStack";
import { type StackFileOptions, withStackFile } from "../stackFile";
import type { WaitResult } from "../wait/waitForStart";

interface WaitCommandOptions extends StackFileOptions {
  readonly format: Format;
  readonly server?: string;
  readonly timeout: number;
}

/** As long as vLLM itself waits for its engine (VLLM_ENGINE_READY_TIMEOUT_S of the plan). */
const START_SECONDS = 3600;

/** A look at a container costs the daemon a few milliseconds. */
const INTERVAL_MILLISECONDS = 2000;

const HEALTH_SECONDS = 5;

/** `serving wait`: follows the start of the inference servers until they answer. */
export function waitCommand(): Command {
  return withStackFile(new Command("wait"))
    .description("Follow the start of the inference servers until they are ready, or say why one died.")
    .option("--server <key>", "wait for this entry of inferenceServers alone")
    .option("--timeout <seconds>", "longest wait", wholeNumber(1), START_SECONDS)
    .addOption(formatOption())
    .addHelpText(
      "after",
      "\nThe containers are only looked at. Exit code 1 when one died or was not ready in time.\n\nExample:\n  serving wait && serving verify",
    )
    .action(async (options: WaitCommandOptions) => {
      const planned = plannedStack(options);
      const servers = planned.machines.flatMap((machine) =>
        machine.inferenceServers
          .filter(({ key }) => options.server === undefined || key === options.server)
          .map((server) => ({ machine, server })),
      );
      if (servers.length === 0) throw noServer(planned.machines, options.server);
      const results: WaitResult[] = [];
      const deadline = performance.now() + options.timeout * 1000;
      for (const { machine, server } of servers) {
        const left = Math.max(1, Math.round((deadline - performance.now()) / 1000));
        const result = await waitFor(machine, server, left);
        results.push(result);
        if (result.outcome !== "ready") break;
      }
      printResult(options.format, { servers: results }, () => results.map(text).join("\n"));
      if (results.some(({ outcome }) => outcome !== "ready")) process.exitCode = EXIT.faults;
    });
}

async function waitFor(
  machine: MachinePlan,
  { container }: InferenceServerPlan,
  timeoutSeconds: number,
): Promise<WaitResult> {
  // Loaded when it is used: other commands start faster without it.
  const { dockerReader } = await import("../wait/container");
  const { waitProgress } = await import("../wait/progress");
  const { waitForStart } = await import("../wait/waitForStart");
  const { ask } = await import("../verify/http");
  const { originOf } = await import("../verify/reach");
  const port = container.ports[0];
  const origin = port === undefined ? undefined : originOf(machine, port.ip, port.host);
  return waitForStart({
    container: container.name,
    image: container.image,
    reader: dockerReader(machine.dockerHost),
    healthy: async () => {
      if (origin === undefined || !("url" in origin)) return "unknown";
      const answer = await ask(`${origin.url}/health`, { timeoutSeconds: HEALTH_SECONDS }).catch(
        () => undefined,
      );
      return answer?.status === 200;
    },
    timeoutSeconds,
    intervalMilliseconds: INTERVAL_MILLISECONDS,
    progress: waitProgress(process.stderr, container.name),
  });
}

function noServer(machines: readonly MachinePlan[], key: string | undefined): WrongUse {
  const keys = machines.flatMap((machine) => machine.inferenceServers.map((server) => server.key));
  return new WrongUse(
    key === undefined
      ? "The stack file has no inferenceServers to wait for."
      : `--server ${key}: no such entry of inferenceServers; there are: ${keys.join(", ") || "none"}.`,
  );
}

function text({ container, outcome, seconds, reason, lastLines }: WaitResult): string {
  if (outcome === "ready") return `${container} is ready (${Math.round(seconds)} s).`;
  return [
    `${container}: ${reason}`,
    ...(lastLines.length === 0 ? [] : ["The end of its log:", ...lastLines.map((line) => `  ${line}`)]),
    outcome === "died"
      ? "Next: serving doctor"
      : "Next: docker logs it; a first start may take longer than this wait (--timeout), and is best left alone.",
  ].join("\n");
}
