import { hundredths } from "../memory/ledger";
import type { LedgerLine } from "../planned/facts";
import { INTEGRATED, type SimpleServerSettings } from "../settings/simpleServer";

/** Name of the ledger's line for the models that Ollama has loaded. */
const LOADED_MODELS = "Ollama's loaded models";

/** The largest declared model as often as models are loaded at once: Ollama loads whichever is asked for. */
export function simpleServerMemory(server: SimpleServerSettings): LedgerLine[] {
  if (server.mode === "none") return [];
  if (server.residentModelsGiB !== undefined)
    return [
      { name: LOADED_MODELS, gib: server.residentModelsGiB, basis: "setting", source: "residentModelsGiB" },
    ];
  const [largest] = Object.entries(server.loadedGiB).sort(([, a], [, b]) => b - a);
  if (largest === undefined) return [];
  const [model, gib] = largest;
  const { maxLoadedModels, contextLength } = server.mode === "host" ? server : INTEGRATED;
  return [
    {
      name: LOADED_MODELS,
      gib: hundredths(gib * maxLoadedModels),
      basis: "setting",
      source: `${model}: ${gib} GiB with ${contextLength} tokens of context x ${maxLoadedModels} loaded at once`,
    },
  ];
}

/** Declared models whose memory nobody has said, so that the ledger can't count them. */
export function uncountedModels(server: SimpleServerSettings): string[] {
  if (server.mode === "none" || server.residentModelsGiB !== undefined) return [];
  return server.models.filter((model) => !Object.hasOwn(server.loadedGiB, model));
}
