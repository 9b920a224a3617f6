import * as z from "zod";
import { optional, strictObject } from "zod";
import { MODEL_KINDS } from "../planned";
import { gibibytes, gigabytes, plainWord, required, usual } from "../planned/fields";
import { commit } from "./ownModels";

/**
 * Families whose tool and reasoning parsers are known, with their models;
 * components/inference-server/parsers.ts has the parsers.
 */
const FAMILIES = {
  qwen3: "Qwen3.5, Qwen3.6, Qwen3.8",
  "qwen3-coder": "Qwen3-Coder, Qwen3-Coder-Next",
  "qwen3-next-instruct": "Qwen3-Next Instruct",
  "gpt-oss": "gpt-oss-20b, gpt-oss-120b",
  "nemotron-3": "Nemotron-3 Nano and Super, Nemotron-3.5 Lightning",
  "glm-4.5": "GLM-4.5, GLM-4.6",
  "gemma-4": "Gemma 4",
  "llama-4": "Llama 4",
  other: "every other model; name its parsers yourself",
} as const;
export type ModelFamily = keyof typeof FAMILIES;
// Object.keys forgets the names.
const families = Object.keys(FAMILIES) as [ModelFamily, ...ModelFamily[]];
const modelsOfFamilies = families.map((family) => `\`${family}\`: ${FAMILIES[family]}`).join("; ");

/** A model and the facts about it that no flag carries. */
export const modelSettings = strictObject({
  id: required(
    plainWord("Expected a hub id or a path without blanks, of ASCII letters, digits and signs")
      .describe(
        "Hub id of the model, or its folder on the machine (`/data/run-7/merged`, `~/merged`), which is mounted read-only at `/models/`. A path counts as one inside the container if it is below a `to` of `mounts` or below `/root/.cache/huggingface` (the model cache), or if `inImage` is set. It is the first argument of `vllm serve`.",
      )
      .meta({ examples: ["nvidia/Qwen3.6-35B-A3B-NVFP4"] }),
    "Write the model's id on the hub, such as `id: nvidia/Qwen3.6-35B-A3B-NVFP4`; `serving models` lists those that are known.",
  ),
  inImage: optional(z.literal(true)).describe(
    "Says that `id` is a path inside the image, which brings the model: nothing is mounted then.",
  ),
  family: optional(z.enum(families)).describe(
    `Family, which chooses the default tool parser and reasoning parser. Default: from \`model_type\` in the model's config.json, else \`other\`; never guessed from the name. A family other than the config's is refused. ${modelsOfFamilies}.`,
  ),
  kind: usual("chat", z.enum(MODEL_KINDS)).describe(
    "`chat` models are addressed by /v1/chat/completions and may get chat and coding clients; `base` models by /v1/completions only; `embedding` models by /v1/embeddings and `rerank` models by /v1/rerank, for document search (`--runner pooling`, without parsers and clients).",
  ),
  thinking: usual(false, z.boolean()).describe(
    "Whether the model has a thinking mode. Only then is a reasoning parser passed: without one it would swallow tool calls.",
  ),
  revision: optional(commit()).describe(
    "`--revision`: commit of the model's repository on the hub, so that every start serves the same files. Default: what its main branch holds when the model is first loaded.",
  ),
  weightsGB: optional(gigabytes()).describe(
    "Size of the weights on disk in GB (10^9 bytes), for the memory plan before anything was measured. Default: the size of the snapshot in the model cache. A value more than 5 % off that size is refused.",
  ),
  residentGiB: optional(gibibytes()).describe(
    "Memory in GiB that the loaded weights take, if that isn't their size on disk because they are quantized while loading or partly left on disk.",
  ),
}).describe("The model that this server loads.");
