import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { FaultyInput, faultLine, UnreadableInput } from "@local-serving/base/faults/fault";
import { readJsonFile } from "@local-serving/base/faults/jsonDocument";
import { valueBy } from "@local-serving/base/faults/schemaFaults";
import { isHere } from "@local-serving/machines/address";
import { homeOn, onMachine } from "@local-serving/machines/home";
import { cacheHere, modelFolder, snapshotOf, weightsOf } from "@local-serving/machines/hubCache";
import { disputedBy, modelFiles, type Recipe, readRecipe, STARTS, sourceOf } from "../catalogue";
import type { Evidence, ModelEvidence, PublishedSpeed, PublishedSpeeds } from "../planned";
import { startsFileSchema } from "../planned/schema";
import { folderOfModel, type InferenceServerSettings, type StackSettings } from "../settings";

/** Files of a folder in models/. */
const CONFIG = "config.json";

/**
 * Reads what is known of the models that a stack serves: from the project's `models/`, our
 * catalogue, or the snapshot in the model cache of a machine that is here. Nothing is fetched; a
 * model that is found nowhere is left out, and a broken file is reported.
 *
 * @param project folder that may hold `models/` of its own
 * @param home the operator's, below which caches lie; without it only `models/` is read
 */
export function readModels(
  settings: StackSettings,
  project: string,
  home?: string,
): NonNullable<Evidence["models"]> {
  const found = new Map<string, ModelEvidence>();
  // Machines that are here come first: of the others only `models/` is read.
  const machines = Object.values(settings.machines).sort(
    (a, b) => Number(isHere(b)) - Number(isHere(a)),
  );
  for (const machine of machines) {
    const own = home && homeOn(machine, { home });
    const cache =
      own !== undefined && isHere(machine)
        ? onMachine(machine.modelCache, { home: own })
        : undefined;
    for (const server of Object.values(machine.inferenceServers)) {
      const { model } = server;
      if (found.has(model.id)) continue;
      const folder = folderOfModel(server);
      const place = cache && folder && onMachine(folder, { home: own ?? "" });
      const evidence = readModel(model, project, {
        cache,
        folder: place,
        wholeConfig: server.adapters.length > 0,
      });
      if (evidence !== undefined) found.set(model.id, evidence);
    }
  }
  return Object.fromEntries(found);
}

/** Where a model's files can be read here: the model cache, and its own folder if it is one. */
interface Readable {
  readonly cache: string | undefined;
  readonly folder: string | undefined;
  /** Whether the widths of its layers matter, which the catalogue leaves out. */
  readonly wholeConfig: boolean;
}

function readModel(
  { id, revision }: InferenceServerSettings["model"],
  project: string,
  { cache, folder: own, wholeConfig }: Readable,
): ModelEvidence | undefined {
  const folder = modelFolder(id);
  const kept = modelFiles(project, id);
  const from = cache === undefined ? undefined : cacheHere(cache);
  const snapshot = own ?? (from && snapshotOf(from, id, revision));
  const inCache = snapshot && join(snapshot, CONFIG);
  const shown = (file: string) =>
    file.startsWith(kept) ? join("models", folder, basename(file)) : file;
  const weightsGB = from && snapshot ? weightsOf(from, snapshot) : undefined;
  const found = { kept, inCache, wholeConfig, weightsGB, shown };
  try {
    return evidenceOf(readRecipe(project, id), found);
  } catch (error) {
    const { file, problem } = problemOf(error);
    return { source: shown(file), problem };
  }
}

interface Found {
  /** The model's folder in `models/`. */
  readonly kept: string;
  /** Its configuration in a cache or a folder of its own. */
  readonly inCache: string | undefined;
  readonly wholeConfig: boolean;
  readonly weightsGB: number | undefined;
  /** A file as messages name it. */
  readonly shown: (file: string) => string;
}

function evidenceOf(
  recipe: Recipe | undefined,
  { kept, inCache, wholeConfig, weightsGB, shown }: Found,
): ModelEvidence | undefined {
  const assumed = recipe !== undefined && recipe.config.from !== "model";
  // The model's own file is better than one that was put together.
  const [config] = [assumed && inCache, join(kept, CONFIG), inCache].filter(
    (file) => typeof file === "string" && existsSync(file),
  );
  if (typeof config !== "string") return undefined;
  const prefill = recipe?.speeds.find(({ what }) => what === "prefill");
  const hasWhole = wholeConfig && inCache && inCache !== config && existsSync(inCache);
  return {
    source: shown(config),
    config: readJsonFile(config, { pythonNumbers: true }).value,
    ...defined({
      assumedFrom: assumed && config !== inCache ? recipe.config.source : undefined,
      catalogue: recipe && catalogueWeights(recipe),
      cachedConfig: hasWhole ? readJsonFile(inCache, { pythonNumbers: true }).value : undefined,
      weightsGB,
      starts: readStarts(join(kept, STARTS)),
      disputed:
        recipe === undefined || recipe.against.length === 0 ? undefined : disputedBy(recipe),
      speeds: recipe && publishedSpeeds(recipe),
      prefill: prefill && { tokensPerSecond: prefill.tokensPerSecond, source: prefill.source },
    }),
  };
}

/** What is wrong with a model's file. Throws what says nothing about one. */
function problemOf(error: unknown): { readonly file: string; readonly problem: string } {
  if (error instanceof UnreadableInput) return { file: error.input, problem: error.reason };
  if (!(error instanceof FaultyInput)) throw error;
  const problem = error.faults.map((fault) => faultLine(fault)).join("; ");
  return { file: error.input, problem };
}

function publishedSpeeds({ speeds, settings, draft, image, machines }: Recipe): PublishedSpeeds {
  const decode = speeds
    .filter((each) => each.what === "decode" && each.with === undefined)
    .map(({ tokensPerSecond, source, date, vllm, drafts }): PublishedSpeed => {
      return { tokensPerSecond, source, date, ...defined({ vllm, drafts }) };
    });
  return { decode, settings, machines, ...defined({ image, draft }) };
}

function catalogueWeights(recipe: Recipe): ModelEvidence["catalogue"] {
  const { diskGB, residentGiB, partlyOnDisk } = recipe.weights;
  const from = residentGiB === undefined ? "weights.diskGB" : "weights.residentGiB";
  const weightsGB = partlyOnDisk ? undefined : diskGB;
  return {
    ...defined({ weightsGB, residentGiB }),
    judged: sourceOf(recipe, from)?.basis === "judged",
  };
}

function readStarts(file: string): ModelEvidence["starts"] {
  return existsSync(file) ? valueBy(startsFileSchema, file, readJsonFile(file)) : undefined;
}
