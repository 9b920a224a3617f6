import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { FaultyInput, faultLine, UnreadableInput } from "../../faults/fault";
import { readJsonFile } from "../../faults/jsonDocument";
import { schemaFaults } from "../../faults/schemaFaults";
import { type Evidence, type ModelEvidence, onMachine, type PublishedStart } from "../planned/evidence";
import { isHere } from "../planned/reach";
import type { StackSettings } from "../settings/stackSettings";

const BYTES_PER_GB = 1e9;

/** Files of a folder in models/. */
const CONFIG = "config.json";
const STARTS = "starts.json";

/** What `models/<model>/starts.json` holds. */
const publishedStarts = z.strictObject({
  starts: z.array(
    z.strictObject({
      vllm: z.string().min(1).describe("Version of vLLM."),
      utilization: z.number().gt(0).lte(1).describe("Its `--gpu-memory-utilization`."),
      totalGiB: z.number().positive().describe("The machine's MemTotal in GiB."),
      availableKvGiB: z.number().describe("`Available KV cache memory` of its log in GiB; may be negative."),
      draftTokens: z
        .int()
        .min(1)
        .optional()
        .describe("Draft tokens of a step; left out where there were none."),
      source: z.string().min(1).describe("Who measured it, on what, and when."),
    }),
  ),
});

/**
 * Reads what is known of the models that a stack serves: from `models/` of the project, else from the snapshot in the
 * model cache of a machine that is here. Nothing is fetched; a model that is found nowhere is left out, and a broken file is reported.
 *
 * @param project folder that holds `models/`
 */
export function readModels(
  settings: StackSettings,
  project: string,
  home: string,
): NonNullable<Evidence["models"]> {
  const found: Record<string, ModelEvidence> = {};
  // Machines that are here come first: of the others only `models/` is read.
  const machines = Object.values(settings.machines).sort((a, b) => Number(isHere(b)) - Number(isHere(a)));
  for (const machine of machines) {
    const cache = isHere(machine) ? onMachine(machine.modelCache, { home }) : undefined;
    for (const { model } of Object.values(machine.inferenceServers)) {
      if (Object.hasOwn(found, model.id)) continue;
      const evidence = readModel(model.id, project, cache);
      if (evidence !== undefined) found[model.id] = evidence;
    }
  }
  return found;
}

function readModel(id: string, project: string, cache: string | undefined): ModelEvidence | undefined {
  const folder = id.replaceAll("/", "--");
  const kept = join(project, "models", folder);
  const snapshot = cache && newestSnapshot(join(cache, "hub", `models--${folder}`));
  const weights = snapshot === undefined ? undefined : weightsOf(snapshot);
  const config = existsSync(join(kept, CONFIG)) ? join(kept, CONFIG) : snapshot && join(snapshot, CONFIG);
  if (config === undefined || !existsSync(config)) return undefined;
  const source = config.startsWith(kept) ? join("models", folder, CONFIG) : config;
  try {
    const starts = readStarts(join(kept, STARTS));
    return {
      source,
      config: readJsonFile(config, { pythonNumbers: true }).value,
      ...(weights === undefined ? {} : { weightsGB: weights }),
      ...(starts.length === 0 ? {} : { starts }),
    };
  } catch (error) {
    if (error instanceof UnreadableInput) return { source, problem: error.reason };
    if (error instanceof FaultyInput)
      return { source, problem: error.faults.map((fault) => faultLine(fault)).join("; ") };
    throw error;
  }
}

/** The snapshot that `main` points at, as huggingface_hub lays a cache out; else the only one there is. */
function newestSnapshot(repository: string): string | undefined {
  const snapshots = join(repository, "snapshots");
  try {
    const main = join(repository, "refs", "main");
    const commits = readdirSync(snapshots);
    const commit = existsSync(main)
      ? readFileSync(main, "utf8").trim()
      : commits.length === 1
        ? commits[0]
        : undefined;
    return commit !== undefined && commits.includes(commit) ? join(snapshots, commit) : undefined;
  } catch {
    return undefined;
  }
}

/** Size of the weights in GB: by the snapshot's index, else the sum of its safetensors files. */
function weightsOf(snapshot: string): number | undefined {
  try {
    const index = join(snapshot, "model.safetensors.index.json");
    if (existsSync(index)) {
      const { value } = readJsonFile(index);
      const size = z.object({ metadata: z.object({ total_size: z.number().positive() }) }).safeParse(value);
      if (size.success) return size.data.metadata.total_size / BYTES_PER_GB;
    }
    const files = readdirSync(snapshot).filter((file) => file.endsWith(".safetensors"));
    const bytes = files.reduce((sum, file) => sum + statSync(join(snapshot, file)).size, 0);
    return bytes > 0 ? bytes / BYTES_PER_GB : undefined;
  } catch {
    return undefined;
  }
}

function readStarts(file: string): readonly PublishedStart[] {
  if (!existsSync(file)) return [];
  const document = readJsonFile(file);
  const parsed = publishedStarts.safeParse(document.value);
  if (parsed.success) return parsed.data.starts;
  throw new FaultyInput(file, schemaFaults(publishedStarts, document.value, parsed.error.issues, document));
}
