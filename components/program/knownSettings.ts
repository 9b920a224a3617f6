import { isUnknown, Output, unknown } from "@pulumi/pulumi";
import { errorAt, type Fault, FaultyInput } from "../../faults/fault";
import { isRecord } from "../../faults/json";
import { givenPath } from "../settings/places";

const UNKNOWN =
  "This value isn't known at preview, but all settings are checked before the first resource: give a plain value, or one from the stack's configuration.";

const SECRET =
  "This is a Pulumi secret, and plans, files and `docker inspect` would show its value. Give a plain value, or the name of a variable if a setting takes one (`huggingFaceTokenVariable`, `keyVariable`).";

/**
 * The settings that a program gives, without promises and outputs. Throws `FaultyInput` with every
 * value that isn't known yet or is a secret.
 */
export async function knownSettings(source: string, settings: unknown): Promise<unknown> {
  const faults: Fault[] = [];
  const known = await plainValue(settings, ["machines"], faults);
  if (faults.length > 0) throw new FaultyInput(source, faults);
  return known;
}

/** An output's own promises, which the SDK leaves out of its types. */
export interface Settled {
  promise(withUnknowns: boolean): Promise<unknown>;
  readonly isKnown: Promise<boolean>;
  readonly isSecret: Promise<boolean>;
}

async function plainValue(
  value: unknown,
  path: readonly string[],
  faults: Fault[],
): Promise<unknown> {
  if (value instanceof Promise) return plainValue(await value, path, faults);
  if (isUnknown(value)) {
    faults.push(errorAt(givenPath(path), "unknown_value", UNKNOWN));
    return undefined;
  }
  if (Output.isInstance(value)) return settledValue(value, path, faults);
  // One after the other, so that faults come in the order of the settings.
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const [index, each] of value.entries())
      items.push(await plainValue(each, [...path, `${index}`], faults));
    return items;
  }
  if (!isPlainObject(value)) return value;
  const entries: [string, unknown][] = [];
  for (const [key, each] of Object.entries(value)) {
    const known = await plainValue(each, [...path, key], faults);
    // A key without a value is no key, as in JSON.
    if (known !== undefined) entries.push([key, known]);
  }
  return Object.fromEntries(entries);
}

async function settledValue(
  value: Output<unknown>,
  path: readonly string[],
  faults: Fault[],
): Promise<unknown> {
  const settled = value as unknown as Settled;
  if (await settled.isSecret) {
    faults.push(errorAt(givenPath(path), "secret_value", SECRET));
    return undefined;
  }
  // Parts of it may be known where the whole isn't.
  const inner = await settled.promise(true);
  const isNothing = inner === undefined && !(await settled.isKnown);
  return plainValue(isNothing ? unknown : inner, path, faults);
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value));
