import { isRecord } from "../../faults/json";
import { readServerArguments } from "../../vllm/argv/serverArguments";
import type { ModelEvidence } from "../planned/evidence";
import type { InferenceServerSettings } from "../settings/inferenceServer";
import { isJudged, residentGiB } from "./kvRoom";

/** Options and variables that make vLLM load other weights than those on disk. */
const LOADS_OTHERWISE = ["quantization", "hf-overrides", "language-model-only"];
const TABLES_ELSEWHERE = "VLLM_PLE_TABLE_MEMORY";

/**
 * Memory of a rank's loaded weights in GiB, where that is certain; a start is called impossible
 * because of no other figure.
 */
export function certainWeights(
  server: InferenceServerSettings,
  model: ModelEvidence | undefined,
): number | undefined {
  const { options } = readServerArguments(server.extraArgs);
  // Stages of a pipeline are not of one size.
  const isUncertain =
    server.pipelineParallelSize > 1 ||
    LOADS_OTHERWISE.some((name) => options.has(name)) ||
    Object.hasOwn(server.environment, TABLES_ELSEWHERE) ||
    isLoadedByHalf(model?.config) ||
    isJudged(server, model);
  const isKnown = server.model.residentGiB !== undefined || !isUncertain;
  return isKnown ? residentGiB(server, model) : undefined;
}

/**
 * Whether a model's config.json says that its weights are float32: vLLM loads them with 16 bits
 * each, so half of what is on the disk (vLLM `config/model.py`, `_resolve_auto_dtype`).
 */
function isLoadedByHalf(config: unknown): boolean {
  const root = isRecord(config) ? config : {};
  const text = isRecord(root.text_config) ? root.text_config : root;
  return [root, text].some((each) => (each.dtype ?? each.torch_dtype) === "float32");
}
