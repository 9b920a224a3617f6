import {
  dotted,
  errorAt,
  type Fault,
  faultsIn,
  inFileOrder,
  UnreadableInput,
} from "@local-serving/base/faults/fault";
import { putAt, sizeRefusal } from "@local-serving/base/faults/json";
import type { JsonDocument } from "@local-serving/base/faults/jsonDocument";
import { nearOf } from "@local-serving/base/faults/quoting";
import { readBy, softened, valueAt } from "@local-serving/base/faults/schemaFaults";
import { secretPaths } from "@local-serving/base/faults/secrets";
import { backendFaults } from "./backendRules";
import {
  analyticsKeys,
  type ConcreteKey,
  findKey,
  secretRemedy,
  shown,
  valueFromText,
} from "./keys";
import { defaultLayer, type EffectiveValue, effectiveValues, flatten } from "./layers";
import { analyticsSchema } from "./schema";
import { readVariables, selectJudgeBlock, type Variables } from "./variables";

/** Everything that the session-analytics config is made of. */
export interface AnalyticsSources {
  readonly prefix: string;
  readonly document: JsonDocument | undefined;
  /** Variables of the repository's `.env`, and the file's name for messages. */
  readonly dotenv: { readonly file: string; readonly variables: Variables } | undefined;
  readonly environment: Variables;
  /** Arguments `KEY=VALUE`, already split. */
  readonly settings: readonly { readonly key: string; readonly value: string }[];
}

/** The effective config, secrets included: only `shownValues` may leave the process. */
export interface AnalyticsConfiguration {
  readonly values: ReadonlyMap<string, EffectiveValue>;
  readonly faults: readonly Fault[];
  /** Whether some of the faults are in the arguments. */
  readonly wrongArguments: boolean;
}

/** Merges the layers and collects the faults of all of them. A wrong value is not set. */
export function configureAnalytics(sources: AnalyticsSources): AnalyticsConfiguration {
  const { prefix, document } = sources;
  const large = sizeRefusal(document?.value);
  if (document !== undefined && large !== undefined)
    throw new UnreadableInput(document.file, large);
  const ofFile = document === undefined ? [] : checkAnalyticsFile(document, prefix);
  const wrong = spoiled(ofFile);
  const defaults = defaultLayer();
  const file = new Map([...flatten(document?.value ?? {})].filter(([name]) => !wrong.has(name)));
  const tools = [...defaults.keys(), ...file.keys()].flatMap((name) =>
    name.startsWith("sources.") ? [name.slice("sources.".length)] : [],
  );
  const dotenv = readVariables(
    sources.dotenv?.variables ?? {},
    sources.dotenv?.file ?? "",
    prefix,
    tools,
  );
  const env = readVariables(sources.environment, "environment", prefix, tools);
  selectJudgeBlock(dotenv.values, env.values);
  const cli = readSettings(sources.settings, prefix);
  const values = effectiveValues({
    default: defaults,
    file,
    dotenv: dotenv.values,
    env: env.values,
    cli: cli.values,
  });
  const ofBackends = backendFaults(values, document);
  return {
    values,
    faults: [...ofFile, ...dotenv.faults, ...env.faults, ...cli.faults, ...ofBackends],
    wrongArguments: cli.faults.length > 0,
  };
}

export function shownValues(configuration: AnalyticsConfiguration): Record<string, EffectiveValue> {
  return Object.fromEntries(
    [...configuration.values].map(([name, { value, layer }]) => [
      name,
      { value: shown(name, value), layer },
    ]),
  );
}

/**
 * The effective values as one document, as they may be shown; variables that belong to no key are
 * not in it.
 */
export function shownDocument(configuration: AnalyticsConfiguration): Record<string, unknown> {
  const document: Record<string, unknown> = {};
  for (const [name, { value }] of configuration.values) {
    const key = findKey(name);
    if (key !== undefined) putAt(document, key.path, shown(name, value));
  }
  return document;
}

/**
 * The paths with a fault and those above them: a fault at a list's item or within a record spoils
 * the whole key.
 */
function spoiled(faults: readonly Fault[]): Set<string> {
  const paths = new Set<string>();
  for (const { path, severity } of faults) {
    if (severity !== "error") continue;
    for (let end = path.length; end > 0; end = path.lastIndexOf(".", end - 1))
      paths.add(path.slice(0, end));
  }
  return paths;
}

function readSettings(settings: AnalyticsSources["settings"], prefix: string) {
  const values = new Map<string, unknown>();
  const faults: Fault[] = [];
  for (const { key: name, value: text } of settings) {
    const key = findKey(name);
    const inFileOnly = key !== undefined && key.variable === undefined;
    const read = inFileOnly
      ? { fault: errorAt(key.name, "file_only", FILE_ONLY) }
      : readSetting(name, text, prefix);
    if ("fault" in read) faults.push(read.fault);
    else values.set(read.key.name, read.value);
  }
  return { values, faults };
}

const FILE_ONLY =
  "This key has no variable, so it is set in the file only: `serving harness set analytics`.";

