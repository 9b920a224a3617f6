import type { Fault } from "@local-serving/base/faults/fault";
import type { ModelFiles } from "@local-serving/machines/modelFiles";
import { type Evidence, folderEvidence, type Warning } from "../planned";
import {
  folderOfModel,
  type InferenceServerSettings,
  machineFault,
  placeOfAdapter,
  type StackSettings,
} from "../settings";
import { adapterConfig, adapterFaults } from "./adapterConfig";
import { type KnownAdapter, leastSlot, slotFaults, unread } from "./adapterRanks";
import { filesFaults, type OwnFault } from "./ownFiles";

/** The machines on which a server's folders may have been read: its own, and the others that it runs on. */
const machinesOf = (name: string, { nodes = [] }: InferenceServerSettings) => [name, ...nodes];

/** The adapters of a server, each looked up once. */
const knownAdapters = (
  machines: readonly string[],
  { adapters }: InferenceServerSettings,
  evidence: Evidence,
): KnownAdapter[] =>
  adapters.map((adapter) => {
    const place = placeOfAdapter(adapter);
    const files = folderEvidence(evidence, machines, place);
    const config = files && adapterConfig(files);
    return { adapter, place, files, config, rank: config?.rank ?? adapter.rank };
  });

/** A server's settings with the rank of its slots, where that follows from its adapters. */
export function withSlots(
  name: string,
  server: InferenceServerSettings,
  evidence: Evidence,
): InferenceServerSettings {
  if (server.adapters.length === 0 || server.maxLoraRank !== undefined) return server;
  const least = leastSlot(server, knownAdapters(machinesOf(name, server), server, evidence));
  return least === undefined ? server : { ...server, maxLoraRank: least };
}

/** Bytes of each adapter's weights, where its files were read. */
export const adapterBytes = (
  name: string,
  server: InferenceServerSettings,
  evidence: Evidence,
): (number | undefined)[] =>
  server.adapters.map((adapter) => {
    const files = folderEvidence(evidence, machinesOf(name, server), placeOfAdapter(adapter));
    return files?.problem === undefined ? files?.weightsBytes : undefined;
  });

/** Finds what the files of adapters and folders contradict, and what makes them unsafe. */
export function ownModelFindings(settings: StackSettings, evidence: Evidence): Fault[] {
  return Object.entries(settings.machines).flatMap(([name, { inferenceServers }]) =>
    Object.entries(inferenceServers).flatMap(([key, server]) =>
      faultsOf(name, server, evidence).map(({ path = [], message, code = "impossible_value" }) =>
        machineFault(settings, name, { path: ["inferenceServers", key, ...path], code, message }),
      ),
    ),
  );
}

/** Says where a fault stands. */
const at =
  (path: NonNullable<OwnFault["path"]>) =>
  (fault: OwnFault): OwnFault => ({ ...fault, path });

function faultsOf(name: string, server: InferenceServerSettings, evidence: Evidence): OwnFault[] {
  const machines = machinesOf(name, server);
  const folder = folderOfModel(server);
  const files = folder === undefined ? undefined : folderEvidence(evidence, machines, folder);
  const adapters = knownAdapters(machines, server, evidence);
  return [
    ...(files === undefined
      ? []
      : filesFaults({ what: "model.id", files, isAdapter: false }, server).map(
          at(["model", "id"]),
        )),
    ...adapters.flatMap(({ adapter, files: read, config }, index) => {
      const own = ["adapters", index];
      const place = at([...own, adapter.path === undefined ? "id" : "path"]);
      if (read === undefined || read.problem !== undefined) return [];
      const broken = filesFaults({ what: adapter.name, files: read, isAdapter: true }, server);
      const said = config === undefined ? [] : adapterFaults(adapter, config, server.model.id);
      return [...broken, ...said].map((fault) =>
        fault.path === undefined ? place(fault) : { ...fault, path: [...own, ...fault.path] },
      );
    }),
    ...slotFaults(server, adapters),
  ];
}

/** What couldn't be checked of adapters and folders, in words. */
export const ownModelWarnings = (
  machine: string,
  servers: Readonly<Record<string, InferenceServerSettings>>,
  evidence: Evidence,
): Warning[] =>
  Object.entries(servers).flatMap(([key, server]) =>
    uncheckedOf(machinesOf(machine, server), server, evidence).map((message) => ({
      machine,
      code: "own-model-unchecked",
      message: `${key}: ${message}`,
    })),
  );

/** What of one server's own models wasn't checked, and why. */
function uncheckedOf(
  machines: readonly string[],
  server: InferenceServerSettings,
  evidence: Evidence,
): string[] {
  const folder = folderOfModel(server);
  const files = folder === undefined ? undefined : folderEvidence(evidence, machines, folder);
  const ofModel =
    folder === undefined || isRead(files)
      ? unreadIn(folder ?? "", files)
      : [`${unread(folder, files)}, ${UNCHECKED} ${UNNOTICED}`];
  const ofAdapters = knownAdapters(machines, server, evidence).flatMap((each) => {
    const { adapter, place, config } = each;
    const { name, path } = adapter;
    if (!isRead(each.files)) {
      const isOfHub = path === undefined;
      return `${unread(place, each.files, isOfHub)}, ${UNCHECKED} ${isOfHub ? BROUGHT : UNNOTICED}`;
    }
    return config === undefined || config.base !== undefined
      ? unreadIn(place, each.files)
      : `${name} doesn't say which model it was trained on (\`base_model_name_or_path\`), so it wasn't checked that it fits ${server.model.id}.`;
  });
  return [...ofModel, ...ofAdapters];
}

const isRead = (files: ModelFiles | undefined): boolean =>
  files !== undefined && files.problem === undefined;

function unreadIn(place: string, files: ModelFiles | undefined): string[] {
  const names = files?.unread ?? [];
  return names.length === 0
    ? []
    : [`${names.join(", ")} of ${place} can't be read here. ${UNNOTICED}`];
}

const UNCHECKED = "so it wasn't checked.";
const UNNOTICED = "Changes of its files aren't noticed either: an update keeps the container.";
const BROUGHT = "Run `serving fetch` to download it; the server doesn't download adapters.";
