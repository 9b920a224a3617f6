import { hundredths } from "./ledger";

/** A total is written down with two places, so it may be this much above what the machine has. */
const ROUNDING_GIB = 0.01;

/** A total that is lower than the machine's is safe, and off by more than this share the plan's figures are wrong. */
const LOWER_TOLERANCE = 0.001;

/** What speaks against a declared total once the machine's own is known; `undefined` where it is right. */
export function totalFault(declaredGiB: number, machineGiB: number): string | undefined {
  const real = machineGiB.toFixed(2);
  const set = `Set \`totalGiB: ${hundredths(machineGiB)}\`.`;
  if (declaredGiB > machineGiB + ROUNDING_GIB) {
    const absent = (declaredGiB - machineGiB).toFixed(2);
    return `totalGiB is declared as ${declaredGiB}, and the machine has ${real}: ${absent} GiB of the plan are not there. ${set}`;
  }
  if (declaredGiB < machineGiB * (1 - LOWER_TOLERANCE)) {
    return `totalGiB is declared as ${declaredGiB}, and the machine has ${real}: vLLM takes its share of what the machine has, so the plan's figures are too small. ${set}`;
  }
  return undefined;
}

/** Beyond this share a declared total is another machine's, or was never read. */
const REFUSED_BEYOND = 0.02;

/** What the preflight and a plan with the machine's meminfo find of a declared total: a little off is warned of. */
export function totalFinding(
  declaredGiB: number,
  machineGiB: number,
):
  | {
      readonly verdict: "refused" | "warned";
      readonly message: string;
      readonly setting: "totalGiB";
      readonly value: number;
    }
  | undefined {
  const message = totalFault(declaredGiB, machineGiB);
  if (message === undefined) return undefined;
  const off = Math.abs(declaredGiB - machineGiB) / machineGiB;
  const verdict = off > REFUSED_BEYOND ? "refused" : "warned";
  return { verdict, message, setting: "totalGiB", value: hundredths(machineGiB) };
}

/** The total to plan with: the declared one, unless the machine has less. */
export function plannedTotal(declaredGiB: number, machineGiB: number | undefined): number {
  return machineGiB !== undefined && declaredGiB > machineGiB + ROUNDING_GIB
    ? hundredths(machineGiB)
    : declaredGiB;
}
