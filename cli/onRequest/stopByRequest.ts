import { setTimeout as sleep } from "node:timers/promises";
import { Failed } from "@local-serving/base/commandLine/exit";
import { docker } from "@local-serving/machines/docker/docker";
import { parseMeminfo } from "@local-serving/machines/memory";
import { hostOf } from "../sees/host";
import { type LlamaSwap, SwapProblem } from "../sees/onDemand/llamaSwap";
import { llamaSwapOf } from "../sees/onDemand/onDemand";
import { tunnelTo } from "../sees/tunnel";
import { type OnDemandServer, swapFailure } from "./startByRequest";

/** What a stop left. */
export interface Stopped {
  readonly machine: string;
  readonly container: string;
  readonly availableGiB: number | null;
}

/** What the wrapper takes to see that nobody has it, and Docker to stop it, beside its grace. */
const MORE_SECONDS = 60;

const LOOK_MILLISECONDS = 500;

/** Lets llama-swap let go of a server, and waits until its container has stopped. */
export async function stopByRequest(one: OnDemandServer): Promise<Stopped> {
  const { machine } = one;
  const tunnel = await tunnelTo(machine);
  try {
    return await stopped(one, await llamaSwapOf(machine, tunnel));
  } catch (error) {
    throw error instanceof SwapProblem ? swapFailure(error, machine) : error;
  } finally {
    tunnel.close();
  }
}

/** The same with llama-swap at hand. */
async function stopped(
  { machine, server: { key, container } }: OnDemandServer,
  swap: LlamaSwap,
): Promise<Stopped> {
  const host = hostOf(machine.dockerHost);
  const { name, stopGraceSeconds } = container;
  const running = async () =>
    (await host.containers()).some((each) => each.name === name && each.status === "running");
  const known = (await swap.states()).has(key);
  if (known) await swap.unload(key);
  // One that llama-swap doesn't know is nobody's: no other program stops it.
  else if (await running())
    await docker(["stop", name], machine.dockerHost, stopGraceSeconds + MORE_SECONDS);
  const last = performance.now() + (stopGraceSeconds + MORE_SECONDS) * 1000;
  while (await running()) {
    if (performance.now() > last)
      throw new Failed(
        `llama-swap has let go of ${key}, but ${name} still runs: a request has started it again, or its stop takes longer. See: serving status`,
      );
    await sleep(LOOK_MILLISECONDS);
  }
  const { availableGiB = null } = parseMeminfo(await host.meminfo()) ?? {};
  return { machine: machine.name, container: name, availableGiB };
}
