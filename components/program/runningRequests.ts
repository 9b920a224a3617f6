import { setTimeout as sleep } from "node:timers/promises";
import { ANSWER_SECONDS, ask } from "@local-serving/base/http/ask";
import { isOverSsh, originOf } from "@local-serving/machines/address";
import { filesOf } from "@local-serving/machines/files";
import { Metrics } from "@local-serving/vllm/metrics";
import type { ContainerChange, MachineChange } from "../change";
import type { InferenceServerPlan } from "../inference-server";
import type { MachinePlan } from "../plan";
import { answers, placesOf, serversOn } from "../planned";
import { serviceNamed } from "../services";

/** Set by `serving up`: its update lets requests end before it replaces their server. */
export const WAITS_VARIABLE = "LOCAL_SERVING_WAITS_FOR_REQUESTS";

const LOOK_EVERY_SECONDS = 2;

/**
 * Prints how the waiting goes. A `passing` sentence is for somebody who watches, and useless
 * afterwards.
 */
type Say = (sentence: string, kind: "passing" | "note" | "warning") => void;

/**
 * Returns the servers whose requests end with a container. These are its own server, where
 * that answers, or the servers behind a service that forwards requests.
 */
function serversBehind({ key }: ContainerChange, on: string, machines: readonly MachinePlan[]) {
  const own = machines.find(({ name }) => name === on);
  const worker = own && serversOn(own).find((each) => each.key === key && !answers(each));
  const [head] = worker ? placesOf(on, worker) : [];
  const service = serviceNamed(key)?.forwards && own?.services.find(({ name }) => name === key);
  const wanted = service ? service.servers : [key];
  return machines.flatMap((machine) =>
    machine.inferenceServers
      .filter((server) =>
        head === undefined
          ? wanted.includes(`${machine.name}.${server.key}`) ||
            (machine.name === on && wanted.includes(server.key))
          : server.container.name === head.container && machine.name === head.machine,
      )
      .map((server) => ({ machine, server })),
  );
}

/**
 * Containers that an update takes away from requests, with their machine and the servers that these
 * are at.
 */
export const takenAway = (changes: readonly MachineChange[], applied: readonly MachinePlan[]) =>
  changes.flatMap(({ machine, containers }) =>
    containers
      .filter(({ kind }) => kind === "replaced" || kind === "removed")
      .map((change) => ({ machine, change, behind: serversBehind(change, machine, applied) }))
      .filter(({ behind }) => behind.length > 0),
  );

/**
 * Returns a function that, given a container, resolves when the servers behind it have no requests
 * left, or when the machine's time limit is up. A server that doesn't answer has no requests to
 * lose.
 */
export function requestsEnd(
  containers: ReturnType<typeof takenAway>,
  planned: readonly MachinePlan[],
  say: Say,
): (container: string, machine: string) => Promise<void> {
  // Several containers may wait for one server, which is reported once.
  const waits = new Map<InferenceServerPlan, Promise<void>>();
  return async (container, machine) => {
    const minutes = planned.find(({ name }) => name === machine)?.waitForRequestsMinutes ?? 0;
    const taken = containers.find(
      (each) => each.machine === machine && each.change.name === container,
    );
    for (const each of taken?.behind ?? []) {
      const wait = waits.get(each.server) ?? untilIdle(each, minutes, say);
      waits.set(each.server, wait);
      await wait;
    }
  };
}

type Applied = ReturnType<typeof serversBehind>[number];

/**
 * Resolves when a server has no requests left, or the time is up. New ones in that time extend the
 * wait.
 */
export async function untilIdle(
  { machine, server }: Applied,
  minutes: number,
  say: Say,
): Promise<void> {
  const name = `${machine.name}.${server.key}`;
  const until = performance.now() + minutes * 60_000;
  for (let looks = 0; minutes > 0; looks += 1) {
    const running = await requestsOf(machine, server).catch((error: Error) => error);
    if (running instanceof Error)
      return say(
        `${name}: its requests can't be counted, so nothing waits for them (${running.message}).`,
        "warning",
      );
    const left = Math.round((until - performance.now()) / 1000);
    if (running === 0)
      return looks === 0 ? undefined : say(`${name}: its requests have ended.`, "note");
    if (left <= 0)
      return say(
        `${name}: after ${minutes} min, ${running} of its requests are still running and are cut off.`,
        "warning",
      );
    say(
      `${name}: waiting for ${running} of its requests to end, at most ${left} s more (\`waitForRequestsMinutes\`).`,
      looks === 0 ? "note" : "passing",
    );
    await sleep(Math.min(LOOK_EVERY_SECONDS, left) * 1000);
  }
}

/** Requests that a server is answering, or has in its queue. */
async function requestsOf(machine: MachinePlan, { reach }: InferenceServerPlan): Promise<number> {
  const url = `${originOf(reach)}/metrics`;
  const there = () => filesOf(machine).ask(["curl", "-q", "-sS", "-m", `${ANSWER_SECONDS}`, url]);
  const here = async () => ({ out: (await ask(url)).text });
  const { out } = isOverSsh(machine) ? await there() : await here().catch(() => ({ out: "" }));
  const metrics = new Metrics(out);
  return (
    (metrics.sum("vllm:num_requests_running") ?? 0) +
    (metrics.sum("vllm:num_requests_waiting") ?? 0)
  );
}
