import { isText } from "../../vllm/argv/unknown";
import type { ServerReading } from "./inferenceServer";

type Arguments = Extract<ServerReading, { kind: "yes" }>["servers"][number];

/** Why a server's batch keeps it from starting, and the setting whose value mends that. */
interface BatchFault {
  readonly message: string;
  readonly setting: string;
  readonly value: number | boolean;
}

/**
 * What vLLM's scheduler refuses of a batch (vllm/config/scheduler.py, `verify_max_model_len`). An
 * argument that is missing or no plain number isn't judged.
 */
export function batchFaults(args: Arguments): BatchFault[] {
  const figure = (name: string) => {
    const [word] = args.options.get(name) ?? [];
    return isText(word) ? Number(word) : Number.NaN;
  };
  const batch = figure("max-num-batched-tokens");
  const sequences = figure("max-num-seqs");
  const window = figure("max-model-len");
  const found: BatchFault[] = [];
  if (batch < sequences)
    found.push({
      message: `--max-num-batched-tokens ${batch} is smaller than --max-num-seqs ${sequences}, but a batch has at least a token of each sequence. Set \`maxNumSeqs: ${batch}\` or less, or a larger \`maxNumBatchedTokens\`.`,
      setting: "maxNumSeqs",
      value: batch,
    });
  if (batch < window && args.options.get("enable-chunked-prefill")?.[0] === "off")
    found.push({
      message: `--max-num-batched-tokens ${batch} is smaller than --max-model-len ${window}, and without chunked prefill a batch takes whole prompts. Set \`chunkedPrefill: true\`.`,
      setting: "chunkedPrefill",
      value: true,
    });
  return found;
}
