import { isRecord, objectOr } from "@local-serving/base/faults/json";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import type { Word } from "@local-serving/vllm/argv/unknown";
import type { ModelEvidence } from "../planned";
import type { InferenceServerSettings } from "../settings";
import { gpuCount, isJudged, residentGiB } from "./kvRoom";
import { type NamedWeights, namedWeights, onEachGpu } from "./model-name";

/** Options and variables that make vLLM load other weights than those on disk. */
const LOADS_OTHERWISE = ["hf-overrides", "language-model-only"];
const TABLES_ELSEWHERE = "VLLM_PLE_TABLE_MEMORY";

/**
 * Memory of a GPU's loaded weights in GiB, where that is certain; a start is called impossible
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
    isQuantizedAtLoad(options.get("quantization")?.[0], model?.config) ||
    Object.hasOwn(server.environment, TABLES_ELSEWHERE) ||
    isLoadedByHalf(model?.config) ||
    isJudged(server, model);
  const isKnown = server.model.residentGiB !== undefined || !isUncertain;
  return isKnown ? residentGiB(server, model) : undefined;
}

/**
 * The least that a GPU's part of the weights takes by the model's name alone, where nothing else
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
  return named && onEachGpu(named, { id: declared.id, quantization, gpus: gpuCount(server) });
}

/**
 * Whether vLLM makes a model's weights smaller while it loads them. Those of a checkpoint in the same
 * format are loaded as they are: vLLM calls that by the format's name or by a kernel's for it
 * (`awq_marlin`, `gpt_oss_mxfp4`).
 */
function isQuantizedAtLoad(how: Word | undefined, config: unknown): boolean {
  if (how === undefined) return false;
  const root = objectOr(config);
  const own = [root, objectOr(root.text_config)].map(
    (each) => objectOr(each.quantization_config).quant_method,
  );
  const letters = (word: unknown) => String(word).toLowerCase().replaceAll("-", "_");
  return !own.some((each) => typeof each === "string" && letters(how).includes(letters(each)));
}

/**
 * Whether a server's weights take what its files have or less: vLLM makes them smaller, or leaves a
 * part out. What starts with all of them starts with those, too.
 */
export const loadsAtMost = ({ extraArgs }: InferenceServerSettings): boolean =>
  !readServerArguments(extraArgs).options.has("hf-overrides");

/**
 * Whether a model's config.json says that its weights are float32: vLLM loads them with 16 bits
 * each, so half of what is on the disk (vLLM `config/model.py`, `_resolve_auto_dtype`).
 */
function isLoadedByHalf(config: unknown): boolean {
  const root = isRecord(config) ? config : {};
  const text = isRecord(root.text_config) ? root.text_config : root;
  return [root, text].some((each) => (each.dtype ?? each.torch_dtype) === "float32");
}
