import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { jsonIn } from "@local-serving/base/faults/json";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { BYTES_PER_GB } from "@local-serving/base/units/memory";
import * as z from "zod";
import { isHere } from "./address";
import { filesOf } from "./files";
import type { CommandPlace } from "./onMachine";

/** How huggingface_hub names the folder of a model below `hub/`. */
const MODEL_FOLDER = /^models--(.+)$/;

/**
 * The files of a Hugging Face cache such as ~/.cache/huggingface, here or on another machine. Links
 * are followed.
 */
export interface ModelCache {
  readonly path: string;
  /** Names in a folder; none where it can't be read. */
  names(folder: string): readonly string[];
  /** Bytes of a file; `undefined` where it isn't there. */
  size(file: string): number | undefined;
  /** A small file that tells of others: a config, an index, a reference, the token. */
  text(file: string): string | undefined;
}

/** More than the index of any model, which names each of its tensors. */
const LARGEST_TEXT_BYTES = 64 * 1024 ** 2;

/** A cache of this computer, read as it is asked. */
export function cacheHere(path: string): ModelCache {
  const read = <Value>(value: () => Value) => {
    try {
      return value();
    } catch {
      return undefined;
    }
  };
  return {
    path,
    names: (folder) => read(() => readdirSync(folder)) ?? [],
    size: (file) => read(() => statSync(file).size),
    text: (file) => read(() => readTextFile(file, LARGEST_TEXT_BYTES)),
  };
}

/** Files of a cache on another machine whose text is read. */
const TOLD =
  /\/(refs\/[^/]+|(?:adapter_|tokenizer_)?config\.json|model\.safetensors\.index\.json|chat_template\.jinja)$/;

/**
 * A machine's cache; over ssh as it is now, of one model or of all, and without texts where only
 * sizes are asked for.
 */
export async function cacheOn(
  machine: CommandPlace,
  path: string,
  id?: string,
  withTexts = true,
): Promise<ModelCache> {
  if (isHere(machine)) return cacheHere(path);
  const files = filesOf(machine);
  const below = id === undefined ? join(path, "hub") : repositoryFolder(path, id);
  const list = ["find", "-L", below, "-type", "f", "-printf", "%s %p\\n"];
  const lines = (await files.ask(list)).out.split("\n").filter(Boolean);
  const sizes = new Map(
    lines.map((line) => [line.slice(line.indexOf(" ") + 1), Number.parseInt(line, 10)]),
  );
  const told = withTexts
    ? [...[...sizes.keys()].filter((file) => TOLD.test(file)), join(path, "token")]
    : [];
  const texts = new Map(
    await Promise.all(told.map(async (file) => [file, await files.text(file)] as const)),
  );
  return {
    path,
    names: (folder) => {
      const inside = [...sizes.keys()].filter((file) => file.startsWith(`${folder}/`));
      return [
        ...new Set(inside.map((file) => file.slice(folder.length + 1).split("/", 1)[0] ?? "")),
      ];
    },
    size: (file) => sizes.get(file),
    text: (file) => texts.get(file),
  };
}

/** A model whose files lie in a cache. */
export interface CachedModel {
  readonly id: string;
  /** Size of its weights in GB (10^9 bytes), by its index or its files. */
  readonly weightsGB?: number;
  /** Whether every file of the weights is there. */
  readonly whole: boolean;
}

/**
 * What huggingface_hub 2.4 and later put into `hub/blobs` if models share their files there: those
 * of a model are links then, and deleting its folder frees next to nothing
 * (huggingface_hub/utils/_shared_blobs.py).
 */
export const SHARED_BLOBS_MARK = ".huggingface-shared-blobs";

/** A file on its way; since 2.4 each process has its own, and leaves it behind if it is killed. */
const ON_ITS_WAY = /^(.+?)(?:\.[0-9a-f]{8})?\.incomplete$/;

/** The models of a cache, by name. */
export function cachedModels(cache: ModelCache): CachedModel[] {
  return [...cache.names(join(cache.path, "hub"))].sort().flatMap((folder) => {
    const [, name] = MODEL_FOLDER.exec(folder) ?? [];
    if (name === undefined) return [];
    const id = name.replaceAll("--", "/");
    const snapshot = snapshotOf(cache, id);
    const weights = snapshot === undefined ? undefined : weightsOf(cache, snapshot);
    const whole = isWhole(cache, id);
    return [{ id, whole, ...(weights === undefined ? {} : { weightsGB: weights }) }];
  });
}

