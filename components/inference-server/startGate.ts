import { join } from "node:path";
import { isLoopback, originFromContainer } from "../../machines/address";
import { scriptText } from "../../machines/shell";
import { MIB_PER_GIB } from "../../units/memory";
import type { Mount, PlannedContainer } from "../planned/container";
import type { LedgerLine } from "../planned/facts";
import type { FileRole, PlannedFile } from "../planned/file";
import { gatePort, type Rank } from "../planned/rank";
import type { MachineSettings } from "../settings/machine";
import { namedOnHub } from "./hubModels";
import { headAddress } from "./ranks";
import type { Serve } from "./serve";

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

/** What a gate has to know of its server. */
interface Gated {
  readonly container: Pick<
    PlannedContainer,
    "name" | "stopGraceSeconds" | "command" | "env" | "start"
  >;
  readonly serve: Pick<Serve, "port">;
  readonly rank?: Rank;
}

/**
 * Returns the URL at which a server's container checks that it, or the head of its ranks, is
 * healthy.
 */
export const healthUrl = ({ port }: Pick<Serve, "port">, rank: Rank | undefined): string =>
  `http://${rank === undefined ? "127.0.0.1" : headAddress(rank)}:${port}/health`;

/** What the gates' file says beside the machine's settings. */
interface GateNeeds {
  readonly servers: readonly Gated[];
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
    ...servers.flatMap(({ container, serve, rank }) => [
      [
        "server",
        container.name,
        taken(container.name),
        Math.max(1, container.stopGraceSeconds - BEFORE_DOCKER_SECONDS),
        healthUrl(serve, rank),
      ],
      ...(rank === undefined ? [] : rankLines(container.name, rank)),
      // Whoever waits for it learns at once that it won't start.
      ...(container.start === "onRequest" ? [["end-when-spent", container.name]] : []),
      ...namedOnHub(container).map(({ id, revision }) => [
        "model",
        container.name,
        id,
        ...(revision === undefined ? [] : [revision]),
      ]),
    ]),
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

/** A rank's own place on the link, and where the gates of the others are. */
function rankLines(name: string, { index, nodes, link, masterPort }: Rank): (number | string)[][] {
  const port = gatePort(masterPort);
  return [
    ["rank", name, index, link.address, port, link.interface],
    ...nodes.flatMap(({ machine, address }, at) =>
      at === index ? [] : [["peer", name, machine, address, port]],
    ),
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
