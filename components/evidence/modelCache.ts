import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { readJsonFile } from "../../faults/jsonDocument";
import { modelFolder } from "../catalogue/readCatalogue";

/** A GB is 10^9 bytes. */
export const BYTES_PER_GB = 1e9;

/** How huggingface_hub names the folder of a model below `hub/`. */
const MODEL_FOLDER = /^models--(.+)$/;

/** A model whose files lie in a Hugging Face cache. */
export interface CachedModel {
  readonly id: string;
  /** Size of its weights in GB (10^9 bytes), by its index or its files. */
  readonly weightsGB?: number;
  /** Whether every file of the weights is there. */
  readonly whole: boolean;
}

/** The models of a cache folder such as ~/.cache/huggingface, by name; none where it can't be read. */
export function cachedModels(cache: string): CachedModel[] {
  const hub = join(cache, "hub");
  return listed(hub)
    .sort()
    .flatMap((folder) => {
      const [, name] = MODEL_FOLDER.exec(folder) ?? [];
      if (name === undefined) return [];
      const id = name.replaceAll("--", "/");
      const snapshot = snapshotOf(cache, id);
      const weights = snapshot === undefined ? undefined : weightsOf(snapshot);
      const whole = isWhole(cache, id);
      return [{ id, whole, ...(weights === undefined ? {} : { weightsGB: weights }) }];
    });
}

/** Whether a cache has every file of a model's weights, and none on its way, as far as its own files tell. */
export function isWhole(cache: string, id: string, revision?: string): boolean {
  const snapshot = snapshotOf(cache, id, revision);
  if (snapshot === undefined || weightsOf(snapshot) === undefined) return false;
  const loading = listed(join(repositoryIn(cache, id), "blobs")).some((blob) => blob.endsWith(".incomplete"));
  return !loading && shardsOf(snapshot).every(existsSync);
}

/** The folder of a model in a cache as huggingface_hub lays it out. */
export function repositoryIn(cache: string, id: string): string {
  return join(cache, "hub", `models--${modelFolder(id)}`);
}

/**
 * A model's snapshot in a cache as huggingface_hub lays it out: that of the revision (a commit) where one is asked for, else
 * that which `main` points at, else the only one there is.
 */
export function snapshotOf(cache: string, id: string, revision?: string): string | undefined {
  const repository = repositoryIn(cache, id);
  const snapshots = join(repository, "snapshots");
  try {
    const main = join(repository, "refs", "main");
    const commits = readdirSync(snapshots);
    const only = commits.length === 1 ? commits[0] : undefined;
    const commit = revision ?? (existsSync(main) ? readFileSync(main, "utf8").trim() : only);
    return commit !== undefined && commits.includes(commit) ? join(snapshots, commit) : undefined;
  } catch {
    return undefined;
  }
}

const index = z.object({
  metadata: z.object({ total_size: z.number().positive() }).optional(),
  weight_map: z.record(z.string(), z.string()).optional(),
});

/** Size of a snapshot's weights in GB: by its index, else the sum of its safetensors files. */
export function weightsOf(snapshot: string): number | undefined {
  try {
    const size = indexOf(snapshot)?.metadata?.total_size;
    if (size !== undefined) return size / BYTES_PER_GB;
    const files = listed(snapshot).filter((file) => file.endsWith(".safetensors"));
    const bytes = files.reduce((sum, file) => sum + statSync(join(snapshot, file)).size, 0);
    return bytes > 0 ? bytes / BYTES_PER_GB : undefined;
  } catch {
    return undefined;
  }
}

/** Every file of weights that a snapshot's index names. */
function shardsOf(snapshot: string): string[] {
  const files = new Set(Object.values(indexOf(snapshot)?.weight_map ?? {}));
  return [...files].map((file) => join(snapshot, file));
}

function indexOf(snapshot: string): z.output<typeof index> | undefined {
  const file = join(snapshot, "model.safetensors.index.json");
  return existsSync(file) ? index.safeParse(readJsonFile(file).value).data : undefined;
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
