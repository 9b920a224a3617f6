import type { DataOf } from "./schema/dataOf";
import type { serverKvSchema } from "./schema/kv";

/** GB of weights that each GPU of a server loads; `null` where their size isn't known. */
export const gbOnEachGpu = ({
  weightsGB,
  ranks: gpus,
}: Pick<DataOf<typeof serverKvSchema>, "weightsGB" | "ranks">): number | null =>
  weightsGB === null ? null : weightsGB / gpus;
