/** A server's block with what it must have, for values that are tried or not known yet. */
export const LEAST_SERVER = {
  model: { id: "org/model" },
  servedModelName: "model",
  image: "vllm/vllm-openai",
  gpuMemoryUtilization: 0.1,
  maxModelLen: 1024,
};
