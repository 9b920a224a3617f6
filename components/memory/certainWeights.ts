import { isRecord } from "../../faults/json";
import { readServerArguments } from "../../vllm/argv/serverArguments";
import type { ModelEvidence } from "../planned/evidence";
import { type NamedWeights, namedWeights, ofRank } from "../planned/modelName";
import type { InferenceServerSettings } from "../settings/inferenceServer";
import { isJudged, rankCount, residentGiB } from "./kvRoom";

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
 * The least that a rank's part of the weights takes by the model's name alone, where nothing else
 * tells their size; `undefined` where the name doesn't either.
 */
export function weightsByName(
  server: InferenceServerSettings,
  model: ModelEvidence | undefined,
): NamedWeights | undefined {
  const { model: declared, extraArgs, environment } = server;
  const { options } = readServerArguments(extraArgs);
  const isOpen =
    declared.inImage !== undefined ||
    server.pipelineParallelSize > 1 ||
    options.has("hf-overrides") ||
    Object.hasOwn(environment, TABLES_ELSEWHERE) ||
    residentGiB(server, model) !== undefined;
  const named = isOpen ? undefined : namedWeights(declared.id);
  const [quantization] = options.get("quantization") ?? [];
  return named && ofRank(named, { id: declared.id, quantization, ranks: rankCount(server) });
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
