import { valueAt, valueBy } from "@local-serving/base/faults/schemaFaults";
import { parseYaml } from "@local-serving/base/faults/yamlDocument";
import { hasOneQwenParser, QWEN_PARSERS } from "@local-serving/vllm/qwenParsers";
import { lt, valid } from "@renovatebot/pep440";
import { isMap, isSeq, parse, parseDocument, stringify } from "yaml";
import { type Recipe, recipe, sourceIssues, sourceOf } from "../../components/catalogue";
import { withValueAt } from "../stackEdit/applyEdits";
import type { SparkEntry, TheirValue } from "./sparkEntries";

/** Who says what an entry gives, and when. */
export interface EntrySource {
  readonly source: string;
  /** Day of the file's last commit. */
  readonly date: string;
}

/** One of our recipes with what an entry adds, and what becomes of the rest. */
export interface MergedRecipe {
  /** The file's text; the same if nothing was added. */
  readonly text: string;
  readonly added: readonly string[];
  readonly contradictions: readonly string[];
  readonly leftOut: readonly string[];
}

/**
 * Adds what our recipe lacks of an entry, with its source. What we have stays as it is, and so do
 * comments and order. Throws `FaultyInput` or `UnreadableInput` for a broken recipe of ours.
 */
export function mergeRecipe(
  file: string,
  before: string,
  entry: SparkEntry,
  from: EntrySource,
): MergedRecipe {
  const ours = valueBy(recipe, file, parseYaml(file, before));
  const added: TheirValue[] = [];
  const leftOut = [...entry.leftOut];
  let text = before;
  const missing = entry.values.filter(({ path }) => valueAt(ours, path) === undefined);
  for (const each of missing) {
    const next = withValueAt(text, each.path, each.value);
    if (recipe.safeParse(parse(next)).success) {
      text = next;
      added.push(each);
    } else leftOut.push(`${textOf(each)} (no value of that key)`);
  }
  if (added.length > 0) text = withSource(text, added, from);
  const [issue] = sourceIssues(valueBy(recipe, file, parseYaml(file, text)));
  if (issue !== undefined) throw new Error(`${file}: ${issue.message}`);
  return {
    text,
    added: added.map(textOf),
    contradictions: contradictionsOf(ours, entry, from),
    leftOut,
  };
}

const textOf = ({ path, value }: TheirValue): string =>
  `${path.join(".")}: ${typeof value === "object" ? JSON.stringify(value) : value}`;

/** Where ours and theirs differ. A floor is one on every machine, so ours may only be higher. */
function contradictionsOf(ours: Recipe, entry: SparkEntry, from: EntrySource): string[] {
  const theirs = `${from.source}, ${from.date}`;
  const says = (path: string, own: unknown, value: unknown) => {
    const known = sourceOf(ours, path.split(".").slice(0, 2).join("."));
    const who = known === undefined ? "" : ` (${known.basis}: ${known.source}, ${known.date})`;
    return `${path}: ours ${own ?? "none"}${who}, theirs ${value} (${theirs})`;
  };
  const values = entry.values.flatMap(({ path, value }) => {
    const own = valueAt(ours, path);
    const name = path.join(".");
    if (own === undefined) return [];
    if (typeof value !== "object") return isSame(ours, own, value) ? [] : [says(name, own, value)];
    const variables = own as Readonly<Record<string, string>>;
    return Object.entries(value).flatMap(([key, their]) =>
      variables[key] === their ? [] : [says(`${name}.${key}`, variables[key], their)],
    );
  });
  const { minimumVllm: least } = ours;
  const { modelFloor: floor } = entry;
  const isBelow = least !== undefined && valid(floor) !== null && lt(least, floor);
  return isBelow ? [...values, says("minimumVllm", least, `${floor} on any machine`)] : values;
}

/**
 * Whether two values mean the same to the vLLM that a recipe asks for. Names of backends and formats
 * do in capitals too.
 */
function isSame({ minimumVllm }: Recipe, ...values: readonly unknown[]): boolean {
  const [own, their] = values.map((value) => String(value).toLowerCase());
  const isQwen = [own, their].every((name) => QWEN_PARSERS.includes(name ?? ""));
  return own === their || (isQwen && hasOneQwenParser(minimumVllm) === true);
}

/** The text with one more entry at the end of `sources`. */
function withSource(text: string, added: readonly TheirValue[], from: EntrySource): string {
  const of = added.map(({ path }) => path.join(".")).join(", ");
  const source = JSON.stringify(from.source);
  const item = `- { of: [${of}], basis: published, source: ${source}, date: ${from.date} }`;
  const { contents } = parseDocument(text);
  const list = isMap(contents) ? contents.get("sources", true) : undefined;
  if (!isSeq(list) || !list.range) return `${text.trimEnd()}\nsources:\n  ${item}\n`;
  const [start, end] = list.range;
  if (list.flow === true) return `${text.slice(0, start).trimEnd()}\n  ${item}${text.slice(end)}`;
  const indent = " ".repeat(start - text.lastIndexOf("\n", start) - 1);
  return `${text.slice(0, end).trimEnd()}\n${indent}${item}\n${text.slice(end)}`;
}

/** The keys that a recipe of a new model would need beside what an entry gives. */
export function lackedKeys({ id, values }: SparkEntry): string[] {
  const given = values.reduce(
    (text, { path, value }) => withValueAt(text, path, value),
    stringify({ id }),
  );
  const { error } = recipe.safeParse(parse(given));
  const keys = (error?.issues ?? []).flatMap(({ path: [key, ...inner] }) =>
    inner.length === 0 ? [String(key)] : [],
  );
  return [...new Set(keys)];
}
