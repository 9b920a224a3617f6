import { defined } from "@local-serving/base/faults/defined";
import { dotted } from "@local-serving/base/faults/fault";
import { isRecord, type JsonObject, objectOr } from "@local-serving/base/faults/json";
import { EARLIER_DEVICES, OTHER_DEVICE } from "@local-serving/machines/devices/devices";
import type { Warning } from "../planned";
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
   * What it was where it was left out, as it is now: another value makes the next update replace the
   * server. Without this key no value changes anything.
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
    reads: (value) =>
      value === true
        ? { path: ["environment", "VLLM_USE_FLASHINFER_MOE_FP4"], value: "1" }
        : undefined,
    instead: "vLLM ignores the variable since 0.24: `moeBackend` chooses the kernels.",
  },
  {
    path: [...OF_A_SERVER, "distributedTimeoutSeconds"],
    usual: 1800,
    instead: "The ranks of a server wait 1800 s for each other.",
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
        path,
        value,
        gone,
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

const goneKeys = new WeakMap<StackSettings, readonly Found[]>();

/** Keeps what was taken out of settings, so that a plan of them can tell of it. */
export function rememberGoneKeys(settings: StackSettings, found: readonly Found[]): void {
  goneKeys.set(settings, found);
}

/** What is said of keys and values that are gone: a note where they change nothing. */
export const goneKeyWarnings = (settings: StackSettings): Warning[] =>
  (goneKeys.get(settings) ?? []).map(({ path: [, machine = "", ...path], value, moved, gone }) => {
    const { usual, instead } = gone;
    const key = dotted(path);
    if (moved !== undefined) {
      const wanted = `\`${dotted(moved.path)}: ${moved.value}\``;
      const message = `\`${key}: ${value}\` is read as ${wanted}. Write that. ${instead}`;
      return { machine, code: "setting-gone", message };
    }
    if (usual === undefined || value === usual) {
      const message = `\`${key}\` is gone and does nothing: delete it. ${instead}`;
      return { machine, code: "setting-gone", message };
    }
    const message = `\`${key}\` is gone: delete it. The next \`serving up\` replaces the server, which runs with it. ${instead}`;
    return { machine, code: "setting-dropped", message };
  });
