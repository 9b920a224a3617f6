import { isDeepStrictEqual } from "node:util";
import { defined } from "@local-serving/base/faults/defined";
import { putAt } from "@local-serving/base/faults/json";
import { AGGREGATE_LIMIT, utilizationText } from "@local-serving/vllm/utilization";
import { type Recipe, sourceOf } from "../../components/catalogue";
import { familyParsers } from "../../components/inference-server";
import { SPEED_SETTINGS } from "../../components/memory";
import { FLAGS, type InferenceServerSettings, inferenceServer } from "../../components/settings";

/** The share of a model that writes no text, as it was computed of what the model needs. */
export interface ComputedShare {
  /** It holds as many requests of the whole window as are served at once. */
  readonly needed: number;
  /** It holds one: with less the server doesn't start. */
  readonly least: number;
  /** What it was computed of; absent where it is the recipe's own. */
  readonly why?: string;
}

/** One value of a server's block in the stack file, and why it is that. */
export interface ServerValue {
  /** Path below the server: `["model", "id"]`. */
  readonly path: readonly string[];
  readonly value: Value;
  readonly why: string;
}
type Value = string | number | boolean | readonly Value[] | { readonly [key: string]: Value };

/** What needs no reason. */
export const NAMES_MODEL = "names the model";

/** The reason of what a command says that a stack file was written from. */
export const AS_COMMANDED = "by the command that this server was written from";

/**
 * The reasons by dotted path, each with the values that it is of: whoever changes one sees what the
 * reason speaks of. One that is the same for several values in a row stands at the first.
 */
export function reasonsOf(values: readonly ServerValue[]): Map<string, string> {
  const told = new Map<string, string>();
  for (const [index, { path, why }] of values.entries()) {
    if (why === NAMES_MODEL || why === values[index - 1]?.why) continue;
    const end = values.findIndex((each, at) => at > index && each.why !== why);
    told.set(path.join("."), withValues(why, values.slice(index, end < 0 ? undefined : end)));
  }
  return told;
}

/** `0.5: published: ...` of one figure; of anything else, its keys and values behind the reason. */
function withValues(why: string, [first, ...others]: readonly ServerValue[]): string {
  if (first === undefined) return why;
  const isFigure = first.path.length === 1 && ["number", "boolean"].includes(typeof first.value);
  if (others.length === 0 && isFigure) return `${first.value}: ${why}`;
  return `${why}: ${[first, ...others].map(valueText).join(", ")}`;
}

/** Longest value that is repeated in a comment. */
const LONGEST_VALUE = 40;

const valueText = ({ path, value }: ServerValue): string => {
  const shown = typeof value === "object" ? "" : ` ${value}`;
  return `${path.join(".")}${shown.length > LONGEST_VALUE ? "" : shown}`;
};

/** A comment line that begins such a reason. */
export const BEGINS_REASON =
  /^ *# (?:(?:\d[\d.]*|true|false): )?(?:(?:alone on the machine|beside another engine), |the most that is left of |the longest that its share |by the command |not in the command: |(?:measured|published|judged|computed): |computed from its own files |the commit that was read$|you wrote it for this model$|more compile processes |it needs \d+ machines$|a part of each layer )/;

/** Where a model is to run. */
export interface Placement {
  /** Whether another engine takes memory of the same machine. */
  readonly beside: boolean;
  /**
   * The largest share that the machine leaves for the server; at most this is chosen. Default:
   * 0.90.
   */
  readonly largest?: number;
  /** The machines that would share the model, and the GPUs of all. Default: one machine alone. */
  readonly shared?: { readonly nodes: readonly string[]; readonly gpus: number };
  /** Whether drafts are wanted, where the recipe has any. Default: no. */
  readonly drafts?: boolean;
  /** The share that was computed of what the model needs. Default: its recipe's. */
  readonly computed?: ComputedShare;
}

/** Keys of a server that belong to its model, with a flag or without. */
const MODEL_KEYS: readonly (readonly string[])[] = [
  ...Object.keys(inferenceServer.shape.model.shape).map((key) => ["model", key]),
  ...["aliases", "extraArgs"].map((key) => [key]),
  ...FLAGS.flatMap(({ setting, ofModel }) => (ofModel === undefined ? [] : [setting.split(".")])),
];

/** Keys of a server that are of its model's own adapters and files. */
const OWN_KEYS = [
  ["allowPickle"],
  ...FLAGS.flatMap(({ setting, only }) => (only === "adapters" ? [[setting]] : [])),
];

/** Keys of a server that another model with these values replaces, or that go. */
export function modelKeys(
  now: InferenceServerSettings | undefined,
  values: readonly ServerValue[],
) {
  const isSame = values.some(
    ({ path, value }) => path.join() === "model,id" && value === now?.model?.id,
  );
  const isShared = values.some(({ path }) => path[0] === "nodes");
  const sharing = ["nodes", "tensorParallelSize", "pipelineParallelSize"].map((key) => [key]);
  // One over several machines listens on the link alone.
  return [
    ...MODEL_KEYS,
    // What was measured of a model stays with it.
    ...(isSame ? [] : [["measured"], ...OWN_KEYS]),
    ...(isSame && now !== undefined && keepsSpeed(now, values) ? [] : [["measuredSpeeds"]]),
    ...(isShared || now?.nodes !== undefined ? sharing : []),
    ...(isShared ? [["listen"]] : []),
  ];
}

