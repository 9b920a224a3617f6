import { objectOr } from "@local-serving/base/faults/json";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import { analyticsKeys, concrete, findKey, isFree } from "./keys";
import { analyticsSchema } from "./schema";

/** Where a value can come from, lowest first: the more specific layer wins. */
export const LAYERS = ["default", "file", "dotenv", "env", "cli"] as const;

type Layer = (typeof LAYERS)[number];

/** What one layer sets, by the keys' dotted names. A key that is not in it is not set there. */
export type LayerValues = ReadonlyMap<string, unknown>;

export type EffectiveValue = { readonly value: unknown; readonly layer: Layer };

/**
 * Merges layers. Each key comes from the highest layer that sets it, even if it sets empty text,
 * zero or the default. Lists are replaced, never joined.
 */
export function effectiveValues(
  layers: Readonly<Partial<Record<Layer, LayerValues>>>,
): Map<string, EffectiveValue> {
  const merged = new Map<string, EffectiveValue>();
  for (const layer of LAYERS)
    for (const [name, value] of layers[layer] ?? []) merged.set(name, { value, layer });
  for (const [name, value] of defaultsOfNewIds(merged.keys()))
    if (!merged.has(name)) merged.set(name, { value, layer: "default" });
  return inSchemaOrder(merged);
}

let defaults: LayerValues | undefined;

/** The defaults, from the only place that has them. */
export function defaultLayer(): LayerValues {
  defaults ??= flatten(analyticsSchema().parse({}));
  return defaults;
}

/**
 * The keys that a document sets, by dotted name; keys that the schema does not know are passed
 * over.
 */
export function flatten(document: unknown): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const key of analyticsKeys()) {
    const free = key.pattern.findIndex(isFree);
    const ids =
      free === -1 ? [""] : Object.keys(objectOr(valueAt(document, key.pattern.slice(0, free))));
    for (const id of ids) {
      const { path, name } = concrete(key, id);
      const value = valueAt(document, path);
      if (value !== undefined) found.set(name, value);
    }
  }
  return found;
}

/**
 * Defaults of the entries that only an upper layer names, such as the currency of a model that has
 * a price.
 */
function defaultsOfNewIds(names: Iterable<string>): Map<string, unknown> {
  const by_copilot: Record<string, object> = {};
  const models: Record<string, object> = {};
  for (const name of names) {
    const [, block, id = "", key] = findKey(name)?.path ?? [];
    if (key !== undefined && block === "by_copilot") by_copilot[id] = {};
    if (key !== undefined && block === "models") models[id] = {};
  }
  return flatten(analyticsSchema().parse({ judge: { by_copilot }, pricing: { models } }));
}

/**
 * In the schema's order, with the keys of one map entry together; variables that belong to no key
 * come last.
 */
function inSchemaOrder(values: ReadonlyMap<string, EffectiveValue>): Map<string, EffectiveValue> {
  const places = new Map(analyticsKeys().map(({ pattern }, place) => [pattern.join("."), place]));
  const placed = [...values].map((entry) => {
    const { pattern = [], path = [] } = findKey(entry[0]) ?? {};
    const place = places.get(pattern.join(".")) ?? places.size;
    const mapEntry = path.slice(0, pattern.findIndex(isFree) + 1).join(".");
    return { entry, place, together: mapEntry || entry[0] };
  });
  const groups = new Map<string, (readonly [string, EffectiveValue])[]>();
  for (const { entry, together } of placed.sort((a, b) => a.place - b.place))
    groups.set(together, [...(groups.get(together) ?? []), entry]);
  return new Map([...groups.values()].flat());
}
