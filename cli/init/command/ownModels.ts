import { posix } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { isRecord, putAt } from "@local-serving/base/faults/json";
import { isIn } from "@local-serving/machines/home";
import { namedAdapters } from "@local-serving/vllm/argv/adapters";
import { isOn, type ServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { isText } from "@local-serving/vllm/argv/unknown";
import { inferenceServer, modelInside } from "../../../components/settings";
import { fitsServer, LEAST_SERVER, serverFault } from "../../models/leastServer";
import { AS_COMMANDED, type ServerValue } from "../../models/serverValues";
import { CACHE_INSIDE, folderOf, type Volume } from "./dockerOptions";
import { hubSnapshot, type Snapshot } from "./snapshot";
import type { Launch } from "./started";
import { asWritten, type LeftOut, refuseCommand } from "./words";

/** What a server gets of a command's own folders: its model, adapters, and what else it reads. */
export interface OwnModels {
  /** The model: a hub id, or its folder on the machine where that is known. */
  readonly model: string;
  /** The other values, with paths as the server's container has them. */
  readonly values: readonly ServerValue[];
  readonly leftOut: readonly LeftOut[];
  /** What to mend before `up`, a sentence each. */
  readonly mend: readonly string[];
  /** The same of the model alone: without it no start is sure. */
  readonly lacks: readonly string[];
  /** Options of the container that the file carries in another form, as they were written. */
  readonly carried: readonly string[];
}

type Adapter = Readonly<Record<string, string>>;

/** What vLLM has for each where a command names none (0.30 `config/lora.py`). */
const USUAL_RANK = 16;
const USUAL_SLOTS = 1;

const USUAL = "not in the command: vLLM's own default";

/** What becomes of the folders that a command gives its server. */
export function ownModels(
  args: ServerArguments,
  { container, image }: Launch,
  { model, values }: { readonly model: string; readonly values: readonly ServerValue[] },
): OwnModels {
  const volumes = container?.volumes ?? [];
  // A recipe with an image runs in a container that its own program makes.
  const places: Places = { volumes, inContainer: (container ?? image) !== undefined };
  const found = onMachine(model, places);
  const isHad = found !== undefined && fitsServer({ model: { id: found.path } });
  const own = isHad ? found : toFillIn(model, places);
  const isFitting = own !== undefined;
  const id = isFitting ? own.path : model;
  const adapters = adaptersOf(args, places);
  const folder = isFitting
    ? modelInside(inferenceServer.parse({ ...LEAST_SERVER, model: { id } }))
    : undefined;
  const moved = movedValues(values, { ...places, folder, inside: model });
  const used = [...(isFitting ? [own.volume] : []), ...adapters.used, ...moved.used];
  // A folder may be mounted where it lies on the machine.
  const isLost = !isFitting && isElsewhere(model, id);
  const isInside = places.inContainer && isLost && model.startsWith("/");
  return {
    model: id,
    values: [...(isInside ? [IN_IMAGE] : []), ...moved.values, ...adapters.values],
    leftOut: adapters.leftOut,
    mend: [...adapters.mend, ...moved.mend],
    lacks:
      own !== undefined && !isHad
        ? [toFillInText(model, own, found?.path)]
        : !isLost
          ? []
          : isInside
            ? [insideText(model)]
            : folderText(model, id, places),
    carried: used.flatMap((volume) => volume?.what ?? []),
  };
}

/** The folder of the machine that a snapshot's cache is, and the volume that it comes by. */
export function cacheOf({ cache }: Snapshot, { container, image }: Launch) {
  const inContainer = (container ?? image) !== undefined;
  if (cache === undefined || isIn(cache, CACHE_INSIDE)) return undefined;
  const found = onMachine(cache, { volumes: container?.volumes ?? [], inContainer });
  return found && { modelCache: folderOf(found.path), volume: found.volume };
}

interface Places {
  readonly volumes: readonly Volume[];
  readonly inContainer: boolean;
}

/** Where a path of the server's lies on the machine; `undefined` where that isn't known. */
function onMachine(
  path: string,
  { volumes, inContainer }: Places,
): { readonly path: string; readonly volume?: Volume } | undefined {
  if (!inContainer) return /^(?:\/|~\/)/.test(path) ? { path } : undefined;
  const volume = volumeOf(path, volumes);
  if (volume?.source === undefined) return undefined;
  const rest = posix.relative(volume.target, path);
  return { path: rest === "" ? volume.source : `${volume.source}/${rest}`, volume };
}

/** The volume that a path lies in: the innermost, as Docker mounts them. */
const volumeOf = (path: string, volumes: readonly Volume[]): Volume | undefined =>
  volumes
    .filter(({ target }) => isIn(path, target))
    .sort((one, other) => other.target.length - one.target.length)[0];

/** More adapters than any server has: each is judged with those before it. */
const MOST_ADAPTERS = 100;

/** The adapters of a command, and their slots. */
function adaptersOf(args: ServerArguments, places: Places) {
  const { adapters: named, unread } = namedAdapters(args);
  if (named.length > MOST_ADAPTERS)
    refuseCommand(
      `It names ${named.length} adapters, and at most ${MOST_ADAPTERS} are read. Give those that its server needs.`,
    );
  const leftOut: LeftOut[] = unread.map((word) => ({
    what: `--lora-modules ${isText(word) ? asWritten(word) : ""}`.trim(),
    why: "it names no adapter that vLLM can read.",
  }));
  const mend: string[] = [];
  const used: (Volume | undefined)[] = [];
  const [own = "", ...aliases] = (args.options.get("served-model-name") ?? []).filter(isText);
  const kept: Adapter[] = [];
  for (const { name, path } of named) {
    const found = adapterAt(path, places);
    const adapter = { name, ...found?.keys };
    const names = own === "" ? {} : { servedModelName: own, aliases };
    const why =
      found === undefined ? NOT_KNOWN : serverFault({ ...names, adapters: [...kept, adapter] });
    if (why === undefined) {
      used.push(found?.volume);
      kept.push(adapter);
      continue;
    }
    leftOut.push({ what: `the adapter ${name}`, why });
    mend.push(
      found?.keys.id === undefined || found.keys.revision !== undefined
        ? `The adapter ${name} (${path}) is not in this file: add it to \`adapters\`, with a name of its own and its folder on the machine as \`path\`.`
        : `The adapter ${name} is not in this file, since its commit isn't known: \`serving models use ${path}\` prints its entry for \`adapters\`.`,
    );
  }
  if (named.length + unread.length === 0 && isOn(args, "enable-lora"))
    leftOut.push({
      what: "--enable-lora",
      why: "the command names no adapter: declare one in `adapters`.",
    });
  const slots =
    kept.length === 0 ? { values: [], leftOut: slotOptions(args) } : slotValues(args, kept);
  return { ...slots, leftOut: [...leftOut, ...slots.leftOut], mend, used };
}

/** The options of slots that no adapter here takes. */
const slotOptions = ({ options }: ServerArguments): LeftOut[] =>
  SLOTS.flatMap(([name, setting]) => {
    const given = (options.get(name) ?? []).filter(isText);
    const what = asWritten([`--${name}`, ...given].join(" "));
    return options.has(name) ? [{ what, why: ofSlots(setting), words: [`--${name}`] }] : [];
  });

const ofSlots = (setting: string) => `with an adapter in \`adapters\`, \`${setting}\` says it.`;

const SLOTS = [
  ["max-lora-rank", "maxLoraRank"],
  ["max-loras", "maxLoras"],
  ["max-cpu-loras", "maxCpuLoras"],
  ["lora-target-modules", "loraTargetModules"],
] as const;

const NOT_KNOWN = "its folder on the machine is not known.";

/** Where an adapter is, in the keys of the stack file. */
function adapterAt(
  path: string,
  places: Places,
): { readonly keys: Adapter; readonly volume?: Volume | undefined } | undefined {
  const { id, revision } = hubSnapshot(path) ?? {};
  if (id !== undefined && revision !== undefined) return { keys: { id, revision } };
  if (/^[\w.-]+\/[\w.-]+$/.test(path) && !path.startsWith(".")) return { keys: { id: path } };
  const found = onMachine(path.replace(/(.)\/+$/, "$1"), places);
  return found && { keys: { path: found.path }, volume: found.volume };
}

/** The slots for adapters, at vLLM's own defaults where a command says nothing. */
function slotValues(args: ServerArguments, adapters: readonly Adapter[]) {
  const number = (name: string) => {
    const [word] = args.options.get(name) ?? [];
    const read = Number(isText(word) ? word : Number.NaN);
    return Number.isInteger(read) && read > 0 ? read : undefined;
  };
  const leftOut: LeftOut[] = [];
  const atMost = (name: string, given: number): number => {
    const most = adapters.length;
    if (given > most)
      leftOut.push({
        what: `--${name} ${given}`,
        why: `it is ${most} here, as many as there are adapters: more slots would only take memory.`,
      });
    return Math.min(given, most);
  };
  const slots = number("max-loras");
  const kept = number("max-cpu-loras");
  const targets = (args.options.get("lora-target-modules") ?? []).filter(isText);
  const value = (key: string, of: ServerValue["value"], why = AS_COMMANDED): ServerValue => ({
    path: [key],
    value: of,
    why,
  });
  const orUsual = (key: string, given: number | undefined, of: number) =>
    value(key, of, given === undefined ? USUAL : AS_COMMANDED);
  const rank = number("max-lora-rank");
  const values = [value("adapters", adapters), orUsual("maxLoraRank", rank, rank ?? USUAL_RANK)];
  if (slots !== undefined || adapters.length !== USUAL_SLOTS)
    values.push(orUsual("maxLoras", slots, atMost("max-loras", slots ?? USUAL_SLOTS)));
  if (kept !== undefined) values.push(value("maxCpuLoras", atMost("max-cpu-loras", kept)));
  if (targets.length > 0) values.push(value("loraTargetModules", targets));
  return { values, leftOut };
}

interface Moved extends Places {
  /** The model's folder inside a server's container, where it is one of the machine. */
  readonly folder: string | undefined;
  /** The same in the command. */
  readonly inside: string;
}

interface MovedWord {
  readonly word: string;
  /** The volume that it needs, and the mount of that. */
  readonly mount?: readonly [Volume, Adapter];
  /** Why nothing is there in the server's container. */
  readonly lost?: string;
  /** What to do about it, where that isn't the usual. */
  readonly remedy?: string;
}

/** A word of a value as the server's container has it; `before` stands in front of it. */
function movedWord(
  word: string,
  { key, before }: { readonly key: string; readonly before?: unknown },
  { folder, inside, volumes, inContainer }: Moved,
): MovedWord {
  if (folder !== undefined && isIn(word, inside))
    return { word: `${folder}${word.slice(inside.length)}` };
  if (!inContainer && OF_MACHINE.test(word) && before !== "--root-path")
    return { word, lost: "a path of the machine that the server's container lacks" };
  const volume = word.startsWith("/") ? volumeOf(word, volumes) : undefined;
  const isDraft = key === "speculative" && /^[/~]/.test(word) && !isIn(word, CACHE_INSIDE);
  if (volume === undefined)
    return isDraft && inContainer ? { word, lost: NO_DRAFT, remedy: DRAFT_FOLDER } : { word };
  const mount = { from: volume.source ?? "", to: volume.target };
  // A single file is no folder that could be mounted.
  const isFile = word === volume.target && /\.\w+$/.test(word);
  if (!isFile && fitsServer({ mounts: [mount] })) return { word, mount: [volume, mount] };
  const remedy =
    volume.isOfShell && !isFile
      ? `write \`mounts: [{from: FOLDER, to: ${volume.target}}]\` below the server, with the folder's path on the machine`
      : undefined;
  return { word, lost: "only in a volume of the command's own container", ...defined({ remedy }) };
}

const NO_DRAFT = "no folder that a volume brings, so the image would have to have the draft model";
const DRAFT_FOLDER = "write its hub id, or a folder of `mounts`";

/** Values with paths as the server's container has them, and the mounts that they need. */
function movedValues(values: readonly ServerValue[], places: Moved) {
  const mounts = new Map<Volume, Adapter>();
  const mend: string[] = [];
  const moved = (written: string, key: string, before?: unknown): string => {
    const { word, mount, lost, remedy } = movedWord(written, { key, before }, places);
    if (mount !== undefined) mounts.set(...mount);
    if (lost !== undefined)
      mend.push(`\`${key}\` names ${word}, which is ${lost}: ${remedy ?? NO_FILE}.`);
    return word;
  };
  const deep = (value: unknown, key: string, before?: unknown): ServerValue["value"] => {
    if (typeof value === "string") return moved(value, key, before);
    if (Array.isArray(value)) return value.map((each, index) => deep(each, key, value[index - 1]));
    if (!isRecord(value)) return value as ServerValue["value"];
    const copy: Record<string, ServerValue["value"]> = {};
    for (const [name, each] of Object.entries(value)) putAt(copy, [name], deep(each, key));
    return copy;
  };
  const kept = values.map((each) => ({ ...each, value: deep(each.value, each.path.join(".")) }));
  const added = { path: ["mounts"], value: [...mounts.values()], why: AS_COMMANDED };
  return {
    values: mounts.size === 0 ? kept : [...kept, added],
    used: [...mounts.keys()],
    mend,
  };
}

/** A path of the machine that a command without a container runs on, also as `NAME=PATH`. */
const OF_MACHINE = /^(?:[\w-]+=)?(?:\.{1,2}|~)?\/./;

const NO_FILE = "remove that argument, or use an image that has the file";

/** Whether a model's path is still that of the command, and not one that servers here have, too. */
const isElsewhere = (model: string, id: string): boolean =>
  /^[/.~]/.test(model) && id === model && !isIn(model, CACHE_INSIDE);

/** A path of the command's own container is none of the machine, whatever lies there by that name. */
const IN_IMAGE: ServerValue = {
  path: ["model", "inImage"],
  value: true,
  why: "no folder of the machine is known to be there",
};

/**
 * What stands for the folder of the machine that a volume brings the model from, where nobody knows
 * that one: the image can't have what a volume lies over.
 */
function toFillIn(model: string, { volumes }: Places) {
  const volume = model.startsWith("/") ? volumeOf(model, volumes) : undefined;
  return volume && { path: `/path/to${model}`, volume };
}

/** Says what to write in its place; `folder` is one of the machine that no server can have. */
function toFillInText(
  model: string,
  { path, volume }: { readonly path: string; readonly volume?: Volume },
  folder?: string,
): string {
  const why =
    folder === undefined
      ? `its volume (${volume?.what}) doesn't say which folder of the machine that is`
      : `a server can't have the folder of the machine that lies there: ${serverFault({ model: { id: folder } })?.replace(/\.$/, "")}`;
  return `The model is the folder ${asWritten(model)} inside the command's own container, and ${why}. Write its folder on the machine, or its hub id, as \`model.id\`, in place of \`${path}\`: until then \`serving plan\` refuses it.`;
}

/** Says of a model inside the command's own container, which no volume brings, where it has to be. */
const insideText = (model: string): string =>
  `The model is the folder ${asWritten(model)} inside the command's own container, and no volume says which folder of the machine that is. So it counts as one that the image brings (\`model.inImage\`). If the image lacks it, write its folder on the machine, or its hub id, as \`model.id\`, and delete \`inImage\`.`;

/** Says where a model is that no container of a server has. */
function folderText(model: string, id: string, { inContainer }: Places): string[] {
  if (!inContainer && fitsServer({ model: { id } })) return [];
  const where = inContainer ? "of the command's own container" : "of the machine";
  return [
    `The model is the folder ${asWritten(model)} ${where}, which no server's container has: write its folder on the machine as \`model.id\`, or its hub id.`,
  ];
}