/**
 * Whether a cache has every file of a model's weights, and none on its way, as far as its own files
 * tell.
 */
export function isWhole(cache: ModelCache, id: string, revision?: string): boolean {
  const snapshot = snapshotOf(cache, id, revision);
  if (snapshot === undefined || weightsOf(cache, snapshot) === undefined) return false;
  const blobs = cache.names(join(repositoryFolder(cache.path, id), "blobs"));
  const loading = blobs.some((blob) => {
    const [, whole] = ON_ITS_WAY.exec(blob) ?? [];
    return whole !== undefined && !blobs.includes(whole);
  });
  const shards = new Set(Object.values(indexOf(cache, snapshot)?.weight_map ?? {}));
  return !loading && [...shards].every((file) => cache.size(join(snapshot, file)) !== undefined);
}

/** The folder of a model in a cache as huggingface_hub lays it out. */
export function repositoryFolder(cache: string, id: string): string {
  return join(cache, "hub", `models--${modelFolder(id)}`);
}

/**
 * A model's snapshot in a cache as huggingface_hub lays it out: that of the revision (a commit)
 * where one is asked for, else that which `main` points at, else the only one there is.
 */
export function snapshotOf(cache: ModelCache, id: string, revision?: string): string | undefined {
  const repository = repositoryFolder(cache.path, id);
  const snapshots = join(repository, "snapshots");
  const commits = cache.names(snapshots);
  const only = commits.length === 1 ? commits[0] : undefined;
  const commit = revision ?? cache.text(join(repository, "refs", "main"))?.trim() ?? only;
  return commit !== undefined && commits.includes(commit) ? join(snapshots, commit) : undefined;
}

const index = z.object({
  metadata: z.object({ total_size: z.number().positive() }).optional(),
  weight_map: z.record(z.string(), z.string()).optional(),
});

/** Size of a snapshot's weights in GB: by its index, else the sum of its safetensors files. */
export function weightsOf(cache: ModelCache, snapshot: string): number | undefined {
  const size = indexOf(cache, snapshot)?.metadata?.total_size;
  if (size !== undefined) return size / BYTES_PER_GB;
  const names = cache.names(snapshot);
  const tensors = names.filter((file) => file.endsWith(".safetensors"));
  const files = tensors.length > 0 ? tensors : names.filter((file) => PICKLED.test(file));
  const bytes = files.reduce((sum, file) => sum + (cache.size(join(snapshot, file)) ?? 0), 0);
  return bytes > 0 ? bytes / BYTES_PER_GB : undefined;
}

/** Weights as PyTorch keeps them, which vLLM loads where there are no safetensors. */
const PICKLED = /^pytorch_model(?:-\d+-of-\d+)?\.bin$/;

function indexOf(cache: ModelCache, snapshot: string): z.output<typeof index> | undefined {
  const text = cache.text(join(snapshot, "model.safetensors.index.json"));
  return text === undefined ? undefined : index.safeParse(jsonIn(text)).data;
}

/** A model's id as the name of a folder, with `--` for the slash; `..` names no folder above. */
export const modelFolder = (id: string): string =>
  /^\.{1,2}$/.test(id) ? id.replaceAll(".", "%2E") : id.replaceAll("/", "--");

/** Bytes that a cache has of a model, with what is on its way. */
export function bytesHere(cache: ModelCache, id: string): number {
  const folder = join(repositoryFolder(cache.path, id), "blobs");
  return cache.names(folder).reduce((sum, blob) => sum + (cache.size(join(folder, blob)) ?? 0), 0);
}

/** The config.json of a model in a cache, with its text; `undefined` where it isn't there. */
export function snapshotConfig(
  cache: ModelCache,
  id: string,
): { readonly file: string; readonly text: string } | undefined {
  const snapshot = snapshotOf(cache, id);
  const file = snapshot && join(snapshot, "config.json");
  const text = file && cache.text(file);
  return file === undefined || text === undefined ? undefined : { file, text };
}
