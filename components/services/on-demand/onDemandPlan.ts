import type { DataOf } from "@local-serving/base/data/dataOf";
import type { inferenceServerSchema, onDemandSchema, togetherSchema } from "../../planned/schema";

/** llama-swap of one machine: where it listens, and what it starts. */
export type OnDemandPlan = DataOf<typeof onDemandSchema>;

/** What of a machine's plan its files are written from, beside the plan of llama-swap. */
export interface OnDemandAround {
  readonly machine: string;
  readonly servers: readonly DataOf<typeof inferenceServerSchema>[];
  readonly together: DataOf<typeof togetherSchema>;
}
