import { errorAt, type Fault, FaultyInput } from "@local-serving/base/faults/fault";
import { isRecord, MOST_VALUES } from "@local-serving/base/faults/json";
import { isUnknown, Output, unknown } from "@pulumi/pulumi";
import { givenPath } from "../settings";

const UNKNOWN =
  "This value isn't known at preview, but all settings are checked before the first resource: give a plain value, or one from the stack's configuration.";

const SECRET =
  "This is a Pulumi secret, and plans, files and `docker inspect` would show its value. Give a plain value, or the name of a variable if a setting takes one (`huggingFaceTokenVariable`, `keyVariable`).";

const CIRCLE = "This value contains itself. Settings are plain data, as in a stack file.";

const TOO_LARGE = `The settings hold more than ${MOST_VALUES} values; those of a machine have a few hundred.`;

/** What has been read so far. */
interface Reading {
  readonly faults: Fault[];
  /** How many values: an object that stands in many places is read in each. */
  count: number;
}

/** Where a value is: the keys above it, and the objects that hold them. */
interface Place {
  readonly path: readonly string[];
  readonly within: readonly unknown[];
}

/**
 * The settings that a program gives, without promises and outputs. Throws `FaultyInput` with every
 * value that isn't known yet or is a secret.
 */
export async function knownSettings(source: string, settings: unknown): Promise<unknown> {
  const reading: Reading = { faults: [], count: 0 };
  const known = await plainValue(settings, { path: ["machines"], within: [] }, reading);
  if (reading.faults.length > 0) throw new FaultyInput(source, reading.faults);
  return known;
}

/** An output's own promises, which the SDK leaves out of its types. */
export interface Settled {
  promise(withUnknowns: boolean): Promise<unknown>;
  readonly isKnown: Promise<boolean>;
  readonly isSecret: Promise<boolean>;
}

async function plainValue(value: unknown, place: Place, reading: Reading): Promise<unknown> {
  if (value instanceof Promise) return plainValue(await value, place, reading);
  if (isUnknown(value)) return refused(place, "unknown_value", UNKNOWN, reading);
  if (Output.isInstance(value)) return settledValue(value, place, reading);
  if (!Array.isArray(value) && !isPlainObject(value)) return value;
  if (place.within.includes(value)) return refused(place, "impossible_value", CIRCLE, reading);
  const isList = Array.isArray(value);
  const entries: [string, unknown][] = [];
  // One after the other, so that faults come in the order of the settings.
  for (const [key, each] of Object.entries(value)) {
    if (++reading.count === MOST_VALUES) refused(place, "too_large", TOO_LARGE, reading);
    if (reading.count >= MOST_VALUES) return undefined;
    const inner = { path: [...place.path, key], within: [...place.within, value] };
    const known = await plainValue(each, inner, reading);
    // A key without a value is no key, as in JSON.
    if (isList || known !== undefined) entries.push([key, known]);
  }
  return isList ? entries.map(([, known]) => known) : Object.fromEntries(entries);
}

function refused({ path }: Place, code: string, message: string, { faults }: Reading): undefined {
  faults.push(errorAt(givenPath(path), code, message));
}

async function settledValue(
  value: Output<unknown>,
  place: Place,
  reading: Reading,
): Promise<unknown> {
  const settled = value as unknown as Settled;
  if (await settled.isSecret) return refused(place, "secret_value", SECRET, reading);
  // Parts of it may be known where the whole isn't.
  const inner = await settled.promise(true);
  const isNothing = inner === undefined && !(await settled.isKnown);
  return plainValue(isNothing ? unknown : inner, place, reading);
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value));
