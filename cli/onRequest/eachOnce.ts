import { Failed, WrongUse } from "@local-serving/base/commandLine/exit";
import {
  endingInOrder,
  interruption,
  untilInterrupted,
} from "@local-serving/base/commandLine/interrupt";
import { say } from "@local-serving/base/commandLine/output";
import { expectTerminal, saysYes } from "@local-serving/base/commandLine/saysYes";
import { listOf } from "@local-serving/base/faults/quoting";
import type { MachinePlan } from "../../components/plan";
import { hostOf } from "../sees/host";
import { hasOnDemand, type SwapMachine } from "../sees/onDemand/onDemand";
import type { Named } from "../stack/named";
import { stackFile } from "../stack/stackFile";
import { keptStarts } from "../verify/keptStarts";
import type { ProbeResult } from "../verify/probe";
import { type VerifyOutcome, verify } from "../verify/run/runner";
import {
  type OnDemandServer,
  type StartByRequestOptions,
  startedByRequest,
} from "./startByRequest";

/** How a server that runs is proved. */
type Prove = (one: OnDemandServer) => Promise<VerifyOutcome>;

/**
 * Asks whether each server that llama-swap starts may be started once, and returns what probes a
 * machine and each of them in its turn. Throws `WrongUse` where there is none, and `Failed` where
 * nobody agrees.
 */
export async function eachInTurn(
  machines: readonly MachinePlan[],
  about: Named | undefined,
  options: StartByRequestOptions,
): Promise<typeof verify> {
  const servers = await serversOnDemand(machines, about);
  if (servers.length === 0)
    throw new WrongUse(
      "--each: llama-swap starts none of these servers (`onDemand`, `start: onRequest`).",
    );
  if (!(await endingInOrder((signal) => agreeToEach(servers, options, signal))))
    throw new Failed("Nothing was started.");
  return async (machine, asking) => {
    const own = servers.filter((each) => each.machine.name === machine.name);
    const except = own.map(({ server }) => server.container.name);
    const here = await verify(machine, { ...asking, except });
    const prove: Prove = ({ machine, server }) => {
      const { key, container } = server;
      return verify(machine, { ...asking, about: [{ machine, key, container, server }] });
    };
    const there = await endingInOrder((signal) => eachOnce(own, prove, { options, signal }));
    return {
      probes: [...here.probes, ...there.probes],
      causes: [...here.causes, ...there.causes],
    };
  };
}

/** The servers that llama-swap starts, those that run first: they need no start. */
async function serversOnDemand(
  machines: readonly MachinePlan[],
  about?: Named,
): Promise<OnDemandServer[]> {
  const all = machines.filter(hasOnDemand).map(async (machine) => {
    const runs = await runningOn(machine);
    const servers = machine.inferenceServers.filter(
      ({ key, container }) =>
        container.start === "onRequest" &&
        (about === undefined || (about.machine.name === machine.name && about.key === key)),
    );
    const first = (running: boolean) =>
      servers.filter(({ container }) => runs.has(container.name) === running);
    return [...first(true), ...first(false)].map((server) => ({ machine, server }));
  });
  return (await Promise.all(all)).flat();
}

/** Says what each start takes, and asks. */
async function agreeToEach(
  servers: readonly OnDemandServer[],
  options: StartByRequestOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const takes = servers.map(({ machine, server: { key, container } }) => {
    const seconds = keptStarts(stackFile(options), machine.name)(container);
    return seconds === undefined
      ? `${key} (how long it takes is not known)`
      : `${key} (${Math.max(1, Math.round(seconds / 60))} min last time)`;
  });
  say(
    `Each is started once and asked: ${listOf(takes)}. Other servers stop for it once they have no requests. What runs now is started again at the end.`,
  );
  if (options.yes) return true;
  expectTerminal();
  return saysYes("Start each of them once?", signal);
}

/** Starts each server once, proves it, and starts again what ran before. */
async function eachOnce(
  servers: readonly OnDemandServer[],
  prove: Prove,
  given: { readonly options: StartByRequestOptions; readonly signal: AbortSignal },
): Promise<VerifyOutcome> {
  const { signal } = given;
  const probes: ProbeResult[] = [];
  const causes: VerifyOutcome["causes"][number][] = [];
  const before = await running(servers);
  for (const one of servers) {
    if (signal.aborted) break;
    const result = await startOf(one, given);
    probes.push(result);
    if (result.status !== "pass") continue;
    const found = await untilInterrupted(prove(one), signal);
    probes.push(...(found?.probes ?? []));
    causes.push(...(found?.causes ?? []));
  }
  const now = await running(servers);
  for (const one of before.filter((each) => !now.includes(each))) {
    const { key } = one.server;
    if (signal.aborted)
      say(`${key} ran before, and is stopped: \`serving start ${key}\` starts it.`);
    else probes.push(await startOf(one, given));
  }
  return { probes, causes };
}

/** Starts a server, and says how that went as a probe does. */
async function startOf(
  one: OnDemandServer,
  { options, signal }: { readonly options: StartByRequestOptions; readonly signal: AbortSignal },
): Promise<ProbeResult> {
  const { key, container } = one.server;
  const result = (status: ProbeResult["status"], detail: string, seconds: number): ProbeResult => ({
    name: "on-demand-start",
    target: container.name,
    status,
    detail,
    fix: status === "fail" ? `See \`serving logs ${key}\` and \`serving doctor\`.` : "",
    seconds,
  });
  const began = performance.now();
  try {
    const started = await startedByRequest(one, options, signal);
    const seconds = (performance.now() - began) / 1000;
    if (typeof started === "string")
      return result(
        signal.aborted ? "skip" : "fail",
        signal.aborted ? interruption(signal) : started,
        seconds,
      );
    const { waited, ran } = started;
    if (waited.outcome !== "ready") return result("fail", waited.reason, seconds);
    return result(
      "pass",
      ran ? "it was already running" : `it was ready after ${Math.round(seconds)} s`,
      seconds,
    );
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    return result("fail", error.message, (performance.now() - began) / 1000);
  }
}

/** Those of the servers whose containers run. */
async function running(servers: readonly OnDemandServer[]): Promise<OnDemandServer[]> {
  const machines = [...new Set(servers.map(({ machine }) => machine))];
  const runs = new Map(
    await Promise.all(machines.map(async (each) => [each, await runningOn(each)] as const)),
  );
  return servers.filter(({ machine, server }) => runs.get(machine)?.has(server.container.name));
}

async function runningOn({ dockerHost }: SwapMachine): Promise<ReadonlySet<string>> {
  const states = await hostOf(dockerHost).containers();
  return new Set(states.flatMap(({ name, status }) => (status === "running" ? name : [])));
}
