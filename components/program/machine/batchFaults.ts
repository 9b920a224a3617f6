import { numberIn } from "@local-serving/vllm/argv/memoryDemand";
import type { ServerArguments } from "@local-serving/vllm/argv/serverArguments";

/** Why a server's batch keeps it from starting, and the setting whose value mends that. */
interface BatchFault {
  readonly message: string;
  readonly setting: string;
  readonly value: number | boolean;
}

/**
 * What vLLM's scheduler refuses of a batch (vllm/config/scheduler.py, `verify_max_model_len`). An
 * argument that is missing or no number isn't judged.
 */
export function batchFaults(args: ServerArguments): BatchFault[] {
  const batch = numberIn(args, "max-num-batched-tokens");
  const sequences = numberIn(args, "max-num-seqs");
  const window = numberIn(args, "max-model-len");
  const found: BatchFault[] = [];
  if (batch < sequences)
    found.push({
      message: `a batch of ${batch} tokens is less than ${sequences} sequences. Set \`maxNumSeqs: ${batch}\` or less, or a larger \`maxNumBatchedTokens\`: a batch has at least a token of each sequence.`,
      setting: "maxNumSeqs",
      value: batch,
    });
  if (batch < window && args.options.get("enable-chunked-prefill")?.[0] === "off")
    found.push({
      message: `a batch of ${batch} tokens is less than its window, ${window}. Set \`chunkedPrefill: true\`: without it a batch takes whole prompts.`,
      setting: "chunkedPrefill",
      value: true,
    });
  return found;
}