/** The value of a key that a person gave as text, or why it is refused. */
function readSetting(name: string, text: string, prefix: string) {
  const key = findKey(name);
  if (key === undefined) return { fault: unknownKey(name) };
  const secret = secretText(key, text, prefix);
  if (secret !== undefined) return { fault: secret };
  const read = valueFromText(key, text);
  return "wrong" in read
    ? { fault: errorAt(name, "wrong_value", read.wrong) }
    : { key, value: read.value };
}

/** Why a key is unknown, with the nearest one. */
function unknownKey(name: string): Fault {
  const names = analyticsKeys().map(({ pattern }) => pattern.join("."));
  const inside = names.filter((known) => known.startsWith(`${name}.`));
  if (inside.length > 0)
    return errorAt(
      name,
      "unknown_key",
      `\`${name}\` is a block; set one of its keys: ${inside.join(", ")}.`,
    );
  const hint = nearOf(name, names, "See `serving harness show analytics`.");
  return errorAt(name, "unknown_key", `Unknown key \`${name}\`. ${hint}`);
}

/**
 * Why a secret is taken neither from an argument nor into the file; `undefined` when it is none.
 */
function secretText(key: ConcreteKey, text: string, prefix: string): Fault | undefined {
  if (!key.secret && secretPaths({ [key.name]: text }).length === 0) return undefined;
  if (key.secret && text === "") return undefined;
  const message = `${secretRemedy(key, prefix)} Others can see a command line, and a file stays.`;
  return errorAt(key.name, "secret", message);
}

/**
 * A document with one key set, typed as the schema wants it, or why that is refused; other keys
 * keep their order.
 */
export function setKey(
  document: Readonly<Record<string, unknown>>,
  name: string,
  text: string,
  prefix: string,
) {
  const read = readSetting(name, text, prefix);
  if ("fault" in read) return { fault: read.fault };
  const copy = structuredClone(document) as Record<string, unknown>;
  const noBlock = putAt(copy, read.key.path, read.value);
  if (noBlock === undefined) return { document: copy };
  const message = `\`${noBlock}\` is not a map in this file, so nothing can be set in it.`;
  return { fault: errorAt(name, "wrong_type", message) };
}

/** How the file is written: two spaces, a newline at its end. */
export const renderDocument = (document: unknown): string =>
  `${JSON.stringify(document, null, 2)}\n`;

/** Every fault of a session-analytics file. Unknown keys are warnings. */
export function checkAnalyticsFile(document: JsonDocument, prefix: string): Fault[] {
  const refusal = (key: string) =>
    `This file never holds a secret, so \`${key}\` is refused, here and elsewhere. The judge's key comes from the variable ${prefix}SA_JUDGE_API_KEY.`;
  const ofSchema = readBy(analyticsSchema(), document.value, document).faults.map((fault) =>
    softened(fault, refusal),
  );
  const wrong = new Set(ofSchema.map(({ path }) => path));
  const ofSecrets = secretFaults(document, prefix).filter(
    ({ path }) => findKey(path) || !wrong.has(path),
  );
  const secret = new Set(ofSecrets.map(({ path }) => path));
  return inFileOrder([
    ...ofSchema.filter(({ path }) => !secret.has(path)),
    ...ofSecrets,
    ...document.duplicates.map(({ path, place }) =>
      errorAt(dotted(path), "duplicate_key", TWICE, place),
    ),
    ...priceFaults(document),
  ]);
}

function secretFaults(document: JsonDocument, prefix: string): Fault[] {
  const paths = new Map(secretPaths(document.value).map((path) => [dotted(path), path]));
  for (const [name, value] of flatten(document.value)) {
    const key = findKey(name);
    if (key?.secret === true && value !== "") paths.set(name, key.path);
  }
  return [...paths].map(([name, path]) => {
    const message = `This value (not shown) may not be in a file. ${secretRemedy(findKey(name), prefix)}`;
    return faultsIn(document).error(path, "secret_in_file", message);
  });
}

const TWICE = "This key is given twice; only the later one would count.";

const RATES = ["input", "output", "cache_read", "cache_write"] as const;

/**
 * A price that is missing must not pass for zero, so a model with a part of its prices is pointed
 * out.
 */
function priceFaults(document: JsonDocument): Fault[] {
  const models = valueAt(document.value, ["pricing", "models"]);
  if (typeof models !== "object" || models === null) return [];
  const defaults = defaultLayer();
  return Object.keys(models).flatMap((id): Fault[] => {
    const path = ["pricing", "models", id];
    const isGiven = (rate: string) =>
      valueAt(models, [id, rate]) !== undefined || defaults.has(dotted([...path, rate]));
    const missing = RATES.filter((rate) => !isGiven(rate));
    if (missing.length === 0) return [];
    const message = `No ${missing.map((rate) => `\`${rate}\``).join(", ")}: sessions of this model would have no cost.`;
    return [faultsIn(document).warning(path, "incomplete_price", message)];
  });
}
