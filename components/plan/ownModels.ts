import type { Fault } from "../../faults/fault";
import type { ModelFiles } from "../../machines/modelFiles";
import { nearestEngineData } from "../../vllm/optionHistory";
import { type Evidence, folderEvidence } from "../planned/evidence";
import type { Warning } from "../planned/facts";
import type { InferenceServerSettings } from "../settings/inferenceServer";
import { folderOfModel, placeOfAdapter } from "../settings/insideContainer";
import type { AdapterSettings } from "../settings/ownModels";
import { machineFault } from "../settings/places";
import type { StackSettings } from "../settings/stackSettings";
import { vllmOf } from "../supply/imageVersions";
import { type AdapterConfig, adapterConfig, adapterFaults } from "./adapterConfig";
import { filesFaults, type OwnFault } from "./ownFiles";

/** Ranks that a server's vLLM has slots for, smallest first. */
function slotRanks(server: InferenceServerSettings): number[] {
  const data = nearestEngineData(vllmOf(server));
  const choices = data.choices["max-lora-rank"] ?? [];
  return choices.map(Number).sort((a, b) => a - b);
}

/** The machines on which a server's folders may have been read: its own, and those of its ranks. */
const machinesOf = (name: string, { nodes = [] }: InferenceServerSettings) => [name, ...nodes];

/** One adapter, and what is known of it. */
interface KnownAdapter {
  readonly adapter: AdapterSettings;
  readonly place: string;
  readonly files: ModelFiles | undefined;
  /** Its own file. */
  readonly config: AdapterConfig | undefined;
  /** The rank by its own file, or else by the stack file. */
  readonly rank: number | undefined;
}

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
export function withRank(
  name: string,
  server: InferenceServerSettings,
  evidence: Evidence,
): InferenceServerSettings {
  if (server.adapters.length === 0 || server.maxLoraRank !== undefined) return server;
  const least = leastRank(server, knownAdapters(machinesOf(name, server), server, evidence));
  return least === undefined ? server : { ...server, maxLoraRank: least };
}

/** The smallest rank of a slot that covers all adapters; `undefined` where one isn't known. */
function leastRank(
  server: InferenceServerSettings,
  adapters: readonly KnownAdapter[],
): number | undefined {
  const ranks = adapters.map(({ rank }) => rank);
  const largest = ranks.every((rank) => rank !== undefined) ? Math.max(...ranks) : undefined;
  return largest === undefined ? undefined : slotRanks(server).find((rank) => rank >= largest);
}

/** Why nothing is known of a folder or an adapter, as the beginning of a sentence. */
function unread(place: string, files: ModelFiles | undefined, isOfHub = false): string {
  if (files?.problem !== undefined) return `${place} ${files.problem}`;
  return isOfHub ? `${place} isn't in the model cache` : `${place} is on another computer`;
}

/** A fault for an adapter whose rank isn't known, unless its files' own faults say why. */
function unknownRank({ adapter, place, files }: KnownAdapter, index: number): OwnFault[] {
  const write = `write \`rank\`, the \`r\` of its adapter_config.json`;
  const says = unread(place, files, adapter.path === undefined);
  if (files?.problem !== undefined)
    return [
      {
        path: ["adapters", index, "path"],
        message: `${says}: correct the path. If the folder is created later, ${write}.`,
      },
    ];
  return files !== undefined
    ? []
    : [
        {
          path: ["adapters", index, "rank"],
          code: "missing_key",
          message: `${says}, so the rank of ${adapter.name} isn't known: ${write}.`,
        },
      ];
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
    ...rankFaults(server, adapters),
  ];
}

/** Faults in the rank of the slots. */
function rankFaults(server: InferenceServerSettings, all: readonly KnownAdapter[]): OwnFault[] {
  const { maxLoraRank: given } = server;
  if (all.length === 0) return [];
  const ranks = slotRanks(server);
  const largest = all.reduce((most, { rank = 0 }) => Math.max(most, rank), 0);
  const most = ranks.at(-1) ?? 0;
  const is = (path: (string | number)[], message: string): OwnFault => ({ path, message });
  if (largest > most) {
    const which = all.findIndex(({ rank }) => rank === largest);
    return [
      is(
        ["adapters", which, "rank"],
        `${all[which]?.adapter.name} has rank ${largest}, but vLLM's slots go up to ${most}: train it again with \`r: ${most}\` or less, or serve the merged model (\`model.id: FOLDER\`).`,
      ),
    ];
  }
  const least = ranks.find((rank) => rank >= largest);
  if (given === undefined)
    return all.flatMap((each, index) => (each.rank === undefined ? unknownRank(each, index) : []));
  if (!ranks.includes(given)) {
    const next = ranks.find((rank) => rank >= Math.max(given, largest)) ?? most;
    return [
      is(
        ["maxLoraRank"],
        `This vLLM only has slots of rank ${ranks.join(", ")}: write ${next}, or delete this line.`,
      ),
    ];
  }
  if (largest <= given) return [];
  const which = all.find(({ rank }) => rank === largest)?.adapter.name;
  return [
    is(
      ["maxLoraRank"],
      `${which} has rank ${largest}, which doesn't fit into a slot of rank ${given}: write ${least}, or delete this line.`,
    ),
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
