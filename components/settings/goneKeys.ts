import { dotted, errorAt, type Fault } from "../../faults/fault";
import { isRecord } from "../../faults/json";
import type { SourceDocument } from "../../faults/yamlDocument";
import { EARLIER_DEVICES, OTHER_DEVICE } from "../../machines/devices/devices";
import type { Warning } from "../planned/facts";
import type { StackSettings } from "./stackSettings";

/**
 * A key that earlier releases had below a machine. It is read until the next release, and answered
 * with what took its place.
 */
interface GoneKey {
  /** Its path below the machine; `*` stands for any name. */
  readonly path: readonly string[];
  /** What took its place, as a sentence. */
  readonly instead: string;
  /**
   * The value that changes nothing: with another one the machine would not be as it was, so that is
   * a fault. Without this key no value changes anything.
   */
  readonly usual?: unknown;
  /** The values that are gone, where others stay, and the one that they are read as. */
  readonly values?: { readonly gone: readonly string[]; readonly becomes: string };
}

const GONE: readonly GoneKey[] = [
  {
    path: ["device"],
    values: { gone: EARLIER_DEVICES, becomes: OTHER_DEVICE },
    instead:
      "No vLLM is planned on such machines, so they need no names of their own.",
  },
  {
    path: ["onDemand", "measuredSwaps"],
    instead: "`serving status` shows MemAvailable: compare it before and after some starts.",
  },
];

/** A key of `GONE` in the settings of a machine. */
interface FoundKey {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly gone: GoneKey;
}

/** Takes the keys that are gone out of settings, before these are judged. */
export function takeGoneKeys(settings: Record<string, unknown>): {
  readonly kept: Record<string, unknown>;
  readonly found: readonly FoundKey[];
} {
  const found = GONE.flatMap((gone) =>
    placesOf(settings, ["machines", "*", ...gone.path])
      .filter(({ value }) => gone.values === undefined || gone.values.gone.includes(String(value)))
      .map((each) => ({ ...each, gone })),
  );
  const kept = found.reduce<unknown>(
    (rest, { path, gone }) => withAt(rest, path, gone.values?.becomes),
    settings,
  );
  return { kept: isRecord(kept) ? kept : settings, found };
}

function placesOf(
  value: unknown,
  [first, ...rest]: readonly string[],
  before: readonly string[] = [],
): { readonly path: readonly string[]; readonly value: unknown }[] {
  if (first === undefined) return [{ path: before, value }];
  if (!isRecord(value)) return [];
  const names = first === "*" ? Object.keys(value) : Object.hasOwn(value, first) ? [first] : [];
  return names.flatMap((name) => placesOf(value[name], rest, [...before, name]));
}

/** The same with another value at a path; `undefined` takes the key away. */
function withAt(
  value: unknown,
  [first = "", ...rest]: readonly string[],
  wanted: string | undefined,
): unknown {
  if (!isRecord(value)) return value;
  const { [first]: below, ...others } = value;
  if (rest.length > 0) return { ...value, [first]: withAt(below, rest, wanted) };
  return wanted === undefined ? others : { ...value, [first]: wanted };
}

/** A fault for each key whose value would change the machine. */
export const goneKeyFaults = (
  found: readonly FoundKey[],
  document: SourceDocument | undefined,
): Fault[] =>
  found.flatMap(({ path, value, gone: { usual, instead } }) =>
    usual === undefined || value === usual
      ? []
      : [
          errorAt(
            dotted(path),
            "gone_key",
            `\`${path.at(-1)}\` is gone, and was ${JSON.stringify(usual)} where it was left out. ${instead}`,
            document?.locate(path, "key"),
          ),
        ],
  );

const goneKeys = new WeakMap<StackSettings, readonly FoundKey[]>();

/** Keeps the keys that were taken out of settings, so that a plan of them can tell of them. */
export function rememberGoneKeys(settings: StackSettings, found: readonly FoundKey[]): void {
  goneKeys.set(settings, found);
}

/** What is said of keys that are gone and change nothing. */
export const goneKeyNotes = (settings: StackSettings): Warning[] =>
  (goneKeys.get(settings) ?? []).map(({ path: [, machine = "", ...path], value, gone }) => {
    const { values, instead } = gone;
    const said =
      values === undefined
        ? `\`${dotted(path)}\` is gone and does nothing: delete it.`
        : `\`${dotted(path)}: ${value}\` is read as \`${values.becomes}\`: write that.`;
    return { machine, code: "setting-gone", message: `${said} ${instead}` };
  });