/** Whether a server answers as fast as before: what it leaves to vLLM may be what is written. */
function keepsSpeed(now: InferenceServerSettings, values: readonly ServerValue[]): boolean {
  const written: Record<string, unknown> = {};
  for (const { path, value } of values) putAt(written, path, value);
  const { environment = {} } = written;
  const isKept = (has: unknown, gets: unknown) => !isSaid(has) || isDeepStrictEqual(has, gets);
  return (
    isDeepStrictEqual(now.speculative, written.speculative) &&
    // Variables of its own stay.
    Object.entries(environment ?? {}).every(([name, gets]) =>
      isKept(now.environment[name], gets),
    ) &&
    SPEED_SETTINGS.every(
      (key) =>
        key === "environment" ||
        isKept(now[key], written[key] ?? inferenceServer.shape[key].parse(undefined)),
    )
  );
}

const isSaid = (value: unknown): boolean => value !== undefined && !isDeepStrictEqual(value, []);

/**
 * The share to give a model; `undefined` where the recipe names none, or says that it can't run
 * beside another engine.
 */
export function shareFor(
  { share }: Recipe,
  { beside, largest = AGGREGATE_LIMIT, computed }: Placement,
): number | undefined {
  const wanted = computed?.needed ?? (beside ? (share.beside ?? share.alone) : share.alone);
  return typeof wanted === "number" ? Math.min(wanted, largest) : undefined;
}

/**
 * The values that a recipe gives to a server's block, in the order of the stack file, each with its
 * reason. Keys of `modelKeys` that are not among them are to be left out; the rest of the block
 * (image, port and so on) isn't the model's.
 */
export function serverValues(given: Recipe, placement: Placement): ServerValue[] {
  const { settings, parsers, draft, machines } = given;
  const { shared } = placement;
  const share = shareFor(given, placement);
  const usual = familyParsers(given.family, given.thinking);
  const tool = parsers.tool === usual.tool ? undefined : parsers.tool;
  const reasoning = parsers.reasoning === usual.reasoning ? undefined : parsers.reasoning;
  const { environment = {}, maxModelLen, ...others } = settings;
  const value = (path: string, of: Value | undefined, from = path): ServerValue[] =>
    of === undefined ? [] : [{ path: path.split("."), value: of, why: reason(given, from) }];
  return [
    ...value("model.id", given.id),
    ...value("model.family", given.family === "other" ? undefined : given.family),
    ...value("model.kind", given.kind, "kind"),
    ...value("model.thinking", given.thinking, "thinking"),
    ...value("servedModelName", given.servedModelName),
    ...(shared === undefined
      ? []
      : [
          { path: ["nodes"], value: shared.nodes, why: `it needs ${machines} machines` },
          {
            path: ["tensorParallelSize"],
            value: shared.gpus,
            why: "a part of each layer for every GPU of them",
          },
        ]),
    ...(share === undefined
      ? []
      : [
          {
            path: ["gpuMemoryUtilization"],
            value: share,
            why: shareReason(given, placement, share),
          },
        ]),
    ...value("maxModelLen", maxModelLen, "settings.maxModelLen"),
    ...Object.entries(others).flatMap(([key, of]) => value(key, of, `settings.${key}`)),
    ...value("tools.parser", tool, "parsers.tool"),
    ...value("reasoningParser", reasoning, "parsers.reasoning"),
    ...value("speculative", placement.drafts && draft ? drafts(draft) : undefined, "draft"),
    ...Object.entries(environment).map(([name, of]) => ({
      path: ["environment", name],
      value: of,
      why: reason(given, "settings.environment"),
    })),
  ];
}

const drafts = ({ method, model, numSpeculativeTokens }: NonNullable<Recipe["draft"]>) =>
  defined({ method, model, numSpeculativeTokens });

/** `published: vllm-project/recipes, PR #918 (2026-11-22)`; of what needs no source, what it is. */
function reason(given: Recipe, path: string): string {
  const from = sourceOf(given, path);
  return from === undefined ? NAMES_MODEL : `${from.basis}: ${from.source} (${from.date})`;
}

function shareReason(given: Recipe, { beside, computed }: Placement, share: number): string {
  if (computed?.why !== undefined)
    return share === computed.needed
      ? computed.why
      : `the most that is left of ${utilizationText(computed.needed)} (${computed.why})`;
  const own = beside && given.share.beside !== undefined ? "share.beside" : "share.alone";
  const where = beside ? "beside another engine" : "alone on the machine";
  const wanted = own === "share.beside" ? given.share.beside : given.share.alone;
  return share === wanted
    ? `${where}, ${reason(given, own)}`
    : `the most that is left of ${wanted} (${reason(given, own)})`;
}
