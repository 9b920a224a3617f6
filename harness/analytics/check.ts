import { dotted, errorAt, type Fault, faultsIn, inFileOrder } from "../../faults/fault";
import type { JsonDocument } from "../../faults/jsonDocument";
import { readBy, softened, valueAt } from "../../faults/schemaFaults";
import { secretPaths } from "../../faults/secrets";
import { findKey, secretRemedy } from "./keys";
import { defaultLayer, flatten } from "./layers";
import { analyticsSchema } from "./schema";

/** Every fault of a session-analytics file. Unknown keys are warnings. */
export function checkAnalyticsFile(document: JsonDocument, prefix: string): Fault[] {
  const refusal = (key: string) =>
    `This file never holds a secret, so \`${key}\` is refused, here and elsewhere. The judge's key comes from the variable ${prefix}SA_JUDGE_API_KEY.`;
  const ofSchema = readBy(analyticsSchema, document.value, document).faults.map((fault) => softened(fault, refusal));
  const wrong = new Set(ofSchema.map(({ path }) => path));
  const ofSecrets = secretFaults(document, prefix).filter(({ path }) => findKey(path) || !wrong.has(path));
  const secret = new Set(ofSecrets.map(({ path }) => path));
  return inFileOrder([
    ...ofSchema.filter(({ path }) => !secret.has(path)),
    ...ofSecrets,
    ...document.duplicates.map(({ path, place }) => errorAt(dotted(path), "duplicate_key", TWICE, place)),
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

/** A price that is missing must not pass for zero, so a model with a part of its prices is pointed out. */
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
