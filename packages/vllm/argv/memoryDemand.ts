import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import {
  type MemoryDemand,
  TEN_THOUSAND,
  tenThousandths,
  VLLM_DEFAULT_UTILIZATION,
  writtenTenThousandths,
} from "../utilization";
import { connectorsGiB } from "./connectors";
import { processArguments } from "./processArguments";
import { isOn, type ServerArguments } from "./serverArguments";
import { isText, type Word } from "./unknown";

/** What a server's arguments ask of the memory, or why that can't be told. */
export type Demand =
  | { readonly known: true; readonly byDefault: boolean; readonly memory: MemoryDemand }
  | { readonly known: false; readonly why: string };

const KV_CACHE = "kv-cache-memory-bytes";

/** What is known of a server beside its arguments. */
interface Counted {
  /** What its adapters take in the host's memory is counted elsewhere. */
  readonly adaptersCounted?: boolean;
}

/** Reads what a server takes by its arguments. None of them says what its weights take. */
export function demandOf(args: ServerArguments, { adaptersCounted = false }: Counted = {}): Demand {
  const share = shareOf(args);
  if (!share.known) return share;
  const why = uncountable(args, adaptersCounted);
  if (why !== undefined) return { known: false, why };
  const cache = fixedCacheGiB(args);
  if (typeof cache === "string") return { known: false, why: cache };
  const host = hostGiB(args);
  if (typeof host === "string") return { known: false, why: host };
  return {
    known: true,
    byDefault: share.byDefault,
    memory: {
      utilization: share.tenThousandths / TEN_THOUSAND,
      ...(cache > 0 ? { kvCacheGiB: cache } : {}),
      ...(host > 0 ? { hostGiB: host } : {}),
    },
  };
}

/**
 * Options that give vLLM so many GiB beside its share, as the CPU's memory: on this machine it is
 * the same. Whether what images are handed over in lies within the share isn't known, so it counts.
 */
const HOST_OPTIONS = ["cpu-offload-gb", "kv-offloading-size", "mm-ipc-gpu-memory-gb"];

/** Sum of all that is asked for beside the share, or what is wrong with an option. */
function hostGiB(args: ServerArguments): number | string {
  const offloaded = offloadedGiB(args);
  if (typeof offloaded === "string") return offloaded;
  const images = processorCacheGiB(args);
  if (typeof images === "string") return images;
  const connectors = connectorsGiB(args);
  return typeof connectors === "number" ? offloaded + images + connectors : connectors.why;
}

/** Sum of what those options ask for. A release without an option refuses it, and takes nothing. */
function offloadedGiB({ options, unknownFlags }: ServerArguments): number | string {
  const unknown = new Set(unknownFlags.map((flag) => flag.slice(2).replaceAll("_", "-")));
  let sum = 0;
  for (const [name, [value]] of options) {
    if (unknown.has(name)) continue;
    const option = HOST_OPTIONS.find(
      (each) => each === name || (name.length > 2 && each.startsWith(name)),
    );
    if (option === undefined) continue;
    const gib = amount(value);
    if (gib === undefined) return noAmount(option);
    sum += gib;
  }
  return sum;
}

/** Amount of GiB as Python reads a float. */
const amount = (value: Word | undefined): number | undefined =>
  isText(value) && /^\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value.trim())
    ? Number(value)
    : undefined;

const noAmount = (option: string) =>
  `the value of \`--${option}\` can't be read as an amount of GiB`;

const PROCESSOR_CACHE = "mm-processor-cache-gb";

/**
 * GiB of a stated cache of processed images: vLLM keeps one in each API server and in each engine
 * (its own rule, `mm_processor_cache_gb * (api_server_count + data_parallel_size)`). Its default of
 * 4 GiB is filled by images alone, and no line.
 */
function processorCacheGiB({ options }: ServerArguments): number | string {
  const stated = options.get(PROCESSOR_CACHE);
  if (stated === undefined) return 0;
  const gib = amount(stated[0]);
  if (gib === undefined) return noAmount(PROCESSOR_CACHE);
  const engines = countOf(options, "data-parallel-size");
  const servers = countOf(options, "api-server-count", engines ?? 1);
  if (engines === undefined) return noCount("data-parallel-size");
  return servers === undefined ? noCount("api-server-count") : gib * (servers + engines);
}

/**
 * A whole number that an option is given; `byDefault` where it is missing, `undefined` where it
 * can't be read.
 */
function countOf(
  options: ServerArguments["options"],
  option: string,
  byDefault = 1,
): number | undefined {
  const values = options.get(option);
  if (values === undefined) return byDefault;
  const [value] = values;
  return isText(value) && /^\+?\d+$/.test(value.trim()) ? Number(value) : undefined;
}

const noCount = (option: string) => `the value of \`--${option}\` can't be read as a number`;

/**
 * GPUs of its machine that a server's processes need, or why that can't be told. Each takes its
 * share of a GPU of its own, and vLLM starts none of them on a GPU that another has.
 */
