import type { MachineSettings } from "./machine";
import type { MachineFault } from "./referenceFaults";

/** Servers of one machine that may start on request: every set of them is looked at. */
const MOST_ON_REQUEST = 12;

/** Faults of servers with `start: onRequest`; the path starts below the machine. */
export function onRequestFaults({ inferenceServers }: MachineSettings): MachineFault[] {
  const onRequest = Object.entries(inferenceServers).filter(([, { start }]) => start !== "always");
  const fault = (key: string, message: string): MachineFault => ({
    path: ["inferenceServers", key, "start"],
    code: "impossible_value",
    message,
  });
  return [
    ...onRequest.flatMap(([key, { nodes }]) =>
      nodes === undefined
        ? []
        : fault(
            key,
            "A server over several machines can't start on request, since each of them would have to make room for it: delete this line, or `nodes`.",
          ),
    ),
    ...onRequest
      .slice(MOST_ON_REQUEST)
      .map(([key]) =>
        fault(
          key,
          `At most ${MOST_ON_REQUEST} servers of a machine can start on request, and there are ${onRequest.length}: leave some out, or write \`start: always\`.`,
        ),
      ),
  ];
}
