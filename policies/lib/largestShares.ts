import { map, text, UNKNOWN } from "../../components/inference-server/argv/unknown";

/** The largest shares that the plan found for one server of ours, in a machine component's inputs. */
export interface LargestShare {
  readonly name: string;
  readonly bySum: number;
  readonly byAggregate: number;
}

/** Reads `memory.largestUtilization` of a machine component; empty where nothing can be read. */
export function largestShares(given: unknown): LargestShare[] {
  const servers = map(given);
  if (servers === undefined || servers === UNKNOWN) return [];
  return Object.entries(servers).flatMap(([name, entry]) => {
    const fits = map(entry);
    if (fits === undefined || fits === UNKNOWN) return [];
    return [{ name, bySum: Number(text(fits.bySum)), byAggregate: Number(text(fits.byAggregate)) }];
  });
}
