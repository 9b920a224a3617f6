import type { Outcome } from "@local-serving/base/commandLine/command";
import { Failed, WrongUse } from "@local-serving/base/commandLine/exit";
import type { MachinePlan } from "../../components/plan";
import { diagnoseMachine } from "../doctor/diagnoseMachine";
import { stateIsEmpty } from "../engine/backend";
import { startByRequest } from "../onRequest/startByRequest";
import { sayNothingIsAsked } from "../onRequest/startTexts";
import { doctorText } from "../rules/reportText";
import { hostOf } from "../sees/host";
import { hasOnDemand } from "../sees/onDemand/onDemand";
import { stoppedServers } from "../sees/onRequest";
import { expectApplied } from "../stack/nothingApplied";
import { type OnMachine, onItsMachines } from "../stack/onMachines";
import { plannedStack } from "../stack/readStack";
import { projectOrProgram, type StackFileOptions, stackFile, stackName } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import type { ProbeResult } from "../verify/probe";
import { stillStarting, stillStartingText } from "../wait/stillStarting";
import { waitForAddress } from "../wait/waitForAddress";
import { type WaitedOn, waitedText, waitForServer } from "../wait/waitForServer";
import { warm } from "../wait/warm";

/** What `serving status --wait` takes. */
export interface WaitOptions extends StackFileOptions {
  readonly server?: string;
  readonly timeout: number;
  readonly warm?: true;
  readonly baseUrl?: string;
  readonly yes?: true;
}

/** Follows the start of the inference servers until they are ready, or one is known to have died. */
export async function waitOutcome(options: WaitOptions): Promise<Outcome> {
  sayNothingIsAsked(options);
  if (options.baseUrl !== undefined) {
    if (options.warm || options.server !== undefined)
      throw new WrongUse("--base-url waits for a single server: leave out --server and --warm.");
    return waitForAddress(options.baseUrl, options.timeout);
  }
  return waitForServers(options);
}

async function waitForServers(options: WaitOptions): Promise<Outcome> {
  const planned = plannedStack(options);
  const servers = planned.machines.flatMap((machine) =>
    machine.inferenceServers
      .filter(({ key }) => options.server === undefined || key === options.server)
      .map((server) => ({ machine, server })),
  );
  if (servers.length === 0) throw noServer(planned.machines, options.server);
  await expectAnUp(options, servers);
  const seen = await byState(servers);
  const started = options.server === undefined ? [] : await startedNow(seen.away, options);
  if (!Array.isArray(started)) return started;
  const running = [...seen.running, ...started];
  const stopped = seen.stopped.slice(started.length);
  if (options.server !== undefined && stopped.length > 0)
    throw new Failed(stopped.map((text) => `${forStack(text, options)}.`).join("\n"));
  const results = await waitForEach(running, planned.machines, options);
  const died = results.find(({ outcome }) => outcome === "died");
  const diagnoses =
    died === undefined
      ? []
      : await diagnoseMachine({ file: stackFile(options), machine: died.machine }, options);
  const explained = diagnoses.length === 0 ? [] : [doctorText(diagnoses, [])];
  const areReady = results.every(({ outcome }) => outcome === "ready");
  // Who names a server waits for that one alone.
  const isAsked = areReady && options.server === undefined;
  const starting = isAsked ? await stillStarting(planned.machines) : [];
  return {
    result: { servers: results, diagnoses, starting },
    text: [
      ...results.flatMap((each) => [waitedText(each), ...(each.warm ?? []).map(warmText)]),
      ...stopped.map((text) => `${forStack(text, options)}.`),
      ...(starting.length === 0 ? [] : [forStack(stillStartingText(starting), options)]),
      ...explained,
    ].join("\n"),
    failed: results.some(
      ({ outcome, warm }) => outcome !== "ready" || warm?.some(({ status }) => status === "fail"),
    ),
  };
}

/** Waits for one server after the other, until one doesn't come. */
async function waitForEach(
  servers: readonly OnMachine[],
  machines: readonly MachinePlan[],
  options: WaitOptions,
): Promise<Result[]> {
  const results: Result[] = [];
  const deadline = performance.now() + options.timeout * 1000;
  for (const one of servers) {
    const left = Math.max(1, Math.round((deadline - performance.now()) / 1000));
    const found = await waitForServer(onItsMachines(one, machines), left);
    const [head, ...workers] = found;
    if (head === undefined || found.some(({ outcome }) => outcome !== "ready"))
      return [...results, ...found];
    const asked = options.warm && (await warm(one, machines, left));
    results.push({ ...head, ...(asked && { warm: asked }) }, ...workers);
  }
  return results;
}

/** The servers to wait for, and sentences of those that don't run, as planned. */
async function byState(servers: readonly OnMachine[]) {
  if (servers.every(({ server }) => server.container.start === undefined))
    return { running: servers, away: [], stopped: [] };
  const stopped = new Map<MachinePlan, ReadonlyMap<string, string>>();
  for (const machine of new Set(servers.map((each) => each.machine)))
    stopped.set(machine, await stoppedServers(machine, hostOf(machine.dockerHost)));
  const why = ({ machine, server }: OnMachine) => stopped.get(machine)?.get(server.container.name);
  return {
    running: servers.filter((each) => why(each) === undefined),
    away: servers.filter((each) => why(each) !== undefined),
    stopped: servers.flatMap((each) => why(each) ?? []),
  };
}

/** Starts the servers that llama-swap starts; the outcome of one that did not start. */
async function startedNow(
  away: readonly OnMachine[],
  options: WaitOptions,
): Promise<OnMachine[] | Outcome> {
  const started: OnMachine[] = [];
  for (const { machine, server } of away) {
    if (!hasOnDemand(machine)) continue;
    const { failed, ...said } = await startByRequest({ machine, server }, options);
    if (failed) return { ...said, failed };
    started.push({ machine, server });
  }
  return started;
}

type Result = WaitedOn & { readonly warm?: readonly ProbeResult[] };

/** Throws `Failed` before the first `up`: then there is nothing to wait for. */
async function expectAnUp(options: StackFileOptions, servers: readonly OnMachine[]): Promise<void> {
  // A file by itself has no state to look at.
  if (
    options.file !== undefined ||
    !stateIsEmpty(projectOrProgram(), stackName(options), process.env)
  )
    return;
  await expectApplied(
    servers.map(({ machine }) => machine),
    options,
  );
}

function noServer(machines: readonly MachinePlan[], key: string | undefined): WrongUse {
  const keys = machines.flatMap((machine) => machine.inferenceServers.map((server) => server.key));
  return new WrongUse(
    key === undefined
      ? "The stack file has no inferenceServers to wait for."
      : `--server ${key}: no such entry of inferenceServers; there are: ${keys.join(", ") || "none"}.`,
  );
}

/** How long something asked of a warm server took, or why it failed and what to do. */
function warmText({ name, status, seconds, detail, fix }: ProbeResult): string {
  if (status === "skip") return `  ${name}: not asked, ${detail}`;
  const took = `  ${name}: ${seconds.toFixed(1)} s`;
  return status === "pass" ? took : `${took}, failed: ${detail}\n    ${fix}`;
}
