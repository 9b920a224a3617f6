import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import { figure, knownMap, knownMaps } from "@local-serving/vllm/argv/unknown";
import type { StartNeeds } from "../../components/memory";
import { type DeclaredResource, knownText } from "./container";

/** What a plan found for one server of ours, in a machine component's inputs. */
export interface LargestShare {
  /** Name of its container. */
  readonly name: string;
  /** The largest shares that fit; `NaN` for a figure that isn't known. */
  readonly bySum: number;
  readonly byAggregate: number;
  /** The largest that leaves the memory floor as well, where that is smaller. */
  readonly keepingFloor?: number;
  readonly needs: StartNeeds;
}

/** The servers in `memory` of a machine component; empty where nothing can be read. */
export function largestShares(component: DeclaredResource | undefined): LargestShare[] {
  const memory = knownMap(component?.props.memory);
  const starts = knownMap(memory.starts);
  return Object.entries(knownMap(memory.largestUtilization)).flatMap(([name, entry]) => {
    const fits = knownMap(entry);
    const [bySum, byAggregate] = [figure(fits.bySum), figure(fits.byAggregate)];
    // A figure that isn't known is missing.
    const known = Object.entries(knownMap(starts[name])).filter(
      ([key, value]) =>
        typeof value === "number" ||
        (["byName", "cannotStart", "startAnyway"].includes(key) && typeof value === "string") ||
        (["unweighed", "atMost"].includes(key) && value === true),
    );
    const needs: StartNeeds = Object.fromEntries(known);
    const keepingFloor = figure(fits.keepingFloor);
    return [
      {
        name,
        bySum,
        byAggregate,
        ...(Number.isFinite(keepingFloor) ? { keepingFloor } : {}),
        needs,
      },
    ];
  });
}

/**
 * Why a KV cache of fixed size can't be lowered to what is left for it: the server would not start.
 * Empty where it can be, or where nobody knows.
 */
export function cacheTooSmall({ name, needs }: LargestShare, leftGiB: number): string {
  const { leastCacheBytes: least, outsideGiB } = needs;
  if (least === undefined || outsideGiB === undefined || leftGiB * BYTES_PER_GIB >= least)
    return "";
  return `${Math.max(0, leftGiB).toFixed(2)} GiB is left for the KV cache of ${name}, but one request of its whole window needs ${(least / BYTES_PER_GIB).toFixed(2)} GiB.`;
}

/** Servers for which a machine component counts what their adapters take in the host's memory. */
export function countedAdapters(component: DeclaredResource | undefined): ReadonlySet<string> {
  const { lines, together } = knownMap(component?.props.memory);
  const inSum = knownMaps(lines).flatMap(({ name }) => {
    const [server = "", part] = (knownText(name) ?? "").split(": ");
    return part === "adapters" ? [server] : [];
  });
  const onRequest = knownMaps(knownMap(together).servers).flatMap(({ name, adaptersGiB }) =>
    adaptersGiB === undefined ? [] : (knownText(name) ?? []),
  );
  return new Set([...inSum, ...onRequest]);
}
