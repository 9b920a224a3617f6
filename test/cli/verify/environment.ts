import { onTestFinished } from "vitest";
import type { Host } from "../../../cli/sees/host";
import { recorded } from "../../../cli/sees/packageVersions";
import type { ProbeResult } from "../../../cli/verify/probe";
import { type VerifyOptions, type VerifyOutcome, verify } from "../../../cli/verify/run/runner";
import { plan } from "../../../components/plan/plan";
import type { MachinePlan, Plan } from "../../../components/plan/types";
import { stack } from "../../fixtures/machine";
import type { FaultName } from "../../stand-in/faults";
import { type StandIn, type StandInOptions, startStandIn } from "../../stand-in/server";

/** Window in which every probe has room. */
export const WINDOW = 131_072;

export function planned(
  port: number,
  server: Record<string, unknown> = {},
  machine: Record<string, unknown> = {},
): Plan {
  return plan(stack({ instanceA: "none", ...machine }, { maxModelLen: WINDOW, port, ...server }), {
    home: "/home/me",
  });
}

export function machineOf({ machines: [machine] }: Plan): MachinePlan {
  if (machine === undefined) throw new Error("a plan has a machine");
  return machine;
}

/**
 * A stand-in started with the very arguments that the plan has for the server, on any free port of
 * loopback.
 */
export async function startPlanned(
  fault?: FaultName,
  server: Record<string, unknown> = {},
  options: StandInOptions = {},
): Promise<StandIn> {
  const command = machineOf(planned(1, server)).inferenceServers[0]?.container.command ?? [];
  return startStandIn([...command, "--host", "127.0.0.1", "--port", "0"], {
    ...options,
    ...(fault === undefined ? {} : { fault }),
  });
}

/** Port of a stand-in of the model `model`, with answers of its own, until the test is over. */
export async function standIn(options: StandInOptions): Promise<number> {
  const server = await startStandIn(["model", "--host", "127.0.0.1", "--port", "0"], options);
  onTestFinished(() => server.close());
  return server.port;
}

/** How a fault is seen: the probes that fail, what the first of them says, and its fix. */
export type Seen = readonly [probes: readonly string[], detail: string, fix: string];

/** A machine on which nothing is, overlaid by what a test is about. */
export function emptyHost(overlay: Partial<Host> = {}): Host {
  return {
    env: {},
    docker: async () => "",
    memoryLines: async () => ({ text: "" }),
    file: async () => undefined,
    ask: async () => ({ code: null, out: "", err: "" }),
    meminfo: async () => "MemTotal:       127600592 kB\nMemAvailable:   20971520 kB\n",
    listener: async () => undefined,
    startTime: async () => undefined,
    residentGiB: async () => undefined,
    addresses: async () => [],
    lanAddresses: async () => [],
    sockets: async () => [],
    listeners: async () => [],
    containers: async () => [],
    engine: async () => ({ reachable: true, gpuRuntime: true, containers: [] }),
    images: async () => [],
    imageDigests: async () => new Map(),
    versionsInside: async () => ({}),
    venv: async (path) => ({ path, versions: recorded({}) }),
    names: async () => [],
    taken: async () => undefined,
    imageIsThere: async () => false,
    downloadedBytes: async () => 0,
    phaseOf: async () => ({ phase: "starting" }),
    gateSays: async () => undefined,
    follow: () => ({ stop: () => {}, ended: () => true }),
    kernelLog: async () => undefined,
    journal: async () => undefined,
    fileState: async ({ role, path }) => ({ role, path, state: "missing" }),
    ...overlay,
  };
}

export async function run(
  plan: Plan,
  options: Partial<VerifyOptions> = {},
  host = emptyHost(),
): Promise<readonly ProbeResult[]> {
  return (await found(plan, options, host)).probes;
}

/** The same with what explains the failures. */
export function found(
  plan: Plan,
  options: Partial<VerifyOptions> = {},
  host = emptyHost(),
): Promise<VerifyOutcome> {
  return verify(machineOf(plan), { timeoutSeconds: 10, host: () => host, ...options });
}

export function failed(results: readonly ProbeResult[]): string[] {
  return results.filter((result) => result.status === "fail").map((result) => result.name);
}

export function resultOf(results: readonly ProbeResult[], name: string): ProbeResult {
  const found = results.find((result) => result.name === name);
  if (found === undefined) throw new Error(`no probe ${name}`);
  return found;
}
