import { defined } from "../../faults/defined";
import { dotted, errorAt, type Fault } from "../../faults/fault";
import { isRecord, type JsonObject, objectOr } from "../../faults/json";
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
   * What it was where it was left out: another value would change the machine, so that is a fault.
   * Without this key no value changes anything.
   */
  readonly usual?: unknown;
  /**
   * The setting beside it, by the steps of its path, that a value is read as; `undefined` where the
   * value is read as none.
   */
  readonly reads?: (value: unknown) => Moved | undefined;
}

interface Moved {
  readonly path: readonly string[];
  readonly value: string;
}

const OF_A_SERVER = ["inferenceServers", "*"] as const;

const GONE: readonly GoneKey[] = [
  {
    path: ["onDemand", "measuredSwaps"],
    instead: "`serving status` shows MemAvailable: compare it before and after some starts.",
  },
  {
    path: ["onDemand", "swapsPerHour"],
    instead: "`serving status` marks more than 12 starts in an hour.",
  },
  {
    path: [...OF_A_SERVER, "flashinferMoeFp4"],
    usual: false,
    reads: (value) =>
      value === true
        ? { path: ["environment", "VLLM_USE_FLASHINFER_MOE_FP4"], value: "1" }
        : undefined,
    instead: "vLLM ignores the variable since 0.24: `moeBackend` chooses the kernels.",
  },
  {
    path: [...OF_A_SERVER, "healthcheck"],
    usual: { startPeriodMinutes: 45, intervalSeconds: 15, timeoutSeconds: 5, retries: 8 },
    instead: "Docker checks each server in the same way.",
  },
  {
    path: [...OF_A_SERVER, "distributedTimeoutSeconds"],
    usual: 1800,
    instead: "The ranks of a server wait 1800 s for each other.",
  },
  {
    path: ["simpleServer", "unit"],
    usual: "ollama.service",
    instead: "Ollama's unit is called as its installer calls it.",
  },
];

/** Values that are gone of keys that stay; each is read as another one. */
const GONE_VALUES: readonly GoneKey[] = [
  {
    path: ["device"],
    reads: (value) =>
      EARLIER_DEVICES.includes(String(value))
        ? { path: ["device"], value: OTHER_DEVICE }
        : undefined,
    instead: "No vLLM is planned on such machines, so they need no names of their own.",
  },
];

/** A key or a value that is gone, in the settings of a machine. */
interface Found {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly gone: GoneKey;
  readonly moved?: Moved;
}

/** Takes what is gone out of settings, before these are judged. */
export function takeGoneKeys(settings: Record<string, unknown>): {
  readonly kept: Record<string, unknown>;
  readonly found: readonly Found[];
} {
  const found = [...GONE, ...GONE_VALUES]
    .flatMap((gone) =>
      placesOf(settings, ["machines", "*", ...gone.path]).map(({ path, value }) => ({
        ...{ path, value, gone },
        ...defined({ moved: gone.reads?.(value) }),
      })),
    )
    .filter(({ gone, moved }) => GONE.includes(gone) || moved !== undefined);
  const kept = found.reduce((rest, { path, moved }) => {
    const without = withAt(rest, path, undefined);
    return moved === undefined
      ? without
      : withAt(without, [...path.slice(0, -1), ...moved.path], moved.value);
  }, settings);
  return { kept, found };
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

/** The same block with another value at a path; `undefined` takes the key away. */
function withAt(
  block: JsonObject,
  [first = "", ...rest]: readonly string[],
  wanted: string | undefined,
): JsonObject {
  const { [first]: below, ...others } = block;
  if (rest.length > 0) return { ...block, [first]: withAt(objectOr(below), rest, wanted) };
  return wanted === undefined ? others : { ...block, [first]: wanted };
}

/** Whether what is written is what it was where it was left out. */
const isUsual = (written: unknown, usual: unknown): boolean =>
  isRecord(usual)
    ? isRecord(written) &&
      Object.entries(written).every(([key, value]) => isUsual(value, usual[key]))
    : written === usual;

/** A fault for each key whose value would change the machine. */
export const goneKeyFaults = (
  found: readonly Found[],
  document: SourceDocument | undefined,
): Fault[] =>
  found.flatMap(({ path, value, moved, gone: { usual, instead } }) =>
    moved !== undefined || usual === undefined || isUsual(value, usual)
      ? []
      : [
          errorAt(
            dotted(path),
            "gone_key",
            `\`${path.at(-1)}\` is gone, and was ${JSON.stringify(usual)} where it was left out. ${instead} Delete it: the next \`serving up\` changes what it was for.`,
            document?.locate(path, "key"),
          ),
        ],
  );

const goneKeys = new WeakMap<StackSettings, readonly Found[]>();

/** Keeps what was taken out of settings, so that a plan of them can tell of it. */
export function rememberGoneKeys(settings: StackSettings, found: readonly Found[]): void {
  goneKeys.set(settings, found);
}

/** What is said of keys and values that are gone and change nothing. */
export const goneKeyNotes = (settings: StackSettings): Warning[] =>
  (goneKeys.get(settings) ?? []).map(({ path: [, machine = "", ...path], value, moved, gone }) => {
    const said =
      moved === undefined
        ? `\`${dotted(path)}\` is gone and does nothing: delete it.`
        : `\`${dotted(path)}: ${value}\` is read as \`${dotted(moved.path)}: ${moved.value}\`: write that.`;
    return { machine, code: "setting-gone", message: `${said} ${gone.instead}` };
  });
