import { type Command, Option } from "commander";
import { command } from "../../commandLine/command";
import { Failed, WrongUse } from "../../commandLine/exit";
import { say } from "../../commandLine/output";
import { wholeNumber } from "../../commandLine/values";
import type { InferenceServerPlan } from "../../components/inference-server/plannedServer";
import type { MachinePlan } from "../../components/plan/types";
import type { DiagnosisReport } from "../doctor/report/diagnose";
import { plannedStack } from "../stack/readStack";
import { projectFolder, type StackFileOptions, stackFile, stackFileOptions, stackName } from "../stack/stackFile";
import { afterTimeout } from "../wait/phases";
import type { WaitResult } from "../wait/waitForStart";

interface WaitCommandOptions extends StackFileOptions {
  readonly server?: string;
  readonly timeout: number;
}

/** As long as vLLM itself waits for its engine (VLLM_ENGINE_READY_TIMEOUT_S of the plan). */
const START_SECONDS = 3600;

/** A look at a container costs the daemon a few milliseconds. */
const INTERVAL_MILLISECONDS = 2000;

const HEALTH_SECONDS = 5;

export function waitCommand(): Command {
  return command({
    name: "wait",
    description: "Follow the start of the inference servers until they are ready, or say why one died.",
    options: [
      ...stackFileOptions(),
      new Option("--server <key>", "wait only for this entry of inferenceServers"),
      new Option("--timeout <seconds>", "longest wait").argParser(wholeNumber(1)).default(START_SECONDS),
    ],
    notes: "It only looks at the containers. Exit code 1 when one died or was not ready in time.",
    example: "wait && serving verify",
    run: async (options: WaitCommandOptions) => {
      const planned = plannedStack(options);
      const servers = planned.machines.flatMap((machine) =>
        machine.inferenceServers
          .filter(({ key }) => options.server === undefined || key === options.server)
          .map((server) => ({ machine, server })),
      );
      if (servers.length === 0) throw noServer(planned.machines, options.server);
      await expectAnUp(options, servers);
      const results: WaitResult[] = [];
      const deadline = performance.now() + options.timeout * 1000;
      for (const { machine, server } of servers) {
        const left = Math.max(1, Math.round((deadline - performance.now()) / 1000));
        const result = await waitFor({ machine, server }, left);
        results.push(result);
        if (result.outcome !== "ready") break;
      }
      const diagnoses = await diagnosesOf(options, servers, results);
      const { doctorText } = await import("../doctor/report/diagnose");
      const explained = diagnoses.length === 0 ? [] : [doctorText(diagnoses, [])];
      return {
        result: { servers: results, diagnoses },
        text: [...results.map(text), ...explained].join("\n"),
        failed: results.some(({ outcome }) => outcome !== "ready"),
      };
    },
  });
}

interface Waited {
  readonly machine: MachinePlan;
  readonly server: InferenceServerPlan;
}

/** Throws `Failed` before the first `up`: then there is nothing to wait for. */
async function expectAnUp(options: StackFileOptions, servers: readonly Waited[]): Promise<void> {
  const { nothingApplied } = await import("../engine/backend");
  // Of a file by itself nobody knows the state.
  if (options.file !== undefined || !nothingApplied(projectFolder(), stackName(options), process.env)) return;
  const { dockerReader } = await import("../wait/container");
  const found = await Promise.all(
    servers.map(({ machine, server }) => dockerReader(machine.dockerHost).state(server.container.name)),
  );
  if (found.every((each) => each === undefined)) throw new Failed("Nothing runs yet: run `npm run up` first.");
}

/** What the doctor says of the machine whose container died; nothing where none did. */
async function diagnosesOf(
  options: StackFileOptions,
  servers: readonly Waited[],
  results: readonly WaitResult[],
): Promise<DiagnosisReport[]> {
  // A container's name is not unique: two machines may run the same model.
  const machine = servers[results.findIndex(({ outcome }) => outcome === "died")]?.machine;
  if (machine === undefined) return [];
  const { diagnose } = await import("../doctor/report/diagnose");
  const { fromMachine, readStack } = await import("../doctor/read/fromMachine");
  const { facts, notes } = await fromMachine(machine, stackFile(options));
  for (const note of notes) say(note);
  return diagnose({ ...facts, stack: readStack(stackFile(options), machine.name) }, options);
}

async function waitFor({ machine, server }: Waited, timeoutSeconds: number): Promise<WaitResult> {
  // Loaded when it is used: other commands start faster without it.
  const { dockerReader } = await import("../wait/container");
  const { waitProgress } = await import("../wait/phases");
  const { waitForStart } = await import("../wait/waitForStart");
  const { ask } = await import("../../http/ask");
  const { originFromHere } = await import("../verify/reach");
  const { container } = server;
  const [port] = container.ports;
  const origin = port && originFromHere(machine, { address: port.ip, port: port.host });
  return waitForStart({
    container: container.name,
    image: container.image,
    reader: dockerReader(machine.dockerHost),
    healthy: async () => {
      if (origin?.url === undefined) return "unknown";
      const asked = ask(`${origin.url}/health`, { timeoutSeconds: HEALTH_SECONDS });
      return (await asked.catch(() => undefined))?.status === 200;
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

function text({ container, outcome, seconds, phase, reason, cause, lastLines }: WaitResult): string {
  if (outcome === "ready") return `${container} is ready (${Math.round(seconds)} s).`;
  return [
    `${container}: ${reason}`,
    ...(cause === "" ? [] : [`Its log says why: ${cause}`]),
    ...(lastLines.length === 0 ? [] : ["The end of its log:", ...lastLines.map((line) => `  ${line}`)]),
    ...(outcome === "died" ? [] : [afterTimeout(phase)]),
  ].join("\n");
}
