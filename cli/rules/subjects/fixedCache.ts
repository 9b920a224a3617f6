import type { LogReading } from "../../sees/log/scanLog";
import { STARTED_WITH, sign } from "../../sees/log/sign";
import type { Server } from "../picture";
import { argumentsOf } from "./pointed";

/** vLLM says that the share doesn't count for the cache, or a command line does. */
const SKIPPED = sign(
  ["skipped memory profiling", "kv_cache_memory_bytes=", "--kv-cache-memory-bytes"],
  /kv_cache_memory_bytes config and skipped memory profiling|\bkv_cache_memory_bytes=[1-9]\d*|\s--kv-cache-memory-bytes[= ]["']?[1-9]/,
);

const OPTION = "--kv-cache-memory-bytes";

/**
 * Whether the KV cache of a server has a fixed size, by what its log was started with, else by its
 * settings: then its share of the memory changes nothing there.
 */
export function hasFixedCache(log: LogReading, { settings }: Pick<Server, "settings">): boolean {
  if (log.hits.has(SKIPPED)) return true;
  const value = argumentsOf(log).find(({ names }) => names.includes(OPTION))?.value;
  if (value !== undefined) return value !== "None";
  return !log.hits.has(STARTED_WITH) && settings?.kvCacheMemoryBytes !== undefined;
}

/** What a share has to do with a cache of a fixed size. */
export const SHARE_IS_IDLE =
  "`gpuMemoryUtilization` changes nothing for the cache while `kvCacheMemoryBytes` (`--kv-cache-memory-bytes`) fixes its size.";
