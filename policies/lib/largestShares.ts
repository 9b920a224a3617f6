import { figure, knownMap } from "../../components/inference-server/argv/unknown";
import type { StartNeeds } from "../../components/memory/startNeeds";
import type { DeclaredResource } from "./container";

/** What a plan found for one server of ours, in a machine component's inputs. */
export interface LargestShare {
  readonly name: string;
  /** The largest shares that fit. */
  readonly bySum: number;
  readonly byAggregate: number;
  /** What it needs to start; a figure that isn't known is missing. */
  readonly needs: StartNeeds;
}

/** The servers in `memory` of a machine component; empty where nothing can be read. */
export function largestShares(component: DeclaredResource | undefined): LargestShare[] {
  const memory = knownMap(component?.props.memory);
  const starts = knownMap(memory.starts);
  return Object.entries(knownMap(memory.largestUtilization)).flatMap(([name, entry]) => {
    const fits = knownMap(entry);
    const [bySum, byAggregate] = [figure(fits.bySum), figure(fits.byAggregate)];
    const needs = Object.entries(knownMap(starts[name])).filter(([, value]) => typeof value === "number");
    return [{ name, bySum, byAggregate, needs: Object.fromEntries(needs) }];
  });
}
