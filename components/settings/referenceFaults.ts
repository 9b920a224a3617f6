import { listOf } from "@local-serving/base/faults/quoting";
import { CLIENTS, type ClientSettings } from "../clients";
import { isPooling } from "../planned";
import { INSTANCE_A, SIMPLE_SERVER } from "../planned/fields";
import { SERVICES } from "../services";
import type { MachineSettings } from "./machine";

/** A fault of one machine's settings; the path starts below the machine. */
export type MachineFault = {
  readonly path: readonly PropertyKey[];
  readonly code: string;
  readonly message: string;
};

/** Faults in the blocks of services, and in what clients say of the server that they use. */
export function referenceFaults(machine: MachineSettings): MachineFault[] {
  const declared = Object.entries(machine.inferenceServers).map(([key, { model }]) => ({
    key,
    kind: model.kind,
  }));
  return [
    ...declared.flatMap(({ key }) => takenNames(key)),
    ...SERVICES.flatMap((service) => [
      ...(service.names?.(machine) ?? []).flatMap(({ name, path, needsModel }) =>
        serverFaults(machine, name, [service.key, ...path], needsModel),
      ),
      ...(service.faults?.(machine, declared) ?? []),
    ]),
    ...CLIENTS.flatMap(({ key }) => {
      const settings: ClientSettings | undefined = machine.clients[key];
      return settings === undefined ? [] : clientFaults(machine, settings, ["clients", key]);
    }),
  ];
}

function takenNames(name: string): MachineFault[] {
  if (name !== INSTANCE_A && name !== SIMPLE_SERVER) return [];
  const message = `\`${name}\` is the name of another server: take a different key.`;
  return [{ path: ["inferenceServers", name], code: "impossible_value", message }];
}

/**
 * Why the server that is named at `path` can't be used there. `needsModel`: nothing else says which
 * model is asked for.
 */
function serverFaults(
  { inferenceServers, instanceA, simpleServer }: MachineSettings,
  name: string,
  path: readonly PropertyKey[],
  needsModel: boolean,
): MachineFault[] {
  const servers = Object.keys(inferenceServers);
  if (servers.includes(name)) return [];
  if (name === INSTANCE_A) {
    if (instanceA === "none") {
      const message = "There is no instance A on this machine (`instanceA: none`).";
      return [{ path, code: "unknown_reference", message }];
    }
    if (!needsModel || instanceA.servedModelName !== undefined) return [];
    return [
      {
        path,
        code: "missing_key",
        message: "Say what instance A serves: `instanceA.servedModelName`.",
      },
    ];
  }
  if (name === SIMPLE_SERVER && simpleServer.mode === "host") {
    if (!needsModel || simpleServer.models.length > 0) return [];
    const message =
      "Say which model it asks for (`model`), or name models of the simple server (`simpleServer.models`).";
    return [{ path, code: "missing_key", message }];
  }
  const known = [...servers, ...beside({ instanceA, simpleServer })];
  const message = `No server \`${name}\` on this machine. Known: ${listOf(known)}.`;
  return [{ path, code: "unknown_reference", message }];
}

/** The servers of a machine that clients may use beside ours. */
const beside = ({
  instanceA,
  simpleServer,
}: Pick<MachineSettings, "instanceA" | "simpleServer">): string[] => [
  ...(instanceA === "none" ? [] : [INSTANCE_A]),
  ...(simpleServer.mode === "host" ? [SIMPLE_SERVER] : []),
];

/** Faults of one client's settings, which stand at `at`. */
function clientFaults(
  machine: MachineSettings,
  settings: ClientSettings,
  at: readonly PropertyKey[],
): MachineFault[] {
  const servers = Object.keys(machine.inferenceServers);
  const talking = servers.filter(
    (key) => !isPooling(machine.inferenceServers[key]?.model.kind ?? "chat"),
  );
  const name = settings.server ?? (talking.length === 1 ? talking[0] : undefined);
  if (name === undefined) {
    const known = talking.length > 0 ? talking : beside(machine);
    const choice = known.length === 0 ? "none is declared" : `there are ${known.join(", ")}`;
    const message = `Say which server it uses: ${choice}.`;
    return [{ path: [...at, "server"], code: "missing_key", message }];
  }
  return [
    ...serverFaults(machine, name, [...at, "server"], settings.model === undefined),
    ...(settings.via === "bridge" ? bridgeFaults(machine, name, [...at, "via"]) : []),
    ...windowFaults(machine, name, settings.maxOutputTokens ?? 0, [...at, "maxOutputTokens"]),
  ];
}

/** Faults of a client's way over the bridge. */
function bridgeFaults(
  { bridge, inferenceServers }: MachineSettings,
  name: string,
  path: readonly PropertyKey[],
): MachineFault[] {
  if (bridge === undefined) {
    const message = "There is no `bridge` on this machine. Declare one, or write `via: native`.";
    return [{ path, code: "missing_key", message }];
  }
  if ((bridge.servers ?? Object.keys(inferenceServers)).includes(name)) return [];
  const message = `\`${name}\` is not behind the bridge: add it to \`bridge.servers\`.`;
  return [{ path, code: "unknown_reference", message }];
}

/** Whether a client's longest answer leaves room in its server's window. */
function windowFaults(
  { inferenceServers, simpleServer }: MachineSettings,
  name: string,
  maxOutputTokens: number,
  path: readonly PropertyKey[],
): MachineFault[] {
  const ollama = name === SIMPLE_SERVER && simpleServer.mode === "host" ? simpleServer : undefined;
  const window = inferenceServers[name]?.maxModelLen ?? ollama?.contextLength;
  if (window === undefined || maxOutputTokens < window) return [];
  const message =
    ollama === undefined
      ? `The server's window is ${window} tokens, prompt and output together: every request would be refused.`
      : `Ollama's window is ${window} tokens (\`simpleServer.contextLength\`), prompt and output together: nothing is left for the prompt.`;
  return [{ path, code: "impossible_value", message }];
}
