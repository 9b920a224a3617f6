import type { ServerArguments } from "./serverArguments";
import { isText } from "./words";

/** Largest sum of `--gpu-memory-utilization` over all instances of a machine (specification, "Limits"). */
export const AGGREGATE_LIMIT = 0.9;
/** What vLLM takes when the flag is missing (its cache configuration, 0.26 to 0.33). */
export const VLLM_DEFAULT_UTILIZATION = 0.92;

/** Shares are compared in whole ten-thousandths: in binary fractions 0.72 + 0.18 is above 0.9. */
export const TEN_THOUSAND = 10_000;
const HUNDREDTH = 100;
/** Far below a ten-thousandth and far above the noise of binary fractions. */
const NOISE = 1e-6;

/** A share in whole ten-thousandths, rounded up so that a sum is never taken for less than it is. */
export function tenThousandths(share: number): number {
  return Math.ceil(share * TEN_THOUSAND - NOISE);
}

/** A share for a person: two decimals, or up to four where they are needed. */
export function shareText(ofTenThousand: number): string {
  const [whole = "0", decimals = ""] = (ofTenThousand / TEN_THOUSAND).toFixed(4).split(".");
  return `${whole}.${decimals.replace(/0{1,2}$/, "")}`;
}

/** The largest share that still fits beside the others, rounded down to 0.01; 0 when none does. */
export function largestThatFits(limit: number, others: number): number {
  return Math.max(0, Math.floor((limit - others) / HUNDREDTH) * HUNDREDTH);
}

/** One server's claim on the machine's memory. */
export type Share =
  | { readonly known: true; readonly tenThousandths: number; readonly byDefault: boolean }
  | { readonly known: false; readonly why: string };

/** The share that a server takes by its arguments; without the flag, vLLM's default. */
export function shareOf(args: ServerArguments): Share {
  const values = args.options.get("gpu-memory-utilization");
  if (values === undefined) {
    return { known: true, tenThousandths: tenThousandths(VLLM_DEFAULT_UTILIZATION), byDefault: true };
  }
  const [value] = values;
  if (value === undefined) return { known: false, why: "`--gpu-memory-utilization` has no value" };
  if (!isText(value)) {
    return { known: false, why: "the value of `--gpu-memory-utilization` is not known before the update" };
  }
  return shareFrom(value, "`--gpu-memory-utilization`");
}

/** Reads a share as Python reads a float; outside (0, 1] it is no share, and a negative one would hide another. */
export function shareFrom(value: unknown, what: string): Share {
  const written = String(value).trim();
  const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(written) ? Number(written) : Number.NaN;
  if (Number.isNaN(number)) return { known: false, why: `${what} is \`${written}\`, which is no number` };
  if (number <= 0 || number > 1) {
    return { known: false, why: `${what} is ${written}, but a share lies above 0 and at most at 1` };
  }
  return { known: true, tenThousandths: tenThousandths(number), byDefault: false };
}
