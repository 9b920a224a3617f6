import { TEN_THOUSAND, tenThousandths, VLLM_DEFAULT_UTILIZATION } from "../../planned/utilization";
import { readServerArguments, type ServerArguments } from "./serverArguments";
import { serverInvocations } from "./serverInvocations";
import { isText } from "./words";

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

/** Reads a share as Python reads a float; outside (0, 1] it isn't a share, and a negative one would hide another. */
export function shareFrom(value: unknown, what: string): Share {
  const written = String(value).trim();
  const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(written) ? Number(written) : Number.NaN;
  if (Number.isNaN(number)) return { known: false, why: `${what} is \`${written}\`, which is not a number` };
  if (number <= 0 || number > 1) {
    return { known: false, why: `${what} is ${written}, but a share lies above 0 and at most at 1` };
  }
  return { known: true, tenThousandths: tenThousandths(number), byDefault: false };
}

/**
 * The share of memory that a process's argv asks for, as vLLM reads it: its default where the flag is missing.
 * `undefined` where the argv starts no inference server, or one that can't be read for certain.
 */
export function utilizationOf(argv: readonly string[]): number | undefined {
  const [server] = serverInvocations(argv, new Map()).servers;
  if (server === undefined) return undefined;
  const args = readServerArguments(server);
  const share = shareOf(args);
  return share.known && args.unreadable.length === 0 ? share.tenThousandths / TEN_THOUSAND : undefined;
}
