import type { ContainerState } from "@local-serving/machines/docker/containers";
import type { MachinePlan } from "../../../components/plan";
import { LABEL } from "../../../components/planned";
import { type Host, hostOf } from "../host";
import { originFromHere, type Tunnel } from "../tunnel";
import { LlamaSwap, type SwapPlan, SwapProblem, type SwapRequest } from "./llamaSwap";
import {
  type FailedStart,
  failedStart,
  letGo,
  type SwapEvent,
  swapEvents,
  swapKey,
} from "./swapFiles";

/** A machine whose servers llama-swap starts. */
export type SwapMachine = MachinePlan & { readonly onDemand: SwapPlan };

/** Whether llama-swap starts servers of a machine. */
export const hasOnDemand = (machine: MachinePlan): machine is SwapMachine =>
  machine.onDemand !== undefined;

/** What llama-swap, Docker and the wrapper say at one moment. */
export interface OnDemandSeen {
  /** Why llama-swap says nothing; then nothing is known of `states` and `requests`. */
  readonly problem?: SwapProblem;
  /** llama-swap's word for each server that it has, by key: `starting`, `ready`, `stopping`. */
  readonly states: ReadonlyMap<string, string>;
  readonly requests: readonly SwapRequest[];
  /** When servers that are ready last ended an answer, by key. */
  readonly lastAnswers: ReadonlyMap<string, string>;
  /** The containers of its servers, by key. */
  readonly containers: ReadonlyMap<string, ContainerState>;
  /** Containers of this machine that start on request, run, and that it doesn't know. */
  readonly orphans: readonly string[];
  readonly events: readonly SwapEvent[];
  /** Failed starts that keep a server from being tried again, by key. */
  readonly failed: ReadonlyMap<string, FailedStart>;
}

/** llama-swap of a machine, by the way that leads there from here. */
export async function llamaSwapOf(
  machine: SwapMachine,
  tunnel: Pick<Tunnel, "ports"> | undefined,
  host = hostOf(machine.dockerHost),
): Promise<LlamaSwap> {
  const { onDemand } = machine;
  const { url = onDemand.url } = originFromHere(machine, onDemand, tunnel);
  return new LlamaSwap(onDemand, url, await swapKey(onDemand, host));
}

/** Looks at the servers that llama-swap starts. It only asks, and starts nothing. */
export async function seeOnDemand(
  machine: SwapMachine,
  host: Pick<Host, "containers" | "file" | "names">,
  swap: LlamaSwap,
): Promise<OnDemandSeen> {
  const { onDemand } = machine;
  const [told, all, events, marks] = await Promise.all([
    toldBy(swap),
    host.containers(),
    swapEvents(onDemand, host),
    letGo(onDemand, host),
  ]);
  const containers = new Map(
    onDemand.servers.flatMap(({ key, container }) => {
      const found = all.find(({ name }) => name === container);
      return found === undefined ? [] : [[key, found] as const];
    }),
  );
  const failed = onDemand.servers.map(
    async ({ key }) =>
      [
        key,
        await failedStart(onDemand, key, { files: host, container: containers.get(key) }),
      ] as const,
  );
  const found = await Promise.all(failed);
  return {
    ...told,
    containers,
    events,
    orphans:
      told.problem === undefined ? orphansOf(machine, all, [...told.states.keys(), ...marks]) : [],
    failed: new Map(
      found.flatMap(([key, one]) => (one === undefined ? [] : [[key, one] as const])),
    ),
  };
}

async function toldBy(
  swap: LlamaSwap,
): Promise<Pick<OnDemandSeen, "problem" | "states" | "requests" | "lastAnswers">> {
  try {
    const [states, requests] = await Promise.all([swap.states(), swap.requests()]);
    const ready = [...states].flatMap(([key, state]) => (state === "ready" ? [key] : []));
    const last = await Promise.all(
      ready.map(async (key) => [key, await swap.lastAnswer(key)] as const),
    );
    const lastAnswers = new Map(
      last.flatMap(([key, at]) => (at === undefined ? [] : [[key, at] as const])),
    );
    return { states, requests, lastAnswers };
  } catch (error) {
    if (!(error instanceof SwapProblem)) throw error;
    return { problem: error, states: new Map(), requests: [], lastAnswers: new Map() };
  }
}

/** What runs, is labelled to start on request, and isn't known. */
function orphansOf(
  { name: machine, onDemand }: SwapMachine,
  all: readonly ContainerState[],
  known: readonly string[],
): string[] {
  const names = onDemand.servers.flatMap(({ key, container }) =>
    known.includes(key) ? container : [],
  );
  return all.flatMap(({ name, status, labels }) =>
    status === "running" &&
    labels[LABEL.machine] === machine &&
    labels[LABEL.start] === "onRequest" &&
    !names.includes(name) &&
    !known.includes(name)
      ? name
      : [],
  );
}
