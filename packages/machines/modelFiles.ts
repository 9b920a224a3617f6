import { createHash } from "node:crypto";
import { type Dirent, readdirSync, readSync, realpathSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { attempt } from "@local-serving/base/faults/defined";
import { ofRegularFile, readTextFile } from "@local-serving/base/faults/textFile";

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
  /** Sockets, pipes and devices in it, or below it; absent without any. */
  readonly special?: readonly string[];
  /** Files of those that vLLM reads that can't be read here; absent without any. */
  readonly unread?: readonly string[];
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

/** So much of a folder counts with its content: hashing it takes about two seconds. */
const WHOLE_FOLDER_BYTES = 1024 ** 3;

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
  const linksOutside = inCache ? [] : entries.flatMap((entry) => linkOutside(real, entry));
  const special = entries.filter(isSpecial).map((entry) => relative(real, pathOf(entry)));
  // What a link leads to outside may be a secret, or a device without an end.
  const isOurs = (name: string) => !linksOutside.some(({ link }) => link === name);
  const adapterConfig =
    files.includes(ADAPTER_CONFIG) && isOurs(ADAPTER_CONFIG)
      ? attempt(() => readTextFile(join(real, ADAPTER_CONFIG)))
      : undefined;
  const isRead = (name: string) =>
    !files.includes(ADAPTER_CONFIG)
      ? READ_BY_VLLM.test(name) && !NOT_READ.test(name)
      : READ_OF_ADAPTER.test(name);
  return {
    ...(real === path || inCache ? {} : { leadsTo: real }),
    files,
    linksOutside,
    ...(special.length === 0 ? {} : { special }),
    ...(adapterConfig === undefined ? {} : { adapterConfig }),
    weightsBytes: files
      .filter((name) => name.endsWith(".safetensors"))
      .reduce((sum, name) => sum + (attempt(() => statSync(join(real, name)).size) ?? 0), 0),
    ...digestOf(real, files.filter(isRead).filter(isOurs)),
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

const pathOf = ({ parentPath, name }: Dirent): string => join(parentPath, name);

const isSpecial = (entry: Dirent): boolean =>
  !(entry.isFile() || entry.isDirectory() || entry.isSymbolicLink());

function linkOutside(folder: string, entry: Dirent): ModelFiles["linksOutside"][number][] {
  if (!entry.isSymbolicLink()) return [];
  const path = pathOf(entry);
  const target = attempt(() => realpathSync(path)) ?? "nothing";
  return target === folder || target.startsWith(`${folder}/`)
    ? []
    : [{ link: relative(folder, path), target }];
}

/**
 * A fingerprint over names, sizes and contents, with the names of what can't be read. A file above
 * 256 MiB, and each where all together are above 1 GiB, counts with its first MiB and the time of
 * its last change instead of its content, which would take minutes to read. A process that plans
 * many times reads files that stay as they are once.
 */
function digestOf(folder: string, names: readonly string[]): Digest {
  const state = settledState(folder, names);
  if (state === undefined) return readDigest(folder, names);
  const digest = DIGESTS.get(state) ?? readDigest(folder, names);
  DIGESTS.set(state, digest);
  return digest;
}

type Digest = Pick<ModelFiles, "digest" | "unread">;

/** Fingerprints by the state of their files. */
const DIGESTS = new Map<string, Digest>();

/** A file that was changed no longer ago may change again at what its disk calls the same time. */
const SETTLED_MILLISECONDS = 2000;

/** What any change of these files changes; `undefined` where one was changed just now. */
function settledState(folder: string, names: readonly string[]): string | undefined {
  const latest = Date.now() - SETTLED_MILLISECONDS;
  const states = names.map((name) => {
    const file = attempt(() => statSync(join(folder, name), { bigint: true }));
    return file === undefined || file.ctimeMs > latest
      ? undefined
      : [name, file.dev, file.ino, file.size, file.ctimeNs].join(" ");
  });
  return states.includes(undefined) ? undefined : [folder, ...states].join("\0");
}

function readDigest(folder: string, names: readonly string[]): Digest {
  const sizes = names.map((name) => attempt(() => statSync(join(folder, name)).size) ?? 0);
  const small = sizes.filter((size) => size <= WHOLE_BYTES).reduce((sum, size) => sum + size, 0);
  const most = small > WHOLE_FOLDER_BYTES ? HEAD_BYTES : WHOLE_BYTES;
  const hash = createHash("sha256");
  const unread = names.filter((name) => {
    const read = attempt(() => readContent(join(folder, name), most));
    if (read === undefined) return true;
    hash.update(`${name}\0${read.size}\0`);
    if (read.changed !== undefined) hash.update(`${read.changed}\0`);
    hash.update(read.bytes);
    return false;
  });
  if (unread.length > 0) return { unread };
  return names.length === 0 ? {} : { digest: hash.digest("hex") };
}

/** A file's content, or the beginning of a larger one with the time of its last change. */
function readContent(path: string, most: number) {
  return ofRegularFile(path, (file, { size, mtimeMs }) => {
    const bytes = Buffer.alloc(size <= most ? size : HEAD_BYTES);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, length, bytes.length - length, length);
    const changed = size <= most ? undefined : Math.trunc(mtimeMs);
    return { size, changed, bytes: bytes.subarray(0, length) };
  });
}
