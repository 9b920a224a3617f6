import type { ContainerState } from "@local-serving/machines/docker/containers";
import type { MachinePlan } from "../../components/plan";
import type { PlannedContainer } from "../../components/planned";
import type { Host } from "./host";
import type { LogReading } from "./log/scanLog";
import { ASKED_TO_STOP, READY, STOPPED } from "./log/sign";

/** The exit code of SIGKILL: somebody's, or Docker's where a stop takes too long. */
export const EXIT_KILLED = 137;

/** Docker's words for a container that doesn't run and can be started. */
const STOPPED_STATES = ["created", "exited"];

/** Whether a container doesn't run, and that is as planned: it starts on request. */
export const isStoppedAsPlanned = (
  { start }: Pick<PlannedContainer, "start">,
  state: Pick<ContainerState, "status"> | undefined,
): boolean => start === "onRequest" && state !== undefined && STOPPED_STATES.includes(state.status);

/** Exit codes of a container that was never started, ended well, or was told to end. */
const ENDED_WELL = [0, EXIT_KILLED, 143];

/** Whether the last run of a stopped container ended by itself, and badly. */
export const endedBadly = ({ exitCode, oomKilled }: ContainerState): boolean =>
  oomKilled || !ENDED_WELL.includes(exitCode);

/** What the log of a stopped server must show, to say whether it was killed. */
export const KILL_SIGNS = [READY, STOPPED, ASKED_TO_STOP];

/** Whether a stopped server may have been killed: then its log tells. */
export const mayBeKilled = ({
  exitCode,
  status,
}: Pick<ContainerState, "exitCode" | "status">): boolean =>
  exitCode === EXIT_KILLED && status === "exited";

/** Whether a server was killed while it served: its log has no word of a stop since it was ready. */
export function wasKilled(
  container: Pick<ContainerState, "exitCode" | "status">,
  log: Pick<LogReading, "hits"> | undefined,
): boolean {
  const ready = log?.hits.get(READY);
  if (!mayBeKilled(container) || ready === undefined) return false;
  return [STOPPED, ASKED_TO_STOP].every(
    (sign) => (log?.hits.get(sign)?.lineNumber ?? 0) < ready.lineNumber,
  );
}

/** What is said of a server that doesn't run, as planned. */
export function notRunningText({ onDemand }: Pick<MachinePlan, "onDemand">, key: string): string {
  const { model } = onDemand?.servers.find((each) => each.key === key) ?? {};
  const start = `\`serving start ${key}\``;
  const how =
    model === undefined
      ? `${start} starts it`
      : `the next request for ${model} starts it, and so does ${start}`;
  return `${key} is not running, as planned: ${how}`;
}

/** The servers of a machine that don't run, as planned: the sentence for each, by its container. */
export async function stoppedServers(
  machine: Pick<MachinePlan, "inferenceServers" | "onDemand">,
  host: Pick<Host, "containers">,
): Promise<ReadonlyMap<string, string>> {
  const onRequest = machine.inferenceServers.filter(
    ({ container }) => container.start === "onRequest",
  );
  if (onRequest.length === 0) return new Map();
  const states = await host.containers();
  return new Map(
    onRequest.flatMap(({ key, container }) =>
      isStoppedAsPlanned(
        container,
        states.find(({ name }) => name === container.name),
      )
        ? [[container.name, notRunningText(machine, key)] as const]
        : [],
    ),
  );
}