export function gpusNeeded(args: ServerArguments): number | string {
  const { options } = args;
  const parts = ["tensor-parallel-size", "pipeline-parallel-size", "prefill-context-parallel-size"];
  const counts = new Map(
    [...parts, "data-parallel-size", "nnodes"].map(
      (each) => [each, countOf(options, each)] as const,
    ),
  );
  const unread = [...counts].find(([, count]) => count === undefined)?.[0];
  if (unread !== undefined) return noCount(unread);
  const count = (option: string) => counts.get(option) ?? 1;
  const engine = parts.reduce((product, part) => product * count(part), 1);
  const nodes = Math.max(1, count("nnodes"));
  // With an external load balancer, this is one engine of several.
  const alone = isOn(args, "data-parallel-external-lb") || options.has("data-parallel-rank");
  const engines = alone ? 1 : count("data-parallel-size");
  const local = countOf(options, "data-parallel-size-local", engines);
  if (local === undefined) return noCount("data-parallel-size-local");
  return Math.ceil((engine * (nodes > 1 || alone ? engines : local)) / nodes);
}

/** Why a server takes memory whose size its arguments don't give; `undefined` if it doesn't. */
function uncountable({ options }: ServerArguments, adaptersCounted: boolean): string | undefined {
  if (options.has("num-gpu-blocks-override"))
    return "`--num-gpu-blocks-override` sets the KV cache in blocks, whatever memory they take: use `--kv-cache-memory-bytes`";
  const group = options.get("offload-group-size")?.[0] ?? "0";
  if (group !== "0")
    return "`--offload-group-size` keeps weights in host memory, which is the same memory here, and doesn't say how much: remove it";
  const backend = options.get("kv-offloading-backend")?.[0] ?? "native";
  if (options.has("kv-offloading-size") && backend !== "native")
    return "`--kv-offloading-backend` other than native doesn't keep to our limits: use native";
  if (countOf(options, "api-server-count") !== 1 && !options.has(PROCESSOR_CACHE))
    return "`--api-server-count` starts several processes, each with an image cache of 4 GiB: set `--mm-processor-cache-gb`, which then counts for all of them";
  const adapters = countOf(options, "max-cpu-loras", 0);
  const onGpu = countOf(options, "max-loras");
  if (adapters === undefined || onGpu === undefined || (adapters > onGpu && !adaptersCounted))
    return "`--max-cpu-loras` keeps adapters in host memory, which is the same memory here, and doesn't say how much: remove it";
  return undefined;
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
    ? `\`--${KV_CACHE}\` is \`${value}\`, which is not a size (write bytes, or 8G for 8 GiB)`
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

/** The number that an option is given, as vLLM reads it; NaN where there is none. */
export function numberIn({ options }: ServerArguments, option: string): number {
  const [value] = options.get(option) ?? [];
  return (isText(value) ? humanReadableInteger(value) : undefined) ?? Number.NaN;
}

/**
 * Returns what a running process asks of the memory, by its argv; `undefined` if that starts no
 * server or can't be read for certain.
 */
export function demandOfProcess(argv: readonly string[]): MemoryDemand | undefined {
  const args = processArguments(argv);
  const demand = args && demandOf(args);
  return demand?.known ? demand.memory : undefined;
}

/** One server's claim on the machine's memory. */
export type ClaimedShare =
  | { readonly known: true; readonly tenThousandths: number; readonly byDefault: boolean }
  | { readonly known: false; readonly why: string };

/** The share that a server takes by its arguments; without the flag, vLLM's default. */
function shareOf(args: ServerArguments): ClaimedShare {
  const values = args.options.get("gpu-memory-utilization");
  if (values === undefined)
    return {
      known: true,
      tenThousandths: tenThousandths(VLLM_DEFAULT_UTILIZATION),
      byDefault: true,
    };
  const [value] = values;
  if (value === undefined) return { known: false, why: "`--gpu-memory-utilization` has no value" };
  if (!isText(value))
    return {
      known: false,
      why: "the value of `--gpu-memory-utilization` is not known before the update",
    };
  return shareFrom(value, "`--gpu-memory-utilization`");
}

/**
 * Reads a share as Python reads a float; outside (0, 1] it isn't a share, and a negative one would
 * hide another.
 */
export function shareFrom(value: unknown, what: string): ClaimedShare {
  const written = String(value).trim();
  const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(written)
    ? Number(written)
    : Number.NaN;
  if (Number.isNaN(number))
    return { known: false, why: `${what} is \`${written}\`, which is not a number` };
  if (number <= 0 || number > 1)
    return {
      known: false,
      why: `${what} is ${written}, but a share must be above 0 and at most 1`,
    };
  return { known: true, tenThousandths: writtenTenThousandths(number), byDefault: false };
}

/**
 * The share of memory that a process's argv asks for, as vLLM reads it: its default where the flag
 * is missing. `undefined` where the argv starts no inference server, or one that can't be read for
 * certain.
 */
export function utilizationOf(argv: readonly string[]): number | undefined {
  const args = processArguments(argv);
  const share = args && shareOf(args);
  return share?.known ? share.tenThousandths / TEN_THOUSAND : undefined;
}
