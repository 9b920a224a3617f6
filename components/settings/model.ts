import { z } from "zod";

/** Families whose tool and reasoning parsers are known; the table is components/inference-server/parsers.ts. */
export const modelFamilies = [
  "qwen3",
  "qwen3-next-instruct",
  "gpt-oss",
  "nemotron-3",
  "glm-4.5",
  "gemma-4",
  "llama-4",
  "other",
] as const;

/** A model and the facts about it that no flag carries. */
export const model = z
  .strictObject({
    id: z
      .string()
      .regex(/^\S+$/, "Expected a hub id or a path without blanks")
      .describe(
        "Hub id of the model, or its path inside the container. It is the first argument of `vllm serve`.",
      )
      .meta({ examples: ["nvidia/Qwen3.6-35B-A3B-NVFP4"] }),
    family: z
      .enum(modelFamilies)
      .default("other")
      .describe(
        "Family, which chooses the default tool parser and reasoning parser. Never guessed from the name.",
      ),
    kind: z
      .enum(["chat", "base"])
      .default("chat")
      .describe(
        "`chat` models are addressed by /v1/chat/completions and may get chat and coding clients; `base` models by /v1/completions only.",
      ),
    thinking: z
      .boolean()
      .default(false)
      .describe(
        "Whether the model has a thinking mode. Only then is a reasoning parser passed: without one it would swallow tool calls.",
      ),
    weightsGB: z
      .number()
      .positive()
      .optional()
      .describe("Size of the weights in GB (10^9 bytes), for the memory plan before anything was measured."),
  })
  .describe("The model that this server loads.");

export type ModelFamily = (typeof modelFamilies)[number];
