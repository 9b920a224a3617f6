import type { ModelFiles } from "@local-serving/machines/modelFiles";
import { nearestEngineData } from "@local-serving/vllm/optionHistory";
import type { AdapterSettings, InferenceServerSettings } from "../settings";
import { vllmOf } from "../supply";
import type { AdapterConfig } from "./adapterConfig";
import type { OwnFault } from "./ownFiles";

/** One adapter, and what is known of it. */
export interface KnownAdapter {
  readonly adapter: AdapterSettings;
  readonly place: string;
  readonly files: ModelFiles | undefined;
  /** Its own file. */
  readonly config: AdapterConfig | undefined;
  /** The rank by its own file, or else by the stack file. */
  readonly rank: number | undefined;
}

/** Ranks that a server's vLLM has slots for, smallest first. */
function slotRanks(server: InferenceServerSettings): number[] {
  const data = nearestEngineData(vllmOf(server));
  const choices = data.choices["max-lora-rank"] ?? [];
  return choices.map(Number).sort((a, b) => a - b);
}

/** The smallest rank of a slot that covers all adapters; `undefined` where one isn't known. */
export function leastSlot(
  server: InferenceServerSettings,
  adapters: readonly KnownAdapter[],
): number | undefined {
  const ranks = adapters.map(({ rank }) => rank);
  const largest = ranks.every((rank) => rank !== undefined) ? Math.max(...ranks) : undefined;
  return largest === undefined ? undefined : slotRanks(server).find((rank) => rank >= largest);
}

/** Faults in the rank of the slots. */
export function slotFaults(
  server: InferenceServerSettings,
  all: readonly KnownAdapter[],
): OwnFault[] {
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

/** Why nothing is known of a folder or an adapter, as the beginning of a sentence. */
export function unread(place: string, files: ModelFiles | undefined, isOfHub = false): string {
  if (files?.problem !== undefined) return `${place} ${files.problem}`;
  return isOfHub ? `${place} isn't in the model cache` : `${place} is on another computer`;
}
