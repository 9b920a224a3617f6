import { isRecord, type JsonObject, objectOr } from "../../faults/json";
import { analyticsKeys, type ConcreteKey, concrete, findKey, isFree } from "./keys";
import { analyticsSchema } from "./schema";

/** Where a value can come from, lowest first: the more specific layer wins. */
export const LAYERS = ["default", "file", "dotenv", "env", "cli"] as const;

export type Layer = (typeof LAYERS)[number];

/** What one layer sets, by the keys' dotted names. A key that is not in it is not set there. */
export type LayerValues = ReadonlyMap<string, unknown>;

export type EffectiveValue = { readonly value: unknown; readonly layer: Layer };

/**
 * Merges layers: each key by itself comes from the highest layer that sets it, even to empty
 * text, to zero or to what the default is anyway. Lists are replaced, never joined.
 */
export function effectiveValues(layers: Readonly<Partial<Record<Layer, LayerValues>>>): Map<string, EffectiveValue> {
  const merged = new Map<string, EffectiveValue>();
  for (const layer of LAYERS) for (const [name, value] of layers[layer] ?? []) merged.set(name, { value, layer });
  for (const [name, value] of defaultsOfNewIds(merged.keys()))
    if (!merged.has(name)) merged.set(name, { value, layer: "default" });
  return inSchemaOrder(merged);
}

let defaults: LayerValues | undefined;

/** The defaults, from the only place that has them. */
export function defaultLayer(): LayerValues {
  defaults ??= flatten(analyticsSchema.parse({}));
  return defaults;
}

/** The keys that a document sets, by dotted name; keys that the schema does not know are passed over. */
export function flatten(document: unknown): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const key of analyticsKeys())
    for (const { name, value } of occurrences(key.pattern, document, (id) => concrete(key, id))) found.set(name, value);
  return found;
}

function* occurrences(
  pattern: readonly string[],
  document: unknown,
  named: (id: string) => ConcreteKey,
): Generator<{ name: string; value: unknown }> {
  const free = pattern.findIndex(isFree);
  const ids = free === -1 ? [""] : Object.keys(tableAt(document, pattern.slice(0, free)));
  for (const id of ids) {
    const key = named(id);
    const parent = tableAt(document, key.path.slice(0, -1));
    const last = key.path.at(-1) ?? "";
    if (Object.hasOwn(parent, last) && parent[last] !== undefined) yield { name: key.name, value: parent[last] };
  }
}

function tableAt(document: unknown, path: readonly string[]): JsonObject {
  let at: unknown = document;
  for (const step of path) {
    if (!isRecord(at) || !Object.hasOwn(at, step)) return {};
    at = at[step];
  }
  return objectOr(at);
}

/** Defaults of the entries that only an upper layer names, such as the currency of a model that has a price. */
function defaultsOfNewIds(names: Iterable<string>): Map<string, unknown> {
  const document: Record<string, unknown> = { judge: { by_copilot: {} }, pricing: { models: {} } };
  for (const name of names) {
    const path = findKey(name)?.path ?? [];
    const id = path[2];
    if (id === undefined || path.length !== 4 || (path[1] !== "by_copilot" && path[1] !== "models")) continue;
    Object.defineProperty(tableAt(document, path.slice(0, 2)), id, { value: {}, enumerable: true, configurable: true });
  }
  return flatten(analyticsSchema.parse(document));
}

/** In the schema's order, with the keys of one map entry together; variables that belong to no key come last. */
function inSchemaOrder(values: ReadonlyMap<string, EffectiveValue>): Map<string, EffectiveValue> {
  const idOrder = new Map<string, number>();
  const ranked = [...values].map((entry) => {
    const key = findKey(entry[0]);
    if (key === undefined) return { entry, rank: [Number.MAX_SAFE_INTEGER, 0, 0] };
    const free = key.pattern.findIndex(isFree);
    const name = key.pattern.join(".");
    const own = order().get(name) ?? 0;
    if (free === -1) return { entry, rank: [own, 0, 0] };
    const block = key.pattern.slice(0, free + 1).join(".");
    const id = `${block} ${key.path[free]}`;
    if (!idOrder.has(id)) idOrder.set(id, idOrder.size);
    return { entry, rank: [order().get(block) ?? own, idOrder.get(id) ?? 0, own] };
  });
  return new Map(ranked.sort((a, b) => compare(a.rank, b.rank)).map(({ entry }) => entry));
}

function compare(a: readonly number[], b: readonly number[]): number {
  const differing = a.findIndex((part, place) => part !== b[place]);
  return differing === -1 ? 0 : (a[differing] ?? 0) - (b[differing] ?? 0);
}

let places: Map<string, number> | undefined;

/** Places in the schema of keys, and of blocks with free ids by their first key. */
function order(): ReadonlyMap<string, number> {
  if (places === undefined) {
    places = new Map();
    for (const [place, { pattern }] of analyticsKeys().entries()) {
      const free = pattern.findIndex(isFree);
      const block = pattern.slice(0, free + 1).join(".");
      if (free !== -1 && !places.has(block)) places.set(block, place);
      places.set(pattern.join("."), place);
    }
  }
  return places;
}
