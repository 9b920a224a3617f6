import { titled, type Width } from "@local-serving/base/commandLine/layout";
import { counted, listOf } from "@local-serving/base/faults/quoting";
import { duration } from "@local-serving/base/units/duration";
import type { MachinePlan } from "../../components/plan";
import type { KeptStart } from "../verify/keptStarts";

const SECONDS = 60;

/** Where llama-swap listens, who gets its key, and what it starts; nothing where there is none. */
export function onDemandText(machine: MachinePlan, keptStart: KeptStart, width: Width): string[] {
  const { onDemand } = machine;
  if (onDemand === undefined) return [];
  const { address, port, network, program, startWithinMinutes, retryAfterMinutes } = onDemand;
  const on = network === undefined ? "" : `, the gateway of ${network.name} (${network.subnet})`;
  const sum = program.sha256 === undefined ? "no sha256" : `sha256 ${program.sha256.slice(0, 12)}`;
  return titled(
    `Started by requests, by llama-swap ${program.version}`,
    [
      ["listens on", `${address}:${port}${on}`],
      ["key", keyText(machine, onDemand)],
      ...onDemand.servers.map((server) => [server.key, serverText(machine, server, keptStart)]),
      [
        "a start",
        `within ${counted(startWithinMinutes, "minute")}; after a failed start, no other for ${counted(retryAfterMinutes, "minute")}`,
      ],
      ["program", `${program.from}, ${sum}`],
    ],
    width,
  );
}

type OnDemand = NonNullable<MachinePlan["onDemand"]>;

/** Who is given the key, and who else needs it. */
function keyText({ containers, clients }: MachinePlan, { keyVariable, keyPath }: OnDemand): string {
  if (keyVariable === undefined) return "none: only this machine reaches it";
  const given = containers
    .filter(({ mounts }) => mounts.some(({ source }) => source === keyPath))
    .map(({ name }) => name);
  const needing = clients
    .filter(({ key, via }) => via === "native" && key?.variable === keyVariable)
    .map(({ client }) => client);
  return [
    `${keyVariable} of your shell`,
    ...(given.length === 0 ? [] : [`as a file for ${listOf(given)}`]),
    ...(needing.length === 0 ? [] : [`in the shell of ${listOf(needing)}`]),
  ].join("; ");
}

/** By which names a server is asked, and when it is stopped. */
function serverText(
  { containers }: MachinePlan,
  { container, model, names, idleMinutes }: OnDemand["servers"][number],
  keptStart: KeptStart,
): string {
  const asked = `asked as ${listOf([model, ...names])}`;
  if (idleMinutes === null) return `${asked}; stopped only when another one starts`;
  const planned = containers.find(({ name }) => name === container);
  const took = planned && keptStart(planned);
  const short =
    took !== undefined && took > idleMinutes * SECONDS
      ? `, less than its start took (${duration(took)}): raise \`idleMinutes\``
      : "";
  return `${asked}; stopped after ${counted(idleMinutes, "minute")} without a request${short}`;
}
