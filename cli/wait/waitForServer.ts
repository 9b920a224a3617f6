import type { MachinePlan } from "../../components/plan";
import { answers, type PlannedContainer } from "../../components/planned";
import { hostOf } from "../sees/host";
import { isReady } from "../sees/isReady";
import type { OnMachine } from "../stack/onMachines";
import { afterTimeout, waitProgress } from "./progress";
import { type WaitResult, waitForStart } from "./waitForStart";

/** A container's name is not unique: two machines may run the same model. */
export type WaitedOn = WaitResult & { readonly machine: string };

/** A look at a container costs the daemon a few milliseconds. */
const INTERVAL_MILLISECONDS = 2000;

/** Waits for all containers of a server at once: what ends one ends the wait. */
export async function waitForServer(
  all: readonly OnMachine[],
  timeoutSeconds: number,
  isOver = () => false,
): Promise<WaitedOn[]> {
  const lines = new Map(all.map(({ server }) => [server.container.name, ""]));
  let [ready, over] = [false, false];
  const results = all.map(async ({ machine, server }): Promise<WaitedOn> => {
    const { name, image } = server.container;
    const result = await waitForStart({
      container: name,
      image,
      host: hostOf(machine.dockerHost),
      // A worker answers nobody: it serves once its head does.
      healthy: answers(server) ? (state) => isReady(machine, server, state) : async () => ready,
      over: () => over || isOver(),
      timeoutSeconds,
      intervalMilliseconds: INTERVAL_MILLISECONDS,
      progress: waitProgress(process.stderr, name, lines),
    });
    ready ||= result.outcome === "ready";
    over ||= result.outcome === "died";
    const on = all.length === 1 || result.reason === "" ? "" : `on ${machine.name}: `;
    return { ...result, machine: machine.name, reason: `${on}${result.reason}` };
  });
  return (await Promise.all(results)).filter(({ outcome }) => outcome !== "left");
}

/** Waits for a service, which is ready once Docker calls its container healthy. */
export async function waitForService(
  machine: MachinePlan,
  { name, image }: PlannedContainer,
  timeoutSeconds: number,
  isOver = () => false,
): Promise<WaitedOn> {
  const result = await waitForStart({
    container: name,
    image,
    host: hostOf(machine.dockerHost),
    healthy: async ({ health }) => health === undefined || "unknown",
    over: isOver,
    timeoutSeconds,
    intervalMilliseconds: INTERVAL_MILLISECONDS,
    progress: waitProgress(process.stderr, name),
  });
  return { ...result, machine: machine.name };
}

/** How a wait ended, for people. */
export function waitedText({
  container,
  outcome,
  seconds,
  phase,
  reason,
  cause,
  lastLines,
}: WaitedOn): string {
  if (outcome === "ready") return `${container} is ready (${Math.round(seconds)} s).`;
  return [
    `${container}: ${reason}`,
    ...(cause === "" ? [] : [`Its log says why: ${cause}`]),
    ...(lastLines.length === 0
      ? []
      : ["The end of its log:", ...lastLines.map((line) => `  ${line}`)]),
    ...(outcome === "died" ? [] : [afterTimeout(phase)]),
  ].join("\n");
}
