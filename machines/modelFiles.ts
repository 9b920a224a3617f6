import { createHash } from "node:crypto";
import {
  closeSync,
  type Dirent,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { join, relative } from "node:path";
import { attempt } from "../faults/defined";

/** What was read of a folder that holds a model or an adapter. */
export interface ModelFiles {
  /** Why it could not be read. */
  readonly problem?: string;
  /** Where it leads, if it is a link itself. */
  readonly leadsTo?: string;
  /** Names of the files in it, sorted; those of folders below it are left out. */
  readonly files: readonly string[];
  /** Links in it, or below it, that lead out of it, with where they lead. */
  readonly linksOutside: readonly { readonly link: string; readonly target: string }[];
  /** Text of its adapter_config.json. */
  readonly adapterConfig?: string;
  /** Bytes of its safetensors files. */
  readonly weightsBytes: number;
  /** Fingerprint of what vLLM reads of it. */
  readonly digest?: string;
}

/** Files that vLLM reads of a model; others, such as an optimizer's, change nothing. */
const READ_BY_VLLM = /\.(?:safetensors|json|jinja|model|tiktoken|txt|py|bin|pt|pth)$/;
const NOT_READ = /^(?:optimizer|scheduler|scaler|rng_state|training_args|trainer_state)\b/;

/** What vLLM reads of an adapter (0.30 `lora/lora_model.py`, `lora/peft_helper.py`). */
const ADAPTER_CONFIG = "adapter_config.json";
const READ_OF_ADAPTER = /^adapter_(?:config\.json|model\.(?:safetensors|bin|pt))$/;

/** Up to this size a file counts with its content; a whole model has many times as much. */
const WHOLE_BYTES = 256 * 1024 ** 2;

/** What a larger file counts with: a safetensors file begins with the table of its tensors. */
const HEAD_BYTES = 1024 ** 2;

/** More entries than any model has: a folder with so many is something else. */
const MOST_ENTRIES = 10_000;

/**
 * Reads a folder of this computer. `inCache`: it is a snapshot, whose files are links into the
 * cache that is mounted with it.
 */
export function readModelFiles(path: string, inCache = false): ModelFiles {
  const none = { files: [], linksOutside: [], weightsBytes: 0 };
  const real = attempt(() => realpathSync(path));
  if (real === undefined) return { ...none, problem: "is not there" };
  if (attempt(() => statSync(real))?.isDirectory() !== true)
    return { ...none, problem: "is not a folder" };
  const entries = entriesBelow(real);
  if (typeof entries === "string") return { ...none, problem: entries };
  const isHere = (name: string) => attempt(() => statSync(join(real, name)))?.isFile() === true;
  const files =
    attempt(() => readdirSync(real))
      ?.filter(isHere)
      .sort() ?? [];
  const adapterConfig = attempt(() => readFileSync(join(real, ADAPTER_CONFIG), "utf8"));
  const isRead = (name: string) =>
    adapterConfig === undefined
      ? READ_BY_VLLM.test(name) && !NOT_READ.test(name)
      : READ_OF_ADAPTER.test(name);
  return {
    ...(real === path || inCache ? {} : { leadsTo: real }),
    files,
    linksOutside: inCache ? [] : entries.flatMap((entry) => linkOutside(real, entry)),
    ...(adapterConfig === undefined ? {} : { adapterConfig }),
    weightsBytes: files
      .filter((name) => name.endsWith(".safetensors"))
      .reduce((sum, name) => sum + (attempt(() => statSync(join(real, name)).size) ?? 0), 0),
    ...digestOf(real, files.filter(isRead)),
  };
}

/** Everything below a folder, or why that can't be told. */
function entriesBelow(folder: string): Dirent[] | string {
  const found: Dirent[] = [];
  const waiting = [folder];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const here = at;
    const entries = attempt(() => readdirSync(here, { withFileTypes: true }));
    if (entries === undefined) return `can't be read (${relative(folder, here) || "."})`;
    found.push(...entries);
    if (found.length > MOST_ENTRIES)
      return `has more than ${MOST_ENTRIES} files: no model has so many`;
    waiting.push(
      ...entries.filter((each) => each.isDirectory()).map(({ name }) => join(here, name)),
    );
  }
  return found;
}

function linkOutside(folder: string, entry: Dirent): ModelFiles["linksOutside"][number][] {
  if (!entry.isSymbolicLink()) return [];
  const path = join(entry.parentPath, entry.name);
  const target = attempt(() => realpathSync(path)) ?? "nothing";
  return target.startsWith(`${folder}/`) ? [] : [{ link: relative(folder, path), target }];
}

/**
 * A fingerprint over names, sizes and contents. A file above 256 MiB counts with its first MiB and
 * the time of its last change instead of its content, which would take minutes to read.
 */
function digestOf(folder: string, files: readonly string[]): { digest?: string } {
  const hash = createHash("sha256");
  for (const name of files) {
    const path = join(folder, name);
    const state = attempt(() => statSync(path));
    const bytes = state && attempt(() => contentOf(path, state.size));
    if (state === undefined || bytes === undefined) return {};
    hash.update(`${name}\0${state.size}\0`);
    if (state.size > WHOLE_BYTES) hash.update(`${Math.trunc(state.mtimeMs)}\0`);
    hash.update(bytes);
  }
  return files.length === 0 ? {} : { digest: hash.digest("hex") };
}

function contentOf(path: string, size: number): Buffer {
  if (size <= WHOLE_BYTES) return readFileSync(path);
  const head = Buffer.alloc(HEAD_BYTES);
  const file = openSync(path, "r");
  try {
    return head.subarray(0, readSync(file, head, 0, HEAD_BYTES, 0));
  } finally {
    closeSync(file);
  }
}
