import type { MemoryDemand } from "../../planned/serverMemory";
import { TEN_THOUSAND } from "../../planned/utilization";
import { readServerArguments, type ServerArguments } from "./serverArguments";
import { serverInvocations } from "./serverInvocations";
import { shareOf } from "./utilization";
import { isText } from "./words";

/** What a server's arguments ask of the memory, or why that can't be told. */
export type Demand =
  | { readonly known: true; readonly byDefault: boolean; readonly memory: MemoryDemand }
  | { readonly known: false; readonly why: string };

const BYTES_PER_GIB = 1024 ** 3;
const KV_CACHE = "kv-cache-memory-bytes";

/** Reads what a server takes by its arguments. What its weights take stands in none of them. */
export function demandOf(args: ServerArguments): Demand {
  const share = shareOf(args);
  if (!share.known) return share;
  const cache = fixedCacheGiB(args);
  if (typeof cache === "string") return { known: false, why: cache };
  return {
    known: true,
    byDefault: share.byDefault,
    memory: {
      utilization: share.tenThousandths / TEN_THOUSAND,
      ...(cache > 0 ? { kvCacheGiB: cache } : {}),
    },
  };
}

/** GiB of `--kv-cache-memory-bytes`, or what is wrong with it. vLLM takes 0 for not given. */
function fixedCacheGiB({ options }: ServerArguments): number | string {
  const values = options.get(KV_CACHE);
  if (values === undefined) return 0;
  const [value] = values;
  if (value === undefined) return `\`--${KV_CACHE}\` has no value`;
  if (!isText(value)) return `the value of \`--${KV_CACHE}\` is not known before the update`;
  const bytes = humanReadableInteger(value);
  return bytes === undefined
    ? `\`--${KV_CACHE}\` is \`${value}\`, which is no size (write bytes, or 8G for 8 GiB)`
    : bytes / BYTES_PER_GIB;
}

/** vLLM's own rule for a size: `8G` is 8 GiB, `8g` is 8 GB, `8.5g` is a size and `8.5G` is none. */
export function humanReadableInteger(written: string): number | undefined {
  const [, number = "", suffix = ""] = /^(\d+(?:\.\d+)?)([kmgt])$/i.exec(written.trim()) ?? [];
  if (suffix === "")
    return /^\+?\d+(_\d+)*$/.test(written.trim()) ? Number(written.replaceAll("_", "")) : undefined;
  const power = "kmgt".indexOf(suffix.toLowerCase()) + 1;
  if (suffix !== suffix.toUpperCase()) return Math.trunc(Number(number) * 1000 ** power);
  return number.includes(".") ? undefined : Number(number) * 1024 ** power;
}

/** The same of a running process, by its argv; `undefined` where that starts no server or can't be read for certain. */
export function demandOfProcess(argv: readonly string[]): MemoryDemand | undefined {
  const [server] = serverInvocations(argv, new Map()).servers;
  if (server === undefined) return undefined;
  const args = readServerArguments(server);
  const demand = demandOf(args);
  return demand.known && args.unreadable.length === 0 ? demand.memory : undefined;
}
