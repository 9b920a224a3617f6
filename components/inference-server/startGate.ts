import { join } from "node:path";
import { MIB_PER_GIB } from "@local-serving/base/units/memory";
import { isLoopback, originFromContainer } from "@local-serving/machines/address";
import { scriptText } from "@local-serving/machines/shell";
import { FEATURES } from "../features";
import type { FileRole, LedgerLine, Mount, PlannedFile, PlannedServer, Reach } from "../planned";
import type { MachineSettings } from "../settings";
import { namedOnHub } from "./hubModels";

/**
 * The first process of a server's container. After a reboot Docker starts it at once, perhaps
 * before instance A has its memory: it therefore starts vLLM in one of three cases: there is room
 * for both; instance A answers and there is room for the server; or instance A has had its time and
 * there has been room for the server for a minute. When memory runs out, it stops vLLM and waits
 * again. startGate.sh says the rest, and modelsInCache.sh when vLLM starts without the hub.
 */
export const START_GATE = ["modelsInCache.sh", "startGate.sh"]
  .map((file) => scriptText(join(__dirname, file)).trim())
  .join("\n\n");

/**
 * Where the gate finds what is declared, inside the container: a folder, so that a new file is
 * seen.
 */
const DECLARED_INSIDE = "/run/local-serving";
const FILE = "gate";

/** Where the gates of a machine keep their starts, and what they are about to take. */
const SHARED_INSIDE = "/var/lib/local-serving";

const SECONDS_PER_MINUTE = 60;

/** The gate kills vLLM so many seconds before Docker would kill the gate. */
const BEFORE_DOCKER_SECONDS = 2;

/** What the gate starts, with the container's command as its arguments. */
export const GATED_PROGRAM = ["vllm", "serve"];

/**
 * Returns the entrypoint that runs the lines of `first` and the gate before `vllm serve`. The
 * container's command stays vLLM's own arguments.
 */
export const gatedEntrypoint = (container: string, first = ""): string[] => [
  "/bin/sh",
  "-c",
  `${first}${START_GATE}`,
  container,
];

/** Returns the URL at which a server's container checks that the server is healthy. */
export const healthUrl = ({ address, port, onLink }: Reach): string =>
  `http://${onLink ? address : "127.0.0.1"}:${port}/health`;

/** What the gates' file says beside the machine's settings. */
interface GateNeeds {
  readonly servers: readonly PlannedServer[];
  readonly ledger: readonly LedgerLine[];
  /** Where the file goes. */
  readonly folder: string;
}

/**
 * Plans the file that tells a machine's gates what they need to know. A server takes what its line
 * of the ledger says.
 */
export function gateFile(
  machineName: string,
  { instanceA, memoryFloorGiB, startsPerHour }: MachineSettings,
  { servers, ledger, folder }: GateNeeds,
): PlannedFile<FileRole> {
  const mib = (gib: number) => Math.ceil(gib * MIB_PER_GIB);
  const taken = (name: string) => mib(ledger.find((line) => line.name === name)?.gib ?? 0);
  const lines = [
    ["floor", mib(memoryFloorGiB)],
    ["starts", startsPerHour],
    ...(instanceA === "none"
      ? []
      : [["instance-a", taken("instance A"), ...instanceAFacts(instanceA)]]),
    ...servers.flatMap((server) => serverLines(server, taken(server.container.name))),
  ];
  const about =
    "# Made by local-serving from the stack file, for the start gates: change it there.";
  const text = `${[about, ...lines.map((words) => words.join(" "))].join("\n")}\n`;
  return {
    role: "start-gate",
    resource: `${machineName}-start-gate`,
    partOf: machineName,
    purpose:
      "What the start gates are told: how much memory there must be, and what each server takes.",
    path: `${folder}/${FILE}`,
    mode: "0644",
    text,
  };
}

/** What a gate is told of its server, which takes so many MiB. */
function serverLines(server: PlannedServer, mib: number): (readonly (number | string)[])[] {
  const { container, reach } = server;
  const { name, stopGraceSeconds } = container;
  const grace = Math.max(1, stopGraceSeconds - BEFORE_DOCKER_SECONDS);
  return [
    ["server", name, mib, grace, healthUrl(reach)],
    ...FEATURES.flatMap((each) => each.gateLines(server)),
    // Whoever waits for it learns at once that it won't start.
    ...(container.start === "onRequest" ? [["end-when-spent", name]] : []),
    ...namedOnHub(container).map(({ id, revision }) => [
      "model",
      name,
      id,
      ...(revision === undefined ? [] : [revision]),
    ]),
  ];
}

function instanceAFacts(
  instanceA: Exclude<MachineSettings["instanceA"], "none">,
): (number | string)[] {
  const url = instanceAFromContainer(instanceA);
  return [
    instanceA.readyWithinMinutes * SECONDS_PER_MINUTE,
    ...(url === undefined ? [] : [`${url}/health`]),
  ];
}

/** The file in a container in which its gate keeps its starts. */
export const startsFile = (container: string): string => `${SHARED_INSIDE}/${container}.starts`;

/** Volume that the gates of a machine share; it survives a replacement of a container. */
export const gateVolume = (network: string): string => `${network}-gate`;

/** What the gate reads and writes, in a container. */
export const gateMounts = (folder: string, network: string): Mount[] => [
  { type: "bind", source: folder, target: DECLARED_INSIDE, readOnly: true },
  { type: "volume", source: gateVolume(network), target: SHARED_INSIDE, readOnly: false },
];

/** Where a container reaches instance A; `undefined` when it listens on loopback only. */
export const instanceAFromContainer = ({
  listen,
  port,
}: {
  readonly listen: string;
  readonly port: number;
}) => (isLoopback(listen) ? undefined : originFromContainer({ address: listen, port }));
